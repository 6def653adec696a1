/* SPDX-License-Identifier: Apache-2.0
 * inspect.c - the status of requests without ending them: they are complete as often as one asks, and still there.
 * ranks: 1 2
 */
#include "rule.h"

#define COUNT 3

static void test(void)
{
    MPI_Request requests[COUNT];
    MPI_Status statuses[COUNT];
    int values[COUNT];
    int indices[COUNT];
    int count;
    int index;
    int flag;
    const int other = (rank + 1) % size;
    for (int i = 0; i < COUNT; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Request_get_status_all(COUNT, requests, &flag, statuses);
    CHECK(size > 1 || !flag);
    for (int i = 0; i < COUNT; i++)
        MPI_Send(&i, 1, MPI_INT, other, i, MPI_COMM_WORLD);
    do
        MPI_Request_get_status_all(COUNT, requests, &flag, statuses);
    while (!flag);
    for (int i = 0; i < COUNT; i++)
        CHECK(statuses[i].MPI_TAG == i && statuses[i].MPI_SOURCE == (rank - 1 + size) % size);
    MPI_Request_get_status_any(COUNT, requests, &index, &flag, &statuses[0]);
    CHECK(flag && index == 0);
    MPI_Request_get_status_some(COUNT, requests, &count, indices, statuses);
    CHECK(count == COUNT && indices[2] == 2 && statuses[2].MPI_TAG == 2);
    MPI_Waitall(COUNT, requests, statuses);
    CHECK(values[2] == 2 && statuses[1].MPI_TAG == 1);
    MPI_Request_get_status_some(COUNT, requests, &count, indices, statuses);
    CHECK(count == MPI_UNDEFINED);
    statuses[0].MPI_ERROR = MPI_ERR_OTHER; /* an empty status says success */
    MPI_Request_get_status_any(COUNT, requests, &index, &flag, &statuses[0]);
    CHECK(flag && index == MPI_UNDEFINED && statuses[0].MPI_ERROR == MPI_SUCCESS);
}
