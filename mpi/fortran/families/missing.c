/* SPDX-License-Identifier: Apache-2.0
 * missing.c - functions that C does not carry out: its function calls the error handler, and gives the error code with a text.
 */
#include "fortran.h"

/* No process starts, so nobody sees the arguments of the program. */
FORTRAN(comm_spawn, COMM_SPAWN,
        (const char *command, const char *arguments, const int *processes, const int *info, const int *root,
         const int *comm, int *made, int *codes, int *ierror, size_t command_length, size_t arguments_length))
{
    MPI_Comm inter = MPI_COMM_NULL;
    (void)arguments, (void)arguments_length, (void)codes;
    char *name = fortran_text_in(command, command_length, 0);
    if (name == NULL)
        FORTRAN_RETURN(MPI_ERR_NO_MEM);
    const int code = C(Comm_spawn)(name, NULL, *processes, in_Info(*info), *root, in_Comm(*comm), &inter, NULL);
    *made = out_Comm(inter);
    free(name);
    FORTRAN_RETURN(code);
}

FORTRAN(comm_spawn_multiple, COMM_SPAWN_MULTIPLE,
        (const int *count, const char *commands, const char *arguments, const int *processes, const int *infos,
         const int *root, const int *comm, int *made, int *codes, int *ierror, size_t commands_length,
         size_t arguments_length))
{
    MPI_Comm inter = MPI_COMM_NULL;
    (void)commands, (void)arguments, (void)infos, (void)codes, (void)commands_length, (void)arguments_length;
    const int code = C(Comm_spawn_multiple)(*count, NULL, NULL, processes, NULL, *root, in_Comm(*comm), &inter, NULL);
    *made = out_Comm(inter);
    FORTRAN_RETURN(code);
}

typedef void function_t(void);

FORTRAN(register_datarep, REGISTER_DATAREP,
        (const char *datarep, function_t *read, function_t *write, function_t *extent, const MPI_Aint *state,
         int *ierror, size_t length))
{
    (void)read, (void)write, (void)extent, (void)state;
    char *name = fortran_text_in(datarep, length, 0);
    if (name == NULL)
        FORTRAN_RETURN(MPI_ERR_NO_MEM);
    const int code = C(Register_datarep)(name, NULL, NULL, NULL, NULL);
    free(name);
    FORTRAN_RETURN(code);
}

/* Stand for "no conversion" in the calls above, and are never called. */
#define NO_CONVERSION(lower, upper)                                                                                    \
    FORTRAN(lower, upper,                                                                                              \
            (void *buffer, int *datatype, void *count, void *file, void *place, void *state, int *ierror))             \
    {                                                                                                                  \
        (void)buffer, (void)datatype, (void)count, (void)file, (void)place, (void)state;                               \
        FORTRAN_RETURN(MPI_SUCCESS);                                                                                   \
    }
NO_CONVERSION(conversion_fn_null, CONVERSION_FN_NULL)
NO_CONVERSION(conversion_fn_null_c, CONVERSION_FN_NULL_C)
