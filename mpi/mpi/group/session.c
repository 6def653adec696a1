/* SPDX-License-Identifier: Apache-2.0
 * session.c - how long a session lives; its error handler.
 */
#include "group/session.h"

#include <stdlib.h>

#include "err/err.h"
#include "err/handler.h"
#include "mpi_impl.h"

mpi_session_t *session_keep(mpi_session_t *session)
{
    if (session != NULL)
        session->obj.refs++;
    return session;
}

void session_release(mpi_session_t *session)
{
    if (session != NULL && --session->obj.refs == 0)
        free(session);
}

int mpi_Session_set_errhandler(MPI_Session session, MPI_Errhandler errhandler)
{
    return err_handler_set(&session_of(session)->obj, OBJ_SESSION, errhandler);
}

int mpi_Session_get_errhandler(MPI_Session session, MPI_Errhandler *errhandler)
{
    return err_handler_get(&session_of(session)->obj, errhandler);
}

int mpi_Session_call_errhandler(MPI_Session session, int errorcode)
{
    (void)err_raise_session(session, "MPI_Session_call_errhandler", errorcode);
    return MPI_SUCCESS;
}
