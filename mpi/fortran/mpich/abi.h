/* SPDX-License-Identifier: Apache-2.0
 * abi.h - handles, keys and marks of MPICH's Fortran (libmpifort.so.12, libmpichfort.so.12).
 *
 * Handles are the ints of C but for files. A predefined key is that of C and one more.
 */
#ifndef VERBENA_FORTRAN_ABI_H
#define VERBENA_FORTRAN_ABI_H

#define FORTRAN_LIBRARY "libmpifort"
#define FORTRAN_OWN_DESCRIPTORS /* descriptor.h */
#define FORTRAN_HANDLE(type, name)                                                                                     \
    static inline type in_##name(int number)                                                                           \
    {                                                                                                                  \
        return number;                                                                                                 \
    }                                                                                                                  \
    static inline int out_##name(type handle)                                                                          \
    {                                                                                                                  \
        return handle;                                                                                                 \
    }
FORTRAN_HANDLES(FORTRAN_HANDLE)

static inline MPI_File in_File(int number)
{
    return PMPI_File_f2c(number);
}

static inline int out_File(MPI_File handle)
{
    return PMPI_File_c2f(handle);
}

/* The key of C for one of Fortran. */
static inline int in_keyval(int keyval)
{
    const unsigned kind = (unsigned)keyval >> 8;
    return kind == (unsigned)MPI_TAG_UB >> 8 || kind == (unsigned)MPI_WIN_BASE >> 8 ? keyval - 1 : keyval;
}

/* (common block, its INTEGERs, (mark, offset in INTEGERs)) */
#define FORTRAN_BLOCKS(block)                                                                                          \
    block(mpipriv1_, 7, {MARK_BOTTOM, 0}, {MARK_IN_PLACE, 1}, {MARK_STATUS_IGNORE, 2})                                 \
        block(mpipriv2_, 6, {MARK_STATUSES_IGNORE, 0}, {MARK_ERRCODES_IGNORE, 5})                                      \
            block(mpifcmb5_, 1, {MARK_UNWEIGHTED, 0}) block(mpifcmb9_, 1, {MARK_WEIGHTS_EMPTY, 0})
/* That only mpi_f08 has. */
#define FORTRAN_VARIABLES(variable)                                                                                    \
    variable(MPIR_F08_MPI_BOTTOM, 1, MARK_BOTTOM) variable(MPIR_F08_MPI_IN_PLACE, 1, MARK_IN_PLACE)                    \
        variable(MPIR_F08_MPI_STATUS_IGNORE_OBJ, 5, MARK_STATUS_IGNORE)                                                \
            variable(MPIR_F08_MPI_STATUSES_IGNORE_OBJ, 5, MARK_STATUSES_IGNORE)                                        \
                variable(__mpi_f08_link_constants_MOD_mpi_unweighted, 1, MARK_UNWEIGHTED)                              \
                    variable(__mpi_f08_link_constants_MOD_mpi_weights_empty, 1, MARK_WEIGHTS_EMPTY)                    \
                        variable(__mpi_f08_link_constants_MOD_mpi_errcodes_ignore, 1, MARK_ERRCODES_IGNORE)

#endif
