/* SPDX-License-Identifier: Apache-2.0
 * tags.c - a receive takes the message with its tag, also when others came before.
 * ranks: 2 tcp
 */
#include "rule.h"

static void test(void)
{
    const int other = 1 - rank;
    int value;
    for (int tag = 0; tag < 20; tag++) { /* small sends do not wait for their receives */
        value = tag * 3;
        MPI_Send(&value, 1, MPI_INT, other, tag, MPI_COMM_WORLD);
    }
    for (int tag = 19; tag >= 0; tag--) {
        MPI_Recv(&value, 1, MPI_INT, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(value == tag * 3);
    }
    value = 77; /* the largest tag */
    MPI_Sendrecv_replace(&value, 1, MPI_INT, other, 0x7fffffff, other, 0x7fffffff, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(value == 77);
}
