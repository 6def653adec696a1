/* SPDX-License-Identifier: Apache-2.0
 * handler.c - error handlers that users make; they live as long as an object uses them.
 */
#include "err/handler.h"

#include <stdlib.h>

#include "err/err.h"
#include "mpi_impl.h"

obj_t err_files = {.kind = OBJ_FILE, .refs = 1, .handler = MPI_ERRORS_RETURN};

static obj_kind_t kind_of(const err_handler_t *handler)
{
    return handler->comm != NULL   ? OBJ_COMM
           : handler->file != NULL ? OBJ_FILE
           : handler->win != NULL  ? OBJ_WIN
                                   : OBJ_SESSION;
}

static const char *objects_of(obj_kind_t kind)
{
    switch (kind) {
    case OBJ_COMM: return "communicators";
    case OBJ_FILE: return "files";
    case OBJ_WIN: return "windows";
    default: return "sessions";
    }
}

int err_handler_check(MPI_Errhandler handler, obj_kind_t kind)
{
    if (handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_RETURN || handler == MPI_ERRORS_ABORT)
        return MPI_SUCCESS;
    if (!obj_is(handler, OBJ_ERRHANDLER))
        return err_set(MPI_ERR_ERRHANDLER, "errhandler is not an error handler");
    const obj_kind_t made = kind_of((const err_handler_t *)handler);
    if (kind == OBJ_DEAD || kind == made)
        return MPI_SUCCESS;
    return err_set(MPI_ERR_ERRHANDLER, "errhandler is one for %s", objects_of(made));
}

static void keep(MPI_Errhandler handler)
{
    if (!obj_is_predefined(handler))
        ((err_handler_t *)handler)->obj.refs++;
}

static void release(MPI_Errhandler handler)
{
    if (obj_is_predefined(handler) || --((err_handler_t *)handler)->obj.refs > 0)
        return;
    obj_end(&((err_handler_t *)handler)->obj);
    free(handler);
}

void err_handler_keep(MPI_Errhandler handler)
{
    obj_lock();
    keep(handler);
    obj_unlock();
}

void err_handler_release(MPI_Errhandler handler)
{
    obj_lock();
    release(handler);
    obj_unlock();
}

MPI_Errhandler err_handler_look(const MPI_Errhandler *place, err_handler_t *functions)
{
    obj_lock();
    const MPI_Errhandler handler = *place;
    if (!obj_is_predefined(handler))
        *functions = *(const err_handler_t *)handler;
    obj_unlock();
    return handler;
}

int err_handler_set(obj_t *object, obj_kind_t kind, MPI_Errhandler handler)
{
    obj_lock();
    const int rc = err_handler_check(handler, kind);
    if (rc == MPI_SUCCESS) {
        keep(handler);
        release(object->handler);
        object->handler = handler;
    }
    obj_unlock();
    return rc;
}

int err_handler_get(const obj_t *object, MPI_Errhandler *handler)
{
    obj_lock();
    *handler = object->handler;
    keep(*handler);
    obj_unlock();
    return MPI_SUCCESS;
}

static int make(const err_handler_t *functions, MPI_Errhandler *errhandler)
{
    if (functions->comm == NULL && functions->session == NULL && functions->file == NULL && functions->win == NULL)
        return err_set(MPI_ERR_ARG, "the function of the error handler is NULL");
    err_handler_t *handler = calloc(1, sizeof(*handler));
    if (handler == NULL)
        return err_set(MPI_ERR_NO_MEM, "error handler: no memory left");
    *handler = *functions;
    handler->obj.kind = OBJ_ERRHANDLER;
    handler->obj.refs = 1;
    *errhandler = (MPI_Errhandler)handler;
    return MPI_SUCCESS;
}

int mpi_Comm_create_errhandler(MPI_Comm_errhandler_function *comm_errhandler_fn, MPI_Errhandler *errhandler)
{
    return make(&(err_handler_t){.comm = comm_errhandler_fn}, errhandler);
}

int mpi_Session_create_errhandler(MPI_Session_errhandler_function *session_errhandler_fn, MPI_Errhandler *errhandler)
{
    return make(&(err_handler_t){.session = session_errhandler_fn}, errhandler);
}

int mpi_File_create_errhandler(MPI_File_errhandler_function *file_errhandler_fn, MPI_Errhandler *errhandler)
{
    return make(&(err_handler_t){.file = file_errhandler_fn}, errhandler);
}

int mpi_Win_create_errhandler(MPI_Win_errhandler_function *win_errhandler_fn, MPI_Errhandler *errhandler)
{
    return make(&(err_handler_t){.win = win_errhandler_fn}, errhandler);
}

/* Under obj_lock, as its entry point does it; and the next one. */
int mpi_Errhandler_set_state(MPI_Errhandler errhandler, void *state)
{
    if (!obj_is(errhandler, OBJ_ERRHANDLER))
        return err_set(MPI_ERR_ERRHANDLER, "errhandler was not made by the program");
    ((err_handler_t *)errhandler)->state = state;
    return MPI_SUCCESS;
}

int mpi_Errhandler_free(MPI_Errhandler *errhandler)
{
    const int rc = err_handler_check(*errhandler, OBJ_DEAD);
    if (rc != MPI_SUCCESS)
        return rc;
    release(*errhandler);
    *errhandler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}
