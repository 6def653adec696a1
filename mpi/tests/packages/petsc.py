# SPDX-License-Identifier: Apache-2.0
"""PETSc of Debian by petsc4py: a Laplacian by conjugate gradients, hypre and MUMPS; a nonlinear equation on a grid with halos."""
import petsc4py

petsc4py.init()
from petsc4py import PETSc  # noqa: E402  (after init)

SIDE = 24


def laplacian():
    matrix = PETSc.Mat().createAIJ([SIDE * SIDE] * 2, nnz=5)
    first, last = matrix.getOwnershipRange()
    for row in range(first, last):
        x, y = row % SIDE, row // SIDE
        matrix[row, row] = 4.0
        for there, column in ((x > 0, row - 1), (x < SIDE - 1, row + 1), (y > 0, row - SIDE), (y < SIDE - 1, row + SIDE)):
            if there:
                matrix[row, column] = -1.0
    matrix.assemble()
    return matrix


def solve(matrix, kind, preconditioner, package=None):
    solution, right = matrix.createVecs()
    right.set(1.0)
    solver = PETSc.KSP().create()
    solver.setOperators(matrix)
    solver.setType(kind)
    solver.getPC().setType(preconditioner)
    if package:
        solver.getPC().setFactorSolverType(package)
    solver.setTolerances(rtol=1e-12)
    solver.solve(right, solution)
    return solution.sum()


def bratu():
    """Newton's method on a distributed grid."""
    grid = PETSc.DMDA().create([SIDE, SIDE], stencil_width=1)
    step = 1.0 / (SIDE - 1)

    def residual(_, state, result):
        local = grid.createLocalVec()
        grid.globalToLocal(state, local)
        (left, right), (low, high) = grid.getRanges()
        values, out = grid.getVecArray(local), grid.getVecArray(result)
        for y in range(low, high):
            for x in range(left, right):
                if x in (0, SIDE - 1) or y in (0, SIDE - 1):
                    out[x, y] = values[x, y]
                else:
                    around = values[x - 1, y] + values[x + 1, y] + values[x, y - 1] + values[x, y + 1]
                    out[x, y] = 4 * values[x, y] - around - step * step * 6.0 * 2.718281828 ** values[x, y]

    solver = PETSc.SNES().create()
    solver.setDM(grid)
    solver.setFunction(residual, grid.createGlobalVec())
    solver.setUseMF(True)
    solver.getKSP().getPC().setType("none")
    solver.setTolerances(rtol=1e-10)
    state = grid.createGlobalVec()
    solver.solve(None, state)
    return state.sum()


system = laplacian()
sums = [solve(system, "cg", "jacobi"), solve(system, "cg", "hypre"), solve(system, "preonly", "lu", "mumps"), bratu()]
PETSc.Sys.Print("sums", *(f"{one:.9g}" for one in sums))
