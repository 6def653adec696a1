/* SPDX-License-Identifier: Apache-2.0
 * any_source.c - a receive from any source and with any tag takes what came first and says from whom.
 * ranks: 2 3 4 tcp
 */
#include "rule.h"

#define EACH 50

static void test(void)
{
    int next[64] = {0};
    if (rank != 0) {
        for (int i = 0; i < EACH; i++) {
            const int value = rank * 1000 + i;
            MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
        }
        return;
    }
    for (int i = 0; i < EACH * (size - 1); i++) {
        int value;
        MPI_Status status;
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        CHECK(value == status.MPI_SOURCE * 1000 + status.MPI_TAG);
        CHECK(status.MPI_TAG == next[status.MPI_SOURCE]++); /* in order from each source */
    }
}
