/* SPDX-License-Identifier: Apache-2.0
 * handler.h - error handlers that users make.
 */
#ifndef VERBENA_MPI_HANDLER_H
#define VERBENA_MPI_HANDLER_H

#include "obj/obj.h"

typedef struct err_handler {
    obj_t obj;
    MPI_Comm_errhandler_function *function;
} err_handler_t;

/* MPI_SUCCESS or MPI_ERR_ERRHANDLER. */
int err_handler_check(MPI_Errhandler handler);
void err_handler_keep(MPI_Errhandler handler);
void err_handler_release(MPI_Errhandler handler);

#endif
