/* SPDX-License-Identifier: Apache-2.0
 * oneway.c - one rank sends far more than the other asks for at a time; both sides wait for each other often.
 * ranks: 2 3 tcp
 */
#include "rule.h"

#define ROUNDS 100000

static void test(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        long value = rank;
        MPI_Scan(MPI_IN_PLACE, &value, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        CHECK(value == rank * (rank + 1) / 2);
        if (i % 100 == 99)
            MPI_Barrier(MPI_COMM_WORLD);
    }
}
