/* SPDX-License-Identifier: Apache-2.0
 * fftw.c - FFTW over ranks: complex in two dimensions with a transposed result, real in three; there and back.
 */
#include <fftw3-mpi.h>
#include <math.h>
#include <stdio.h>

enum { ROWS = 60, COLUMNS = 36, DEPTH = 10 };

static double value(ptrdiff_t at)
{
    return sin(0.37 * (double)at) + 0.001 * (double)at;
}

static double sum_of(double mine)
{
    double sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* Sum of the moduli of all coefficients, and of the differences there and back. */
static void complex_one(double *sum, double *off)
{
    ptrdiff_t rows, first, columns, first_column;
    const ptrdiff_t room = fftw_mpi_local_size_2d_transposed(ROWS, COLUMNS, MPI_COMM_WORLD, &rows, &first, &columns,
                                                             &first_column);
    fftw_complex *data = fftw_alloc_complex((size_t)room);
    fftw_plan there = fftw_mpi_plan_dft_2d(ROWS, COLUMNS, data, data, MPI_COMM_WORLD, FFTW_FORWARD,
                                           FFTW_ESTIMATE | FFTW_MPI_TRANSPOSED_OUT);
    fftw_plan back = fftw_mpi_plan_dft_2d(ROWS, COLUMNS, data, data, MPI_COMM_WORLD, FFTW_BACKWARD,
                                          FFTW_ESTIMATE | FFTW_MPI_TRANSPOSED_IN);
    for (ptrdiff_t i = 0; i < rows * COLUMNS; i++)
        data[i][0] = value(first * COLUMNS + i), data[i][1] = -data[i][0];
    fftw_execute(there);
    double mine = 0;
    for (ptrdiff_t i = 0; i < columns * ROWS; i++)
        mine += hypot(data[i][0], data[i][1]);
    *sum = sum_of(mine);
    fftw_execute(back);
    mine = 0;
    for (ptrdiff_t i = 0; i < rows * COLUMNS; i++)
        mine += fabs(data[i][0] / (ROWS * COLUMNS) - value(first * COLUMNS + i));
    *off = sum_of(mine);
    fftw_destroy_plan(there);
    fftw_destroy_plan(back);
    fftw_free(data);
}

static double real_one(void)
{
    ptrdiff_t rows, first;
    const ptrdiff_t room = fftw_mpi_local_size_3d(ROWS, COLUMNS, DEPTH / 2 + 1, MPI_COMM_WORLD, &rows, &first);
    double *in = fftw_alloc_real(2 * (size_t)room);
    fftw_complex *out = fftw_alloc_complex((size_t)room);
    fftw_plan plan = fftw_mpi_plan_dft_r2c_3d(ROWS, COLUMNS, DEPTH, in, out, MPI_COMM_WORLD, FFTW_MEASURE);
    for (ptrdiff_t i = 0; i < rows * COLUMNS; i++)
        for (ptrdiff_t j = 0; j < DEPTH; j++)
            in[i * (2 * (DEPTH / 2 + 1)) + j] = value((first * COLUMNS + i) * DEPTH + j);
    fftw_execute(plan);
    double mine = 0;
    for (ptrdiff_t i = 0; i < rows * COLUMNS * (DEPTH / 2 + 1); i++)
        mine += hypot(out[i][0], out[i][1]);
    fftw_destroy_plan(plan);
    fftw_free(in);
    fftw_free(out);
    return sum_of(mine);
}

int main(int argc, char **argv)
{
    int rank;
    double sum, off;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fftw_mpi_init();
    complex_one(&sum, &off);
    const double real = real_one();
    if (rank == 0)
        printf("sums %.12g %.12g off %d\n", sum, real, off < 1e-9);
    fftw_mpi_cleanup();
    return MPI_Finalize();
}
