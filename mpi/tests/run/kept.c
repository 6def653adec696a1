/* SPDX-License-Identifier: Apache-2.0
 * kept.c - persistent collectives of one communicator are started many times, each rank in an order of its own, beside
 * non-blocking ones; what they need may be freed by the program before they end.
 * ranks: 1 2 3 4 5 tcp
 */
#include "rule.h"

#define KEPT 8

static void last_of_both(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)length, (void)type; /* the higher rank's */
}

static void test(void)
{
    MPI_Comm comm;
    MPI_Op op;
    MPI_Request requests[KEPT];
    long mine[KEPT];
    long result[KEPT];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Op_create(last_of_both, 0, &op);
    for (int i = 0; i < KEPT; i++) {
        if (i % 2 == 0)
            MPI_Allreduce_init(&mine[i], &result[i], 1, MPI_LONG, op, comm, MPI_INFO_NULL, &requests[i]);
        else
            MPI_Bcast_init(&result[i], 1, MPI_LONG, i % size, comm, MPI_INFO_NULL, &requests[i]);
    }
    MPI_Op_free(&op);
    MPI_Comm_free(&comm);
    for (int round = 0; round < 200; round++) {
        MPI_Request other;
        int total = 0;
        MPI_Iallreduce(&size, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &other);
        for (int k = 0; k < KEPT; k++) {
            const int i = (k * 3 + rank * 5 + round) % KEPT; /* another order at each rank */
            mine[i] = rank * 1000 + round + i;
            result[i] = i % 2 == 1 && rank == i % size ? round - i : -1;
            MPI_Start(&requests[i]);
        }
        MPI_Waitall(KEPT, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < KEPT; i++)
            CHECK(result[i] == (i % 2 == 0 ? (size - 1) * 1000 + round + i : round - i));
        MPI_Wait(&other, MPI_STATUS_IGNORE);
        CHECK(total == size * size);
    }
    for (int i = 0; i < KEPT; i++) {
        int flag = 0;
        MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE); /* inactive ones are complete */
        CHECK(flag && requests[i] != MPI_REQUEST_NULL);
        MPI_Request_free(&requests[i]);
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
}
