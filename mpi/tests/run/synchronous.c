/* SPDX-License-Identifier: Apache-2.0
 * synchronous.c - a synchronous send is not complete before its receive has begun.
 * ranks: 2 tcp
 */
#include "rule.h"

static void test(void)
{
    int value = 5;
    int flag;
    if (rank == 0) {
        MPI_Request request;
        MPI_Issend(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
        for (int i = 0; i < 100; i++) {
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            CHECK(!flag);
        }
        MPI_Send(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD); /* only now the other side receives */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(request == MPI_REQUEST_NULL);
        return;
    }
    MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(value == 5);
}
