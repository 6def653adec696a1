/* SPDX-License-Identifier: Apache-2.0
 * buffers.c - a communicator's own buffer comes before that of the process; flushes wait for what was sent before
 * them; MPI_BUFFER_AUTOMATIC needs no size.
 * ranks: 2
 */
#include "rule.h"

#define COUNT 100000

static int data[COUNT];

static void receive(int count, int tag, MPI_Comm comm)
{
    for (int i = 0; i < count; i++)
        MPI_Recv(data, COUNT, MPI_INT, 0, tag, comm, MPI_STATUS_IGNORE);
}

static void of_communicator(MPI_Comm comm)
{
    static char room[COUNT * sizeof(int) + MPI_BSEND_OVERHEAD];
    void *back;
    int length;
    MPI_Comm_attach_buffer(comm, room, sizeof(room));
    CHECK(class_of(MPI_Comm_attach_buffer(comm, room, sizeof(room))) == MPI_ERR_BUFFER);
    CHECK(MPI_Bsend(data, COUNT, MPI_INT, 1, 1, comm) == MPI_SUCCESS);
    CHECK(class_of(MPI_Bsend(data, COUNT, MPI_INT, 1, 1, comm)) == MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Bsend(data, 1, MPI_INT, 1, 1, MPI_COMM_WORLD)) == MPI_ERR_BUFFER); /* it has none */
    MPI_Send(NULL, 0, MPI_INT, 1, 9, MPI_COMM_WORLD);
    MPI_Comm_flush_buffer(comm);
    CHECK(MPI_Bsend(data, COUNT, MPI_INT, 1, 2, comm) == MPI_SUCCESS);
    MPI_Send(NULL, 0, MPI_INT, 1, 9, MPI_COMM_WORLD);
    MPI_Comm_detach_buffer(comm, &back, &length);
    CHECK(back == room && length == (int)sizeof(room));
    CHECK(class_of(MPI_Comm_detach_buffer(comm, &back, &length)) == MPI_ERR_BUFFER);
}

/* A flush is not complete before the receive, and what is sent after it does not hold it up. */
static void flush_of_before(void)
{
    MPI_Request flush;
    void *back;
    int length;
    int flag;
    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    MPI_Bsend(data, COUNT, MPI_INT, 1, 3, MPI_COMM_WORLD);
    MPI_Buffer_iflush(&flush);
    MPI_Test(&flush, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Bsend(data, COUNT, MPI_INT, 1, 4, MPI_COMM_WORLD);
    MPI_Send(NULL, 0, MPI_INT, 1, 9, MPI_COMM_WORLD);
    MPI_Wait(&flush, MPI_STATUS_IGNORE); /* rank 1 takes message 4 only after it has heard of this */
    MPI_Send(NULL, 0, MPI_INT, 1, 9, MPI_COMM_WORLD);
    MPI_Buffer_detach(&back, &length);
    CHECK(back == MPI_BUFFER_AUTOMATIC);
    CHECK(MPI_Buffer_flush() == MPI_SUCCESS);
    MPI_Buffer_iflush(&flush);
    MPI_Wait(&flush, MPI_STATUS_IGNORE);
}

/* Its messages arrive although the communicator is freed. */
static void freed(MPI_Comm *comm)
{
    MPI_Comm_attach_buffer(*comm, MPI_BUFFER_AUTOMATIC, 0);
    MPI_Bsend(data, COUNT, MPI_INT, 1, 5, *comm);
    MPI_Comm_free(comm);
    MPI_Send(NULL, 0, MPI_INT, 1, 9, MPI_COMM_WORLD);
}

static void test(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (rank == 0) {
        of_communicator(comm);
        flush_of_before();
        freed(&comm);
        return;
    }
    const struct {
        int tag;
        MPI_Comm comm;
    } order[] = {{1, comm}, {2, comm}, {3, MPI_COMM_WORLD}, {4, MPI_COMM_WORLD}, {5, comm}};
    for (int i = 0; i < 5; i++) {
        MPI_Recv(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        receive(1, order[i].tag, order[i].comm);
    }
    MPI_Comm_free(&comm);
}
