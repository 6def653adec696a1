/* SPDX-License-Identifier: Apache-2.0
 * waits.c - wait and test for any, some and all requests: each is given once, null ones are passed over.
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
}
