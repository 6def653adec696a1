/* SPDX-License-Identifier: Apache-2.0
 * object.c - what windows have as objects: a name, a group, an error handler.
 */
#include <stdio.h>

#include "err/err.h"
#include "err/handler.h"
#include "group/group.h"
#include "mpi_impl.h"
#include "win/win.h"

int mpi_Win_get_group(MPI_Win win, MPI_Group *group)
{
    const mpi_comm_t *comm = win_of(win)->comm;
    comm->ranks->refs++;
    return group_make(comm->ranks, comm->session, group);
}

int mpi_Win_get_name(MPI_Win win, char *win_name, int *resultlen)
{
    *resultlen = snprintf(win_name, MPI_MAX_OBJECT_NAME, "%s",
                          win == MPI_WIN_NULL ? "MPI_WIN_NULL" : win_of(win)->name);
    return MPI_SUCCESS;
}

int mpi_Win_set_name(MPI_Win win, const char *win_name)
{
    if (win_name == NULL)
        return err_set(MPI_ERR_ARG, "win_name is NULL");
    (void)snprintf(win_of(win)->name, MPI_MAX_OBJECT_NAME, "%s", win_name); /* the rest is cut off (7.8) */
    return MPI_SUCCESS;
}

int mpi_Win_set_errhandler(MPI_Win win, MPI_Errhandler errhandler)
{
    mpi_win_t *found = win_of(win);
    const int rc = err_handler_set(&found->obj, OBJ_WIN, errhandler);
    /* Waits for requests of the window know its communicator only. */
    return rc != MPI_SUCCESS ? rc : err_handler_set(&found->comm->obj, OBJ_WIN, errhandler);
}

int mpi_Win_get_errhandler(MPI_Win win, MPI_Errhandler *errhandler)
{
    return err_handler_get(&win_of(win)->obj, errhandler);
}

int mpi_Win_call_errhandler(MPI_Win win, int errorcode)
{
    (void)err_raise_win(win, "MPI_Win_call_errhandler", errorcode);
    return MPI_SUCCESS;
}
