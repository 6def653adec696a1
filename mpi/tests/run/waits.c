/* SPDX-License-Identifier: Apache-2.0
 * waits.c - wait and test for any, some and all requests: each is given once, null ones are passed over. Without statuses a wait
 * for all still ends each request, and tells that one of them failed.
 * ranks: 2 tcp
 */
#include "rule.h"

#define COUNT 8

static void receive_all(MPI_Request *requests, int *values)
{
    for (int i = 0; i < COUNT; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]);
}

static void send_all(void)
{
    for (int i = COUNT - 1; i >= 0; i--)
        MPI_Send(&i, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
}

static void any(MPI_Request *requests, const int *values)
{
    int seen = 0;
    int index;
    int flag;
    MPI_Status status;
    for (int i = 0; i < COUNT; i++) {
        MPI_Waitany(COUNT, requests, &index, &status);
        CHECK(status.MPI_TAG == index && values[index] == index && requests[index] == MPI_REQUEST_NULL);
        seen |= 1 << index;
    }
    CHECK(seen == (1 << COUNT) - 1);
    MPI_Waitany(COUNT, requests, &index, &status);
    CHECK(index == MPI_UNDEFINED);
    MPI_Testany(COUNT, requests, &index, &flag, &status);
    CHECK(flag && index == MPI_UNDEFINED);
}

static void some(MPI_Request *requests)
{
    int done = 0;
    int count;
    int indices[COUNT];
    MPI_Status statuses[COUNT];
    while (done < COUNT) {
        MPI_Waitsome(COUNT, requests, &count, indices, statuses);
        CHECK(count > 0 && count <= COUNT - done);
        for (int i = 0; i < count; i++)
            CHECK(statuses[i].MPI_TAG == indices[i] && requests[indices[i]] == MPI_REQUEST_NULL);
        done += count;
    }
    MPI_Testsome(COUNT, requests, &count, indices, statuses);
    CHECK(count == MPI_UNDEFINED);
}

static void all(MPI_Request *requests)
{
    int flag = 0;
    MPI_Status statuses[COUNT];
    while (!flag)
        MPI_Testall(COUNT, requests, &flag, statuses);
    for (int i = 0; i < COUNT; i++)
        CHECK(statuses[i].MPI_TAG == i && requests[i] == MPI_REQUEST_NULL);
    MPI_Waitall(COUNT, requests, statuses);
    CHECK(statuses[3].MPI_SOURCE == MPI_ANY_SOURCE && statuses[3].MPI_TAG == MPI_ANY_TAG);
}

/* The second message is longer than its receive; the others arrive, and the persistent request stays. */
static void one_fails(MPI_Request *requests, int *values, int (*end)(MPI_Request *requests))
{
    const int longer[2] = {1, 1};
    requests[0] = MPI_REQUEST_NULL;
    MPI_Irecv(&values[1], 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Irecv(&values[2], 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &requests[2]);
    MPI_Recv_init(&values[3], 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[3]);
    MPI_Start(&requests[3]);
    MPI_Recv_init(&values[4], 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &requests[4]); /* never started */
    MPI_Isend(longer, 2, MPI_INT, rank, 1, MPI_COMM_WORLD, &requests[5]);
    MPI_Isend(&(int){12}, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &requests[6]);
    MPI_Isend(&(int){13}, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[7]);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(end(requests) == MPI_ERR_IN_STATUS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    CHECK(values[2] == 12 && values[3] == 13);
    for (int i = 0; i < COUNT; i++)
        CHECK((requests[i] != MPI_REQUEST_NULL) == (i == 3 || i == 4));
    CHECK(end(requests) == MPI_SUCCESS); /* nothing is left to wait for */
    MPI_Request_free(&requests[3]);
    MPI_Request_free(&requests[4]);
}

static int wait_for_all(MPI_Request *requests)
{
    return MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
}

static int test_all(MPI_Request *requests)
{
    int flag = 0;
    int rc = MPI_SUCCESS;
    while (!flag && rc == MPI_SUCCESS)
        rc = MPI_Testall(COUNT, requests, &flag, MPI_STATUSES_IGNORE);
    return rc;
}

static void test(void)
{
    MPI_Request requests[COUNT];
    int values[COUNT];
    for (int round = 0; round < 3; round++) {
        if (rank == 0) {
            send_all();
            continue;
        }
        receive_all(requests, values);
        if (round == 0)
            any(requests, values);
        else if (round == 1)
            some(requests);
        else
            all(requests);
    }
    one_fails(requests, values, wait_for_all);
    one_fails(requests, values, test_all);
}
