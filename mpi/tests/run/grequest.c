/* SPDX-License-Identifier: Apache-2.0
 * grequest.c - a general request completes when the program says so; its functions are called, each at its time.
 * ranks: 1 2
 */
#include "rule.h"

static int queried, freed, cancelled;

static int query(void *extra, MPI_Status *status)
{
    queried++;
    MPI_Status_set_elements(status, MPI_INT, 10);
    MPI_Status_set_cancelled(status, cancelled);
    status->MPI_SOURCE = *(int *)extra;
    status->MPI_TAG = 8;
    return MPI_SUCCESS;
}

static int done(void *extra)
{
    (void)extra;
    freed++;
    return MPI_SUCCESS;
}

static int stop(void *extra, int complete)
{
    (void)extra;
    CHECK(complete == 0);
    cancelled = 1;
    return MPI_SUCCESS;
}

static int refuse(void *extra)
{
    (void)extra;
    return MPI_ERR_OTHER;
}

static MPI_Request start(int *extra)
{
    MPI_Request request;
    queried = freed = cancelled = 0;
    MPI_Grequest_start(query, done, stop, extra, &request);
    return request;
}

static void ends_by_wait(int *extra)
{
    MPI_Request request = start(extra);
    MPI_Status status;
    int flag;
    int count;
    MPI_Test(&request, &flag, &status);
    CHECK(!flag && queried == 0);
    MPI_Grequest_complete(request);
    MPI_Request_get_status(request, &flag, &status);
    CHECK(flag && queried == 1 && freed == 0);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(request == MPI_REQUEST_NULL && queried == 2 && freed == 1);
    CHECK(count == 10 && status.MPI_SOURCE == *extra && status.MPI_TAG == 8);
}

static void is_cancelled(int *extra)
{
    MPI_Request request = start(extra);
    MPI_Status status;
    int flag;
    MPI_Cancel(&request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
}

static void goes_on_without_its_handle(int *extra)
{
    MPI_Request request = start(extra);
    MPI_Request kept = request;
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL && freed == 0);
    MPI_Grequest_complete(kept);
    CHECK(freed == 1 && queried == 0);
    request = start(extra);
    MPI_Grequest_complete(request);
    MPI_Request_free(&request);
    CHECK(freed == 1);
}

static void among_messages(int *extra)
{
    MPI_Request requests[3] = {start(extra)};
    MPI_Status statuses[3];
    int value = rank;
    int other;
    MPI_Irecv(&other, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(&value, 1, MPI_INT, (rank - 1 + size) % size, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Grequest_complete(requests[0]);
    MPI_Waitall(3, requests, statuses);
    CHECK(statuses[0].MPI_TAG == 8 && other == (rank + 1) % size && freed == 1);
}

static void fails(void)
{
    MPI_Request request;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Grequest_start(query, refuse, stop, &rank, &request);
    MPI_Grequest_complete(request);
    CHECK(class_of(MPI_Grequest_complete(request)) == MPI_ERR_REQUEST);
    CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_OTHER);
    CHECK(class_of(MPI_Grequest_complete(MPI_REQUEST_NULL)) == MPI_ERR_REQUEST);
}

static void test(void)
{
    ends_by_wait(&rank);
    is_cancelled(&rank);
    goes_on_without_its_handle(&rank);
    among_messages(&rank);
    fails();
}
