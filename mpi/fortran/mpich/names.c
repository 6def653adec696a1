/* SPDX-License-Identifier: Apache-2.0
 * names.c - what MPICH's Fortran library exports beside the functions of MPI.
 */
#include "descriptor.h"

#include <string.h>

#ifdef FORTRAN_PMPI
#define MPIX_NAMES(lower, upper, arguments) FORTRAN_SPELL(pmpix_##lower, PMPIX_##upper, void, arguments)
#define MPIX_F08(lower) pmpixr_##lower##_f08_
#define MPIX_TEXT(lower) "pmpix_" #lower "_"
#else
#define MPIX_NAMES(lower, upper, arguments) FORTRAN_SPELL(mpix_##lower, MPIX_##upper, void, arguments)
#define MPIX_F08(lower) mpix_##lower##_f08_
#define MPIX_TEXT(lower) "mpix_" #lower "_"
#endif
#define MPIX(lower, upper, arguments)                                                                                  \
    void MPIX_F08(lower) arguments __attribute__((weak, visibility("default"), alias(MPIX_TEXT(lower))));              \
    MPIX_NAMES(lower, upper, arguments)

/* No buffer may lie in the memory of a device: the answer, in the place of an error code, is 0. */
#define NO_DEVICE(lower, upper)                                                                                        \
    MPIX(lower, upper, (int *ierror))                                                                                  \
    {                                                                                                                  \
        FORTRAN_RETURN(0);                                                                                             \
    }
NO_DEVICE(query_cuda_support, QUERY_CUDA_SUPPORT)
NO_DEVICE(query_hip_support, QUERY_HIP_SUPPORT)
NO_DEVICE(query_ze_support, QUERY_ZE_SUPPORT)

MPIX(gpu_query_support, GPU_QUERY_SUPPORT, (const int *kind, int *is_supported, int *ierror))
{
    (void)kind;
    *is_supported = 0;
    FORTRAN_RETURN(MPI_SUCCESS);
}

TS(f_sync_reg, _, (const gfortran_t *buffer))
{
    (void)buffer;
}

#ifndef FORTRAN_PMPI
/* Statuses of C and of mpi_f08 have the same bytes. */
#define COPIES(symbol)                                                                                                 \
    int symbol(const void *from, void *to) FORTRAN_VISIBLE;                                                            \
    int symbol(const void *from, void *to)                                                                             \
    {                                                                                                                  \
        memcpy(to, from, sizeof(MPI_Status));                                                                          \
        return MPI_SUCCESS;                                                                                            \
    }
COPIES(MPI_Status_c2f08)
COPIES(PMPI_Status_c2f08)
COPIES(MPI_Status_f082c)
COPIES(PMPI_Status_f082c)

/* The assignment between both, whose first argument is the place of the result. */
void __mpi_f08_types_MOD_mpi_status_c_assign_f08(void *to, const void *from) FORTRAN_VISIBLE;
void __mpi_f08_types_MOD_mpi_status_c_assign_f08(void *to, const void *from)
{
    memcpy(to, from, sizeof(MPI_Status));
}
void __mpi_f08_types_MOD_mpi_status_f08_assign_c(void *to, const void *from) FORTRAN_VISIBLE;
void __mpi_f08_types_MOD_mpi_status_f08_assign_c(void *to, const void *from)
{
    memcpy(to, from, sizeof(MPI_Status));
}
#endif
