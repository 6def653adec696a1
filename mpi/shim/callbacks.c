/* SPDX-License-Identifier: Apache-2.0
 * callbacks.c - functions of the program that the library calls: operations and error handlers. The library keeps the program's
 * function as the state of a function here, which converts the arguments.
 */
#include <stdarg.h>

#include "shim.h"

typedef void op_function_t(void *in, void *inout, int *count, F_Datatype *type);
typedef void op_function_c_t(void *in, void *inout, MPI_Count *count, F_Datatype *type);

/* In pieces that an int can count. */
static void call_op(void *in, void *inout, MPI_Count count, MPI_Datatype type, void *state)
{
    op_function_t *function = (op_function_t *)state;
    F_Datatype shown = out_Datatype(type);
    MPI_Count lb, extent = 0;
    if (count > INT_MAX)
        (void)vbnmpi_Type_get_extent_c(type, &lb, &extent);
    while (count > 0) {
        int piece = count < INT_MAX ? (int)count : INT_MAX;
        const MPI_Count done = piece;
        function(in, inout, &piece, &shown);
        in = (char *)in + done * extent;
        inout = (char *)inout + done * extent;
        count -= done;
    }
}

static void call_op_c(void *in, void *inout, MPI_Count count, MPI_Datatype type, void *state)
{
    F_Datatype shown = out_Datatype(type);
    ((op_function_c_t *)state)(in, inout, &count, &shown);
}

typedef void op_with_t(void *in, void *inout, MPI_Count count, MPI_Datatype type, void *state);

static int create_op(op_with_t *with, F_callback function, int commute, F_Op *op)
{
    MPI_Op made = MPI_OP_NULL;
    const int rc = vbnmpi_Op_create_with(function == NULL ? NULL : with, (void *)function, commute,
                                         op == NULL ? NULL : &made);
    if (rc == MPI_SUCCESS)
        *op = out_Op(made);
    return out_ERRCODE(rc);
}

int shim_Op_create(F_callback user_fn, int commute, F_Op *op)
{
    return create_op(call_op, user_fn, commute, op);
}
SHIM_NAME(Op_create);

int shim_Op_create_c(F_callback user_fn, int commute, F_Op *op)
{
    return create_op(call_op_c, user_fn, commute, op);
}
SHIM_NAME(Op_create_c);

/* The library passes the state as the third argument. */
#define HANDLER(type)                                                                                                  \
    typedef void type##_function_t(F_##type *object, int *code, ...);                                                  \
    static void raise_##type(MPI_##type *object, int *code, ...)                                                       \
    {                                                                                                                  \
        va_list more;                                                                                                  \
        va_start(more, code);                                                                                          \
        type##_function_t *function = (type##_function_t *)va_arg(more, void *);                                       \
        va_end(more);                                                                                                  \
        F_##type shown = out_##type(*object);                                                                          \
        int shown_code = out_ERRCODE(*code);                                                                           \
        function(&shown, &shown_code);                                                                                 \
        *code = in_ERRCODE(shown_code);                                                                                \
    }                                                                                                                  \
    int shim_##type##_create_errhandler(F_callback function, F_Errhandler *errhandler)                                 \
    {                                                                                                                  \
        MPI_Errhandler made = MPI_ERRHANDLER_NULL;                                                                     \
        int rc = vbnmpi_##type##_create_errhandler(function == NULL ? NULL : raise_##type,                             \
                                                   errhandler == NULL ? NULL : &made);                                 \
        if (rc == MPI_SUCCESS)                                                                                         \
            rc = vbnmpi_Errhandler_set_state(made, (void *)function);                                                  \
        if (rc == MPI_SUCCESS)                                                                                         \
            *errhandler = out_Errhandler(made);                                                                        \
        return out_ERRCODE(rc);                                                                                        \
    }

HANDLER(Comm)
SHIM_NAME(Comm_create_errhandler);
HANDLER(File)
SHIM_NAME(File_create_errhandler);
HANDLER(Session)
SHIM_NAME(Session_create_errhandler);
HANDLER(Win)
SHIM_NAME(Win_create_errhandler);

int shim_Errhandler_create(F_callback comm_errhandler_fn, F_Errhandler *errhandler)
{
    return shim_Comm_create_errhandler(comm_errhandler_fn, errhandler);
}
SHIM_NAME(Errhandler_create);
