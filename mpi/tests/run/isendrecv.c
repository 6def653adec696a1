/* SPDX-License-Identifier: Apache-2.0
 * isendrecv.c - a send and a receive as one request: complete when both are, with the status of the receive.
 * ranks: 1 2 3 tcp
 */
#include "rule.h"

#define LONG 200000

static void ring(int count, int *mine, int *theirs)
{
    const int next = (rank + 1) % size;
    const int before = (rank - 1 + size) % size;
    MPI_Request request;
    MPI_Status status;
    int got;
    for (int i = 0; i < count; i++)
        mine[i] = rank * 1000003 + i;
    MPI_Isendrecv(mine, count, MPI_INT, next, 3, theirs, count, MPI_INT, before, 3, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &got);
    CHECK(request == MPI_REQUEST_NULL && got == count && status.MPI_SOURCE == before && status.MPI_TAG == 3);
    MPI_Isendrecv_replace(mine, count, MPI_INT, next, 4, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    CHECK(status.MPI_SOURCE == before && status.MPI_TAG == 4);
    for (int i = 0; i < count; i++)
        CHECK(theirs[i] == before * 1000003 + i && mine[i] == theirs[i]);
}

static void nobody(void)
{
    int value = 7;
    MPI_Request request;
    MPI_Status status;
    MPI_Isendrecv_replace(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    CHECK(value == 7 && status.MPI_SOURCE == MPI_PROC_NULL);
}

static void too_long(void)
{
    const int two[2] = {1, 2};
    int one;
    MPI_Request request;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Isendrecv(two, 2, MPI_INT, (rank + 1) % size, 5, &one, 1, MPI_INT, (rank - 1 + size) % size, 5, MPI_COMM_WORLD,
                  &request);
    CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void without_its_handle(void)
{
    int mine = rank;
    int theirs = -1;
    MPI_Request request;
    MPI_Isendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 6, &theirs, 1, MPI_INT, (rank - 1 + size) % size, 6,
                  MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    while (*(volatile int *)&theirs == -1) {
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    CHECK(theirs == (rank - 1 + size) % size);
}

static void test(void)
{
    int *mine = malloc(LONG * sizeof(int));
    int *theirs = malloc(LONG * sizeof(int));
    ring(1, mine, theirs);
    ring(LONG, mine, theirs);
    free(mine);
    free(theirs);
    nobody();
    too_long();
    without_its_handle();
}
