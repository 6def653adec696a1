/* SPDX-License-Identifier: Apache-2.0
 * freed_comm.c - a request that fails after its communicator was freed: the communicator's handler is called, with a communicator
 * that is still one.
 * ranks: 1
 */
#include "rule.h"

static int calls;
static char name[MPI_MAX_OBJECT_NAME];

static void handle(MPI_Comm *comm, int *code, ...)
{
    int length;
    calls++;
    CHECK(*code == MPI_ERR_TRUNCATE);
    MPI_Comm_get_name(*comm, name, &length);
}

/* What was freed is used by others. */
static void take_memory(void)
{
    enum { PIECES = 64 };
    void *pieces[PIECES];
    for (int i = 0; i < PIECES; i++) {
        pieces[i] = malloc((size_t)i * 64 + 16);
        CHECK(pieces[i] != NULL);
        memset(pieces[i], 0x5a, (size_t)i * 64 + 16);
    }
    for (int i = 0; i < PIECES; i++)
        free(pieces[i]);
}

static void test(void)
{
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Request requests[2];
    int values[4] = {0};
    int got[4];
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_name(comm, "kept");
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    MPI_Irecv(got, 1, MPI_INT, 0, 0, comm, &requests[0]);
    MPI_Isend(values, 4, MPI_INT, 0, 0, comm, &requests[1]);
    MPI_Comm_free(&comm);
    take_memory();
    CHECK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_ERR_TRUNCATE);
    CHECK(calls == 1 && strcmp(name, "kept") == 0);
}
