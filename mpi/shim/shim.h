/* SPDX-License-Identifier: Apache-2.0
 * shim.h - libraries of other ABIs: an entry point converts arguments, calls the function of the standard ABI by its private name
 * (vbnmpi.h), and converts results. gen/gen_shim.py writes most of them; the sources beside this one, those whose conversion is
 * more than that of their arguments.
 *
 * Names: F_Comm is the program's MPI_Comm, MPI_Comm the standard one. in_X converts to the standard ABI, out_X back. The
 * program's function MPI_NAME is shim_NAME here, so that mpi.h may declare another MPI_NAME.
 *
 * Rules. A1 A value that the program gave is never an index before it is known to be in range. A2 A result is written only if the
 * call has set it. A3 Nothing is allocated for up to SHIM_FEW elements. A4 Symbols of predefined handles are never compared by
 * address: a program may hold copies of them (family.h).
 */
#ifndef VERBENA_SHIM_H
#define VERBENA_SHIM_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "vbnmpi.h"

#define SHIM_PREDEFINED 0x300 /* predefined handles of the standard ABI are lower */
#define SHIM_FEW 64
#define SHIM_UNSET INT_MIN /* in a status: the call has not set this */

/* shim_NAME is what programs know as PMPI_NAME, and, where no tool replaces it, as MPI_NAME. */
#define SHIM_VISIBLE __attribute__((visibility("default")))
#define SHIM_PUBLIC(symbol) __asm__(#symbol) SHIM_VISIBLE
#define SHIM_ALIAS(name, symbol)                                                                                       \
    extern __typeof(shim_##name) shim_as_##symbol __asm__(#symbol) SHIM_VISIBLE                                        \
        __attribute__((weak, alias("PMPI_" #name)))
#define SHIM_NAME(name) SHIM_ALIAS(name, MPI_##name)
#define SHIM_OTHER_NAME(name, other)                                                                                   \
    SHIM_ALIAS(name, other);                                                                                           \
    SHIM_ALIAS(name, P##other)

#include "shim_values.h"

static inline int out_ERRCODE(int code)
{
    return code == MPI_SUCCESS ? MPI_SUCCESS : shim_error_code(code);
}

#include "family.h"

#include "shim_names.h"

static inline size_t shim_length(MPI_Count count)
{
    return count < 0 ? 0 : (size_t)count;
}

static inline size_t shim_length_comm(MPI_Comm comm)
{
    return shim_length(vbnmpi_Length_comm(comm));
}

static inline size_t shim_length_in(MPI_Comm comm)
{
    return shim_length(vbnmpi_Length_in(comm));
}

static inline size_t shim_length_out(MPI_Comm comm)
{
    return shim_length(vbnmpi_Length_out(comm));
}

/* MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY are addresses of their own in each ABI. */
static inline int *in_weights(const int *weights)
{
    const uintptr_t address = (uintptr_t)weights;
    return address == (uintptr_t)F_UNWEIGHTED      ? MPI_UNWEIGHTED
           : address == (uintptr_t)F_WEIGHTS_EMPTY ? MPI_WEIGHTS_EMPTY
                                                   : (int *)address;
}

/* The array `name` of n elements: few lie on the stack. The function ends with MPI_ERR_NO_MEM when there is no memory. */
#define SHIM_ARRAY(type, name, n)                                                                                      \
    type name##_few[SHIM_FEW];                                                                                         \
    type *name = (n) <= SHIM_FEW ? name##_few : malloc((n) * sizeof(type));                                            \
    if (name == NULL)                                                                                                  \
    return out_ERRCODE(MPI_ERR_NO_MEM)
#define SHIM_ARRAY_END(name)                                                                                           \
    if (name != name##_few)                                                                                            \
    free(name)

/* Copies a text of the library to where the program has room for `room` bytes; *length_p becomes its length unless NULL. */
void shim_text(char *to, const char *from, size_t room, int *length_p);

#endif
