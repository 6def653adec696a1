/* SPDX-License-Identifier: Apache-2.0
 * contexts.c - a message on one communicator is not received on another one of the same ranks.
 * ranks: 1 2 4 tcp
 */
#include "rule.h"

#define MANY 4200 /* more than one agreement on an id looks at */

/* All are there at once, and a message on the last one is on no other. */
static void many(void)
{
    static MPI_Comm comms[MANY];
    int value = 0;
    for (int i = 0; i < MANY; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    if (rank == 0)
        for (int i = 1; i < size; i++)
            for (int j = MANY - 1; j >= 0; j -= 100)
                MPI_Send(&j, 1, MPI_INT, i, 0, comms[j]);
    else
        for (int j = MANY - 1; j >= 0; j -= 100) {
            MPI_Recv(&value, 1, MPI_INT, 0, 0, comms[j], MPI_STATUS_IGNORE);
            CHECK(value == j);
        }
    for (int i = 0; i < MANY; i++)
        MPI_Comm_free(&comms[i]);
}

static void test(void)
{
    MPI_Comm dup;
    int result;
    int out = 1;
    int in = 0;
    MPI_Request requests[2];
    const int to = (rank + 1) % size;
    const int from = (rank - 1 + size) % size;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_compare(MPI_COMM_WORLD, dup, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Irecv(&in, 1, MPI_INT, from, 0, dup, &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &requests[1]);
    int first;
    MPI_Recv(&first, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(first == 1 && in == 0);
    MPI_Barrier(MPI_COMM_WORLD); /* nobody has sent on dup before */
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    out = 2;
    MPI_Isend(&out, 1, MPI_INT, to, 0, dup, &requests[1]);
    MPI_Comm kept = dup;
    MPI_Comm_free(&dup); /* what is under way on it ends as usual */
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(in == 2 && kept != dup);
    for (int i = 0; i < 5000; i++) { /* ids are used again */
        MPI_Comm_dup(MPI_COMM_SELF, &dup);
        MPI_Comm_free(&dup);
    }
    many();
}
