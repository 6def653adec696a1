/* SPDX-License-Identifier: Apache-2.0
 * status_error.c - a call that gives one status leaves its MPI_ERROR alone; one that gives several writes it (3.2.5). The empty
 * status, of a null request, has MPI_SUCCESS there (3.7.3).
 * ranks: 1 2
 */
#include "rule.h"

#define OWN 4711

static MPI_Status status;
static int value;

/* The status that the next call gets. */
static MPI_Status *mine(void)
{
    status.MPI_ERROR = OWN;
    return &status;
}

#define KEEPS(call)                                                                                                    \
    do {                                                                                                               \
        CHECK((call) == MPI_SUCCESS);                                                                                  \
        CHECK(status.MPI_ERROR == OWN);                                                                                \
    } while (0)

static void with(int other)
{
    MPI_Request requests[2];
    MPI_Message message;
    int flag;
    int index;
    for (int i = 0; i < 3; i++)
        MPI_Isend(&value, 1, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[0]), MPI_Request_free(&requests[0]);
    KEEPS(MPI_Probe(other, 1, MPI_COMM_WORLD, mine()));
    KEEPS(MPI_Iprobe(other, 1, MPI_COMM_WORLD, &flag, mine()));
    KEEPS(MPI_Recv(&value, 1, MPI_INT, other, 1, MPI_COMM_WORLD, mine()));
    KEEPS(MPI_Mprobe(other, 1, MPI_COMM_WORLD, &message, mine()));
    KEEPS(MPI_Mrecv(&value, 1, MPI_INT, &message, mine()));
    KEEPS(MPI_Mprobe(other, 1, MPI_COMM_WORLD, &message, mine()));
    MPI_Imrecv(&value, 1, MPI_INT, &message, &requests[0]);
    KEEPS(MPI_Wait(&requests[0], mine()));
    KEEPS(MPI_Sendrecv(&value, 1, MPI_INT, other, 2, &(int){0}, 1, MPI_INT, other, 2, MPI_COMM_WORLD, mine()));
    MPI_Irecv(&(int){0}, 1, MPI_INT, other, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&value, 1, MPI_INT, other, 3, MPI_COMM_WORLD, &requests[1]);
    KEEPS(MPI_Wait(&requests[1], mine())); /* a send */
    KEEPS(MPI_Waitany(2, requests, &index, mine()));
    CHECK(index == 0);
}

static void of_all(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2] = {{.MPI_ERROR = OWN}, {.MPI_ERROR = OWN}};
    int flag;
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    KEEPS(MPI_Wait(&requests[0], mine()));
    MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS && statuses[1].MPI_ERROR == MPI_SUCCESS);
    MPI_Wait(&requests[0], mine());
    CHECK(status.MPI_ERROR == MPI_SUCCESS && status.MPI_SOURCE == MPI_ANY_SOURCE);
    MPI_Request_get_status(MPI_REQUEST_NULL, &flag, mine());
    CHECK(flag && status.MPI_ERROR == MPI_SUCCESS);
}

static void test(void)
{
    with(MPI_PROC_NULL);
    with(rank);
    with(size - 1 - rank);
    of_all();
}
