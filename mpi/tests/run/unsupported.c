/* SPDX-License-Identifier: Apache-2.0
 * unsupported.c - a function that is not written yet is an error of the object that it is about: of files, whose handler returns
 * from the start; of the communicator of the call. It names the function, and its handles are null ones.
 * ranks: 1 2
 */
#include "rule.h"

static int calls;
static int last_code;
static MPI_File last_file;
static MPI_Comm last_comm;

static void on_file(MPI_File *file, int *code, ...)
{
    calls++;
    last_file = *file;
    last_code = *code;
}

static void on_comm(MPI_Comm *comm, int *code, ...)
{
    calls++;
    last_comm = *comm;
    last_code = *code;
}

static void names(int code, const char *function)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    CHECK(code == MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, function) != NULL);
}

static void of_files(void)
{
    MPI_Errhandler handler, got;
    MPI_File file = (MPI_File)&calls;
    MPI_File_get_errhandler(MPI_FILE_NULL, &got);
    CHECK(got == MPI_ERRORS_RETURN);
    names(MPI_File_open(MPI_COMM_WORLD, "/tmp/nothing", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file),
          "MPI_File_open");
    CHECK(file == MPI_FILE_NULL);
    names(MPI_File_write(file, &calls, 1, MPI_INT, MPI_STATUS_IGNORE), "MPI_File_write");
    MPI_File_create_errhandler(on_file, &handler);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, handler) == MPI_SUCCESS);
    MPI_File_get_errhandler(MPI_FILE_NULL, &got);
    CHECK(got == handler);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&handler);
    names(MPI_File_delete("/tmp/nothing", MPI_INFO_NULL), "MPI_File_delete");
    CHECK(calls == 1 && last_file == MPI_FILE_NULL && last_code == MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_NO_SPACE);
    CHECK(calls == 2 && last_code == MPI_ERR_NO_SPACE);
    MPI_Comm_create_errhandler(on_comm, &handler);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, handler) == MPI_ERR_ERRHANDLER && calls == 3);
    MPI_Errhandler_free(&handler);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN) == MPI_SUCCESS);
}

static void of_communicators(void)
{
    MPI_Errhandler handler;
    MPI_Comm dup, children;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_create_errhandler(on_comm, &handler);
    MPI_Comm_set_errhandler(dup, handler);
    MPI_Errhandler_free(&handler);
    calls = 0;
    names(MPI_Psend_init(&calls, 1, 1, MPI_INT, 0, 0, dup, MPI_INFO_NULL, &request), "MPI_Psend_init");
    CHECK(request == MPI_REQUEST_NULL && calls == 1 && last_comm == dup && last_code == MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
    names(MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, dup, &children, MPI_ERRCODES_IGNORE),
          "MPI_Comm_spawn");
    CHECK(children == MPI_COMM_NULL && calls == 1);
    MPI_Comm_free(&dup);
}

static void test(void)
{
    int count;
    of_files();
    of_communicators();
    CHECK(MPI_T_pvar_get_num(&count) == MPI_ERR_UNSUPPORTED_OPERATION); /* tools get codes */
}
