/* SPDX-License-Identifier: Apache-2.0
 * arguments.c - a wrong argument is an error of its class whose text names the argument and its value.
 * ranks: 1 2
 */
#include "rule.h"

static void expect(int code, int class, const char *word)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    if (class_of(code) != class || strstr(text, word) == NULL || (int)strlen(text) != length)
        fprintf(stderr, "code %d: %s\n", code, text);
    CHECK(class_of(code) == class && strstr(text, word) != NULL);
}

static void test(void)
{
    int value = 0;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    expect(MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK, "dest");
    expect(MPI_Send(&value, 1, MPI_INT, -9, 0, MPI_COMM_WORLD), MPI_ERR_RANK, "-9");
    expect(MPI_Send(&value, -2, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "-2");
    expect(MPI_Send(&value, 1, MPI_INT, 0, -7, MPI_COMM_WORLD), MPI_ERR_TAG, "-7");
    expect(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "datatype");
    expect(MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM, "MPI_COMM_NULL");
    expect(MPI_Recv(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_RANK, "source");
    expect(MPI_Bcast(&value, 1, MPI_INT, size, MPI_COMM_WORLD), MPI_ERR_ROOT, "root");
    expect(MPI_Allreduce(&value, &value, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP, "op");
    expect(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP, "MPI_DOUBLE");
    expect(MPI_Comm_rank(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "rank is NULL");
    expect(MPI_Comm_free(&world), MPI_ERR_COMM, "MPI_COMM_WORLD");
    expect(MPI_Init(NULL, NULL), MPI_ERR_OTHER, "once");
    expect(MPI_Win_free(NULL), MPI_ERR_ARG, "win is NULL");
    expect(MPI_Comm_join(0, &world), MPI_ERR_UNSUPPORTED_OPERATION, "MPI_Comm_join");
    MPI_Send_c(&value, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    expect(MPI_Send_c(&value, (MPI_Count)1 << 62, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "address space");
}
