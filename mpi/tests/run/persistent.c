/* SPDX-License-Identifier: Apache-2.0
 * persistent.c - a persistent request is started as often as one likes; inactive, it waits for nothing.
 * ranks: 1 2 4
 */
#include "rule.h"

static void test(void)
{
    int out = 0;
    int in = -1;
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Send_init(&out, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, (rank - 1 + size) % size, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Wait(&requests[1], &status);
    CHECK(status.MPI_TAG == MPI_ANY_TAG && requests[1] != MPI_REQUEST_NULL);
    for (int i = 0; i < 100; i++) {
        out = rank + i;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(in == (rank - 1 + size) % size + i);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    CHECK(requests[1] == MPI_REQUEST_NULL);
}
