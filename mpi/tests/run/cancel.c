/* SPDX-License-Identifier: Apache-2.0
 * cancel.c - a receive that has met no message can be cancelled, and so can a send that no receive has met, in each mode and of any
 * length; one that has met its counterpart completes. MPI_Wait of a cancelled send needs no call of the receiver.
 * ranks: 2 tcp
 */
#include "rule.h"

#include <fcntl.h>
#include <unistd.h>

#define LENGTH 1000000

static char bytes[4][LENGTH];

/* The other rank does not call MPI before it hears of the ends, through a pipe. */
static int is_cancelled(MPI_Request *request)
{
    MPI_Status status;
    int flag;
    MPI_Cancel(request);
    CHECK(MPI_Wait(request, &status) == MPI_SUCCESS && *request == MPI_REQUEST_NULL);
    MPI_Test_cancelled(&status, &flag);
    return flag;
}

static void tell(const int *place)
{
    char path[64];
    char done = 0;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", place[0], place[1]);
    const int fd = open(path, O_WRONLY);
    CHECK(fd >= 0 && write(fd, &done, 1) == 1);
    close(fd);
}

/* Of three with one tag the second one is taken back, and a synchronous one that would have gone at once. */
static void sends(const int *place)
{
    MPI_Request requests[4];
    for (int i = 0; i < 3; i++)
        MPI_Isend(bytes[i], LENGTH - i, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &requests[i]);
    MPI_Issend(bytes[3], 10, MPI_BYTE, 1, 6, MPI_COMM_WORLD, &requests[3]);
    CHECK(is_cancelled(&requests[1]));
    CHECK(is_cancelled(&requests[3]));
    tell(place);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Isend(bytes[0], LENGTH, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Barrier(MPI_COMM_WORLD); /* its receive was posted before */
    CHECK(!is_cancelled(&requests[0]));
}

static void receives(int fd)
{
    MPI_Status status;
    MPI_Request request;
    char done;
    int count;
    int flag;
    CHECK(read(fd, &done, 1) == 1);
    for (int i = 0; i < 2; i++) {
        MPI_Recv(bytes[0], LENGTH, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK(count == LENGTH - 2 * i);
    }
    MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    CHECK(!flag || status.MPI_TAG == 7);
    MPI_Irecv(bytes[0], LENGTH, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void sends_are_cancelled(void)
{
    int place[2] = {(int)getpid(), 0};
    int ends[2];
    CHECK(pipe(ends) == 0);
    place[1] = ends[1];
    if (rank == 1) {
        MPI_Send(place, 2, MPI_INT, 0, 4, MPI_COMM_WORLD);
        receives(ends[0]);
    } else {
        MPI_Recv(place, 2, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sends(place);
    }
    close(ends[0]);
    close(ends[1]);
}

static void receives_are_cancelled(void)
{
    int value = 3;
    int flag;
    MPI_Request request;
    MPI_Status status;
    if (rank == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        return;
    }
    MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
    for (flag = 0; !flag;)
        MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(!flag && value == 3);
}

static void test(void)
{
    receives_are_cancelled();
    sends_are_cancelled();
}
