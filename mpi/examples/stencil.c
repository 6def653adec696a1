/* SPDX-License-Identifier: Apache-2.0
 * stencil.c - heat spreads in a square plate: each cell becomes the mean of its four neighbours, step by step.
 *
 *     mpicc -O2 stencil.c -o stencil && mpiexec -n 4 ./stencil [SIDE STEPS]
 *
 * Each rank has a band of rows. Before a step it sends its outer rows to the ranks above and below and receives theirs.
 * The result does not depend on the number of ranks: the same cells are computed from the same numbers.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct band {
    int side, rows;     /* cells of a row; rows of this rank */
    int above, below;   /* ranks, or MPI_PROC_NULL at the edges of the plate */
    double *now, *next; /* rows + 2 rows: the first and the last are the neighbours' */
} band_t;

static int first_row(int side, int rank, int size)
{
    return (int)((long)side * rank / size);
}

static void make_band(band_t *band, int side, int rank, int size)
{
    band->side = side;
    band->rows = first_row(side, rank + 1, size) - first_row(side, rank, size);
    band->above = rank == 0 ? MPI_PROC_NULL : rank - 1;
    band->below = rank == size - 1 ? MPI_PROC_NULL : rank + 1;
    const size_t cells = (size_t)(band->rows + 2) * (size_t)side;
    band->now = calloc(cells, sizeof(double));
    band->next = calloc(cells, sizeof(double));
    if (band->now == NULL || band->next == NULL || band->rows < 1)
        MPI_Abort(MPI_COMM_WORLD, 1); /* no memory, or more ranks than rows */
    for (int column = 0; rank == 0 && column < side; column++)
        band->now[column] = band->next[column] = 100; /* the upper edge is hot */
}

static void exchange(band_t *band)
{
    const int side = band->side;
    double *first = band->now + side;
    double *last = band->now + (size_t)band->rows * (size_t)side;
    MPI_Sendrecv(first, side, MPI_DOUBLE, band->above, 0, last + side, side, MPI_DOUBLE, band->below, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(last, side, MPI_DOUBLE, band->below, 1, band->now, side, MPI_DOUBLE, band->above, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* The largest change of a cell of this rank. */
static double step(band_t *band)
{
    double most = 0;
    for (int row = 1; row <= band->rows; row++) {
        const double *here = band->now + (size_t)row * (size_t)band->side;
        double *to = band->next + (size_t)row * (size_t)band->side;
        for (int column = 1; column < band->side - 1; column++) {
            const double *cell = here + column;
            to[column] = 0.25 * (cell[-1] + cell[1] + cell[-band->side] + cell[band->side]);
            const double change = to[column] > *cell ? to[column] - *cell : *cell - to[column];
            most = change > most ? change : most;
        }
    }
    double *swap = band->now;
    band->now = band->next;
    band->next = swap;
    if (band->above == MPI_PROC_NULL) /* the hot edge stays */
        memcpy(band->next, band->now, (size_t)band->side * sizeof(double));
    return most;
}

/* The sum of all cells' bits: equal only when every cell is. */
static uint64_t checksum(const band_t *band)
{
    uint64_t sum = 0;
    uint64_t all = 0;
    const double *cells = band->now + band->side;
    for (size_t i = 0; i < (size_t)band->rows * (size_t)band->side; i++) {
        uint64_t bits;
        memcpy(&bits, &cells[i], sizeof(bits));
        sum += bits;
    }
    MPI_Allreduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    int rank;
    int size;
    double change = 0;
    band_t band;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int side = argc > 2 ? atoi(argv[1]) : 256;
    const int steps = argc > 2 ? atoi(argv[2]) : 200;
    make_band(&band, side, rank, size);
    const double start = MPI_Wtime();
    for (int i = 0; i < steps; i++) {
        exchange(&band);
        const double mine = step(&band);
        MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    const double took = MPI_Wtime() - start;
    const uint64_t sum = checksum(&band);
    if (rank == 0)
        printf("stencil: %d x %d cells, %d steps, last change %.17g, checksum %016llx\nseconds %.6f\n", side, side,
               steps, change, (unsigned long long)sum, took);
    free(band.now);
    free(band.next);
    MPI_Finalize();
    return 0;
}
