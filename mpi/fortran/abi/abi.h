/* SPDX-License-Identifier: Apache-2.0
 * abi.h - handles, keys and marks of the standard ABI.
 *
 * A handle below 0x1000 is its own number, by the standard; only others ask the C library for theirs.
 */
#ifndef VERBENA_FORTRAN_ABI_H
#define VERBENA_FORTRAN_ABI_H

#define FORTRAN_LIBRARY "libmpifort_abi"
#define FORTRAN_PREDEFINED 0x1000
#define FORTRAN_HANDLE(type, name)                                                                                     \
    static inline type in_##name(int number)                                                                           \
    {                                                                                                                  \
        return (unsigned)number < FORTRAN_PREDEFINED ? (type)(uintptr_t)number : C(name##_fromint)(number);            \
    }                                                                                                                  \
    static inline int out_##name(type handle)                                                                          \
    {                                                                                                                  \
        return (uintptr_t)handle < FORTRAN_PREDEFINED ? (int)(uintptr_t)handle : C(name##_toint)(handle);              \
    }
FORTRAN_HANDLES(FORTRAN_HANDLE)
FORTRAN_HANDLE(MPI_File, File)

/* The key of C for one of Fortran. */
static inline int in_keyval(int keyval)
{
    return keyval;
}

/* The common block of mpif.h: (mark, offset in INTEGERs); and variables of the modules. */
#define FORTRAN_BLOCKS(block)                                                                                          \
    block(vbnf_marks_, 22, {MARK_BOTTOM, 0}, {MARK_IN_PLACE, 1}, {MARK_BUFFER_AUTOMATIC, 2}, {MARK_UNWEIGHTED, 3},     \
          {MARK_WEIGHTS_EMPTY, 4}, {MARK_ERRCODES_IGNORE, 5}, {MARK_STATUS_IGNORE, 6}, {MARK_STATUSES_IGNORE, 14})
#define FORTRAN_VARIABLES(variable)                                                                                    \
    FORTRAN_VARIABLES_OF(variable, vbnf_mpi_)                                                                          \
    FORTRAN_VARIABLES_OF(variable, vbnf_f08_)
#define FORTRAN_VARIABLES_OF(variable, prefix)                                                                         \
    variable(prefix##bottom, 1, MARK_BOTTOM) variable(prefix##in_place, 1, MARK_IN_PLACE)                              \
        variable(prefix##buffer_automatic, 1, MARK_BUFFER_AUTOMATIC) variable(prefix##unweighted, 1, MARK_UNWEIGHTED)  \
            variable(prefix##weights_empty, 1, MARK_WEIGHTS_EMPTY)                                                     \
                variable(prefix##errcodes_ignore, 1, MARK_ERRCODES_IGNORE)                                             \
                    variable(prefix##status_ignore, 8, MARK_STATUS_IGNORE)                                             \
                        variable(prefix##statuses_ignore, 8, MARK_STATUSES_IGNORE)

#endif
