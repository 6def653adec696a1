/* SPDX-License-Identifier: Apache-2.0
 * handler.h - error handlers that users make.
 */
#ifndef VERBENA_MPI_HANDLER_H
#define VERBENA_MPI_HANDLER_H

#include "obj/obj.h"

/* One of the functions: for which kind of objects it is. */
typedef struct err_handler {
    obj_t obj;
    MPI_Comm_errhandler_function *comm;
    MPI_Session_errhandler_function *session;
    MPI_File_errhandler_function *file;
    MPI_Win_errhandler_function *win;
    void *state; /* the function gets it as third argument; NULL, unless mpi_Errhandler_set_state has set it */
} err_handler_t;

/* MPI_SUCCESS or MPI_ERR_ERRHANDLER; takes no lock; for objects of that kind, OBJ_DEAD: any. */
int err_handler_check(MPI_Errhandler handler, obj_kind_t kind);
/* These take obj_lock. */
void err_handler_keep(MPI_Errhandler handler);
void err_handler_release(MPI_Errhandler handler);
/* The handler that is there at this moment, and its functions when the program has made it: whoever calls them does so later,
 * without a lock, when the program may have freed the handler. */
MPI_Errhandler err_handler_look(const MPI_Errhandler *place, err_handler_t *functions);

/* Of a communicator, session or window, whose kind is given: MPI_Comm_set_errhandler and its like. The object holds the
 * handler; who gets it has to free it. */
int err_handler_set(obj_t *object, obj_kind_t kind, MPI_Errhandler handler);
int err_handler_get(const obj_t *object, MPI_Errhandler *handler);
/* MPI_FILE_NULL as an object: it holds the handler of functions without a file, which returns from the start. */
extern obj_t err_files;

#endif
