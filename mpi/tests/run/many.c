/* SPDX-License-Identifier: Apache-2.0
 * many.c - more ranks than processors finish barrier, allreduce and alltoall.
 * ranks: 16 tcp
 */
#include "rule.h"

static void test(void)
{
    int *out = malloc((size_t)size * sizeof(int));
    int *in = malloc((size_t)size * sizeof(int));
    for (int round = 0; round < 20; round++) {
        int sum = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == size * (size - 1) / 2);
        for (int i = 0; i < size; i++)
            out[i] = rank * size + i;
        MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0; i < size; i++)
            CHECK(in[i] == i * size + rank);
    }
    free(out);
    free(in);
}
