/* SPDX-License-Identifier: Apache-2.0
 * apart.c - blocking collectives, started ones and persistent ones of a communicator are counted each for themselves: ranks
 * that start a collective before or after a blocking one, each as it likes, get the results of both.
 * ranks: 2 3 4 5 tcp
 */
#include "rule.h"

/* The standard asks for one order of all. Stock libraries do not, and programs have come to depend on it. */
static void blocking(int round)
{
    const int mine = rank + round;
    int total = 0;
    MPI_Allreduce(&mine, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(total == size * (size - 1) / 2 + size * round);
}

static void test(void)
{
    for (int round = 0; round < 200; round++) {
        const int late = (rank + round) % size == 0;
        const int mine = rank == round % size ? -1 : round;
        int least = 0;
        MPI_Request request;
        if (late)
            blocking(round);
        MPI_Iallreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
        if (!late)
            blocking(round);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(least == -1);
    }
}
