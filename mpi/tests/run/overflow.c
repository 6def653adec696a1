/* SPDX-License-Identifier: Apache-2.0
 * overflow.c - sums of integers that overflow wrap around, and are the same at every rank.
 * ranks: 2 3
 */
#include <limits.h>

#include "rule.h"

static void test(void)
{
    int sums[2];
    const int values[2] = {rank == 0 ? INT_MAX : 1, rank == 0 ? INT_MIN : -1};
    MPI_Allreduce(values, sums, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sums[0] == INT_MIN + (size - 2));
    CHECK(sums[1] == INT_MAX - (size - 2));
}
