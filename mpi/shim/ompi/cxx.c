/* SPDX-License-Identifier: Apache-2.0
 * cxx.c - what Open MPI's library of C++ bindings (libmpi_cxx.so.40) takes from its C library. Programs that C++ compiled with its
 * mpi.h need that library, though most call C alone: it must load. Callbacks of C++ are not supported, and say so.
 */
#include "shim.h"

#include <stdbool.h>
#include <stdio.h>

/* Variables that only calls of the bindings look at, as large as they are there. */
SHIM_VISIBLE extern int ompi_errcode_intern_lastused, opal_class_init_epoch;
SHIM_VISIBLE extern bool opal_uses_threads;
SHIM_VISIBLE extern char ompi_errcodes_intern[120], ompi_registered_datareps[64], opal_list_item_t_class[64];
int ompi_errcode_intern_lastused, opal_class_init_epoch;
bool opal_uses_threads;
char ompi_errcodes_intern[120], ompi_registered_datareps[64], opal_list_item_t_class[64];

static int refuse(const char *what)
{
    fprintf(stderr, "libmpi.so.40: %s of Open MPI's C++ bindings are not supported: use the functions of C\n", what);
    const int rc = MPI_ERR_UNSUPPORTED_OPERATION;
    (void)vbnmpi_Comm_call_errhandler(MPI_COMM_SELF, rc);
    return out_ERRCODE(rc);
}

SHIM_VISIBLE int ompi_attr_create_keyval(int kind, void *copy, void *delete, int *keyval, void *extra, int flags,
                                         void *more);
int ompi_attr_create_keyval(int kind, void *copy, void *delete, int *keyval, void *extra, int flags, void *more)
{
    (void)kind, (void)copy, (void)delete, (void)keyval, (void)extra, (void)flags, (void)more;
    return refuse("attribute keys");
}

/* A handle of no object: calls that get it return MPI_ERR_ARG. */
SHIM_VISIBLE void *ompi_errhandler_create(int kind, void *function, int language);
void *ompi_errhandler_create(int kind, void *function, int language)
{
    static char nothing[1024];
    (void)kind, (void)function, (void)language;
    (void)refuse("error handlers");
    return nothing;
}

SHIM_VISIBLE int ompi_errhandler_invoke(void *handler, void *object, int kind, int code, const char *text);
int ompi_errhandler_invoke(void *handler, void *object, int kind, int code, const char *text)
{
    (void)handler, (void)object, (void)kind, (void)text;
    return code;
}

SHIM_VISIBLE void ompi_op_set_cxx_callback(void *op, void *function);
void ompi_op_set_cxx_callback(void *op, void *function)
{
    (void)op, (void)function;
    (void)refuse("operations");
    (void)vbnmpi_Abort(MPI_COMM_WORLD, 1); // a call of the operation would call C++ as C
}

SHIM_VISIBLE void opal_class_initialize(void *class);
void opal_class_initialize(void *class)
{
    (void)class;
    (void)refuse("representations of data");
    (void)vbnmpi_Abort(MPI_COMM_WORLD, 1);
}
