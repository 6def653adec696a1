/* SPDX-License-Identifier: Apache-2.0
 * abi.h - handles, keys and marks of Open MPI's Fortran (libmpi_mpifh.so.40).
 *
 * Handles are numbers, which the C library knows (shim/ompi/numbers.c). mpif.h and both modules share nine common blocks.
 */
#ifndef VERBENA_FORTRAN_ABI_H
#define VERBENA_FORTRAN_ABI_H

#define FORTRAN_LIBRARY "libmpi_mpifh"
#define FORTRAN_NO_SECTIONS /* its mpi_f08 passes addresses */
#define FORTRAN_HANDLE(type, name)                                                                                     \
    static inline type in_##name(int number)                                                                           \
    {                                                                                                                  \
        return PMPI_##name##_f2c(number);                                                                              \
    }                                                                                                                  \
    static inline int out_##name(type handle)                                                                          \
    {                                                                                                                  \
        return PMPI_##name##_c2f(handle);                                                                              \
    }
FORTRAN_HANDLES(FORTRAN_HANDLE)
FORTRAN_HANDLE(MPI_File, File)

/* The key of C for one of Fortran. */
static inline int in_keyval(int keyval)
{
    return keyval;
}

/* (common block, its INTEGERs, (mark, offset in INTEGERs)) */
#define FORTRAN_BLOCKS(block)                                                                                          \
    block(mpi_fortran_bottom_, 1, {MARK_BOTTOM, 0}) block(mpi_fortran_in_place_, 1, {MARK_IN_PLACE, 0})                \
        block(mpi_fortran_unweighted_, 1, {MARK_UNWEIGHTED, 0})                                                        \
            block(mpi_fortran_weights_empty_, 1, {MARK_WEIGHTS_EMPTY, 0})                                              \
                block(mpi_fortran_errcodes_ignore_, 1, {MARK_ERRCODES_IGNORE, 0})                                      \
                    block(mpi_fortran_status_ignore_, 6, {MARK_STATUS_IGNORE, 0})                                      \
                        block(mpi_fortran_statuses_ignore_, 6, {MARK_STATUSES_IGNORE, 0})
#define FORTRAN_VARIABLES(variable) /* that only modules have */

#endif
