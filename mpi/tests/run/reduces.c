/* SPDX-License-Identifier: Apache-2.0
 * reduces.c - reduce, allreduce, scan, exscan, reduce_scatter give the sum over ranks, in place, too.
 * ranks: 1 2 3 4 5 tcp nodes
 */
#include "rule.h"

static void test(void)
{
    for (int n = 1; n <= 100000; n *= 10) {
        double *mine = malloc((size_t)(n * size) * sizeof(double));
        double *result = malloc((size_t)(n * size) * sizeof(double));
        const double ranks = size * (size - 1) / 2.0;
        for (int i = 0; i < n * size; i++)
            mine[i] = rank + i;
        MPI_Allreduce(mine, result, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < n; i++)
            CHECK(result[i] == ranks + (double)i * size);
        for (int root = 0; root < size; root++) {
            memcpy(result, mine, (size_t)n * sizeof(double));
            MPI_Reduce(rank == root ? MPI_IN_PLACE : mine, result, n, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD);
            for (int i = 0; rank == root && i < n; i++)
                CHECK(result[i] == size - 1 + i);
        }
        MPI_Scan(mine, result, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < n; i++)
            CHECK(result[i] == rank * (rank + 1) / 2.0 + (double)i * (rank + 1));
        result[0] = -1;
        MPI_Exscan(mine, result, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        CHECK(rank == 0 ? result[0] == -1 : result[n - 1] == rank * (rank - 1) / 2.0 + (n - 1.0) * rank);
        MPI_Reduce_scatter_block(mine, result, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < n; i++)
            CHECK(result[i] == ranks + (double)(rank * n + i) * size);
        free(mine);
        free(result);
    }
}
