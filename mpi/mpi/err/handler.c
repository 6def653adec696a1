/* SPDX-License-Identifier: Apache-2.0
 * handler.c - error handlers that users make; they live as long as an object uses them.
 */
#include "err/handler.h"

#include <stdlib.h>

#include "err/err.h"
#include "mpi_impl.h"

int err_handler_check(MPI_Errhandler handler)
{
    const int is_one = handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_RETURN || handler == MPI_ERRORS_ABORT ||
                       obj_is(handler, OBJ_ERRHANDLER);
    return is_one ? MPI_SUCCESS : err_set(MPI_ERR_ERRHANDLER, "errhandler is not an error handler");
}

void err_handler_keep(MPI_Errhandler handler)
{
    if (!obj_is_predefined(handler))
        ((err_handler_t *)handler)->obj.refs++;
}

void err_handler_release(MPI_Errhandler handler)
{
    if (obj_is_predefined(handler) || --((err_handler_t *)handler)->obj.refs > 0)
        return;
    ((err_handler_t *)handler)->obj.kind = OBJ_DEAD;
    free(handler);
}

int mpi_Comm_create_errhandler(MPI_Comm_errhandler_function *comm_errhandler_fn, MPI_Errhandler *errhandler)
{
    if (comm_errhandler_fn == NULL)
        return err_set(MPI_ERR_ARG, "comm_errhandler_fn is NULL");
    err_handler_t *handler = calloc(1, sizeof(*handler));
    if (handler == NULL)
        return err_set(MPI_ERR_NO_MEM, "error handler: no memory left");
    handler->obj.kind = OBJ_ERRHANDLER;
    handler->obj.refs = 1;
    handler->function = comm_errhandler_fn;
    *errhandler = (MPI_Errhandler)handler;
    return MPI_SUCCESS;
}

int mpi_Errhandler_free(MPI_Errhandler *errhandler)
{
    const int rc = err_handler_check(*errhandler);
    if (rc != MPI_SUCCESS)
        return rc;
    err_handler_release(*errhandler);
    *errhandler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}
