/* SPDX-License-Identifier: Apache-2.0
 * file.c - the error handler of files: that of MPI_FILE_NULL, which is also for functions that have no file yet. Unlike others it
 * returns from the start.
 */
#include "err/err.h"
#include "err/handler.h"
#include "mpi_impl.h"

static int check(MPI_File file)
{
    return file == MPI_FILE_NULL ? MPI_SUCCESS
                                 : err_set(MPI_ERR_FILE, "file is neither MPI_FILE_NULL nor an open file");
}

int mpi_File_set_errhandler(MPI_File file, MPI_Errhandler errhandler)
{
    const int rc = check(file);
    return rc != MPI_SUCCESS ? rc : err_handler_set(&err_files, OBJ_FILE, errhandler);
}

int mpi_File_get_errhandler(MPI_File file, MPI_Errhandler *errhandler)
{
    const int rc = check(file);
    return rc != MPI_SUCCESS ? rc : err_handler_get(&err_files, errhandler);
}

int mpi_File_call_errhandler(MPI_File fh, int errorcode)
{
    const int rc = check(fh);
    if (rc == MPI_SUCCESS)
        (void)err_raise_file("MPI_File_call_errhandler", errorcode);
    return rc;
}
