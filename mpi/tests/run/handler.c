/* SPDX-License-Identifier: Apache-2.0
 * handler.c - an error handler of the user gets the communicator and the code; it lives as long as it is used.
 * ranks: 1 2
 */
#include "rule.h"

static int calls;
static int last_code;
static MPI_Comm last_comm;

static void handle(MPI_Comm *comm, int *code, ...)
{
    calls++;
    last_comm = *comm;
    last_code = *code;
}

static void test(void)
{
    MPI_Errhandler handler;
    MPI_Errhandler got;
    MPI_Comm dup;
    int value = 0;
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_set_errhandler(dup, handler);
    MPI_Comm_get_errhandler(dup, &got);
    CHECK(got == handler);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&handler);
    CHECK(handler == MPI_ERRHANDLER_NULL);
    CHECK(MPI_Send(&value, 1, MPI_INT, size, 0, dup) == MPI_ERR_RANK);
    CHECK(calls == 1 && last_comm == dup && last_code == MPI_ERR_RANK);
    MPI_Comm_call_errhandler(dup, MPI_ERR_OTHER);
    CHECK(calls == 2 && last_code == MPI_ERR_OTHER);
    MPI_Comm_free(&dup);
}
