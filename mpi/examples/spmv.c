/* SPDX-License-Identifier: Apache-2.0
 * spmv.c - multiplies a sparse matrix with a vector, again and again: the core of solvers and of page ranks.
 *
 *     mpicc -O2 spmv.c -o spmv && mpiexec -n 4 ./spmv [ROWS STEPS]
 *
 * Each rank has some rows, as a list of columns and values for each, and that part of the vector. Before a step all ranks
 * gather the whole vector. Numbers are integers of 64 bits that wrap round: the result is exact with any number of ranks.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define PER_ROW 16 /* entries that are not 0 */

typedef struct matrix {
    int all, first, rows; /* rows of all ranks; the first one and the number of this rank's */
    int *columns;         /* PER_ROW of each row */
    uint64_t *values;
} matrix_t;

static int first_row(int all, int rank, int size)
{
    return (int)((long)all * rank / size);
}

static void *memory(size_t count, size_t bytes)
{
    void *found = calloc(count + 1, bytes);
    if (found == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return found;
}

/* Spreads bits: entries depend on their place only (the finishing steps of splitmix64). */
static uint64_t mixed(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void make_matrix(matrix_t *matrix, int all, int rank, int size)
{
    matrix->all = all;
    matrix->first = first_row(all, rank, size);
    matrix->rows = first_row(all, rank + 1, size) - matrix->first;
    const size_t entries = (size_t)matrix->rows * PER_ROW;
    matrix->columns = memory(entries, sizeof(*matrix->columns));
    matrix->values = memory(entries, sizeof(*matrix->values));
    for (size_t i = 0; i < entries; i++) {
        const uint64_t bits = mixed((uint64_t)matrix->first * PER_ROW + i + 1);
        matrix->columns[i] = (int)(bits % (uint64_t)all);
        matrix->values[i] = bits >> 40;
    }
}

static void multiply(const matrix_t *matrix, const uint64_t *vector, uint64_t *product)
{
    for (int row = 0; row < matrix->rows; row++) {
        const size_t start = (size_t)row * PER_ROW;
        uint64_t sum = 0;
        for (size_t i = start; i < start + PER_ROW; i++)
            sum += matrix->values[i] * vector[matrix->columns[i]];
        product[row] = sum;
    }
}

/* The vector after so many steps, whole at every rank. */
static uint64_t *iterate(const matrix_t *matrix, int steps, int size)
{
    int *counts = memory((size_t)size * 2, sizeof(*counts));
    int *places = counts + size;
    uint64_t *vector = memory((size_t)matrix->all, sizeof(*vector));
    uint64_t *product = memory((size_t)matrix->rows, sizeof(*product));
    for (int rank = 0; rank < size; rank++) {
        places[rank] = first_row(matrix->all, rank, size);
        counts[rank] = first_row(matrix->all, rank + 1, size) - places[rank];
    }
    for (int i = 0; i < matrix->all; i++)
        vector[i] = (uint64_t)i + 1;
    for (int i = 0; i < steps; i++) {
        multiply(matrix, vector, product);
        MPI_Allgatherv(product, matrix->rows, MPI_UINT64_T, vector, counts, places, MPI_UINT64_T, MPI_COMM_WORLD);
    }
    free(counts);
    free(product);
    return vector;
}

int main(int argc, char **argv)
{
    int rank;
    int size;
    uint64_t sum = 0;
    matrix_t matrix;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int all = argc > 2 ? atoi(argv[1]) : 10000;
    const int steps = argc > 2 ? atoi(argv[2]) : 50;
    make_matrix(&matrix, all, rank, size);
    const double start = MPI_Wtime();
    uint64_t *vector = iterate(&matrix, steps, size);
    const double took = MPI_Wtime() - start;
    for (int i = 0; i < all; i++)
        sum = mixed(sum + vector[i]);
    if (rank == 0)
        printf("spmv: %d rows, %d entries each, %d steps, checksum %016llx\nseconds %.6f\n", all, PER_ROW, steps,
               (unsigned long long)sum, took);
    free(vector);
    free(matrix.columns);
    free(matrix.values);
    MPI_Finalize();
    return 0;
}
