/* SPDX-License-Identifier: Apache-2.0
 * names.c - what Open MPI's library exports beside the functions of MPI and the handles.
 */
#include "shim.h"

#include <stdio.h>

/* The functions that its mpi.h calls MPI_DUP_FN and MPI_NULL_COPY_FN, for objects of each kind. */
#define COPY_FUNCTIONS(prefix, type)                                                                                   \
    SHIM_VISIBLE int OMPI_C_MPI_##prefix##DUP_FN(F_##type object, int keyval, void *extra, void *in, void *out,        \
                                                 int *flag);                                                           \
    SHIM_VISIBLE int OMPI_C_MPI_##prefix##NULL_COPY_FN(F_##type object, int keyval, void *extra, void *in, void *out,  \
                                                       int *flag);                                                     \
    SHIM_VISIBLE int OMPI_C_MPI_##prefix##NULL_DELETE_FN(F_##type object, int keyval, void *value, void *extra);       \
    int OMPI_C_MPI_##prefix##DUP_FN(F_##type object, int keyval, void *extra, void *in, void *out, int *flag)          \
    {                                                                                                                  \
        (void)object, (void)keyval, (void)extra;                                                                       \
        *flag = 1;                                                                                                     \
        *(void **)out = in;                                                                                            \
        return MPI_SUCCESS;                                                                                            \
    }                                                                                                                  \
    int OMPI_C_MPI_##prefix##NULL_COPY_FN(F_##type object, int keyval, void *extra, void *in, void *out, int *flag)    \
    {                                                                                                                  \
        (void)object, (void)keyval, (void)extra, (void)in, (void)out;                                                  \
        *flag = 0;                                                                                                     \
        return MPI_SUCCESS;                                                                                            \
    }                                                                                                                  \
    int OMPI_C_MPI_##prefix##NULL_DELETE_FN(F_##type object, int keyval, void *value, void *extra)                     \
    {                                                                                                                  \
        (void)object, (void)keyval, (void)value, (void)extra;                                                          \
        return MPI_SUCCESS;                                                                                            \
    }

COPY_FUNCTIONS(, Comm)
COPY_FUNCTIONS(COMM_, Comm)
COPY_FUNCTIONS(TYPE_, Datatype)
COPY_FUNCTIONS(WIN_, Win)

/* No buffer may lie in the memory of a device. */
SHIM_VISIBLE int MPIX_Query_cuda_support(void);
int MPIX_Query_cuda_support(void)
{
    return 0;
}

SHIM_VISIBLE int MPIX_Query_rocm_support(void);
int MPIX_Query_rocm_support(void)
{
    return 0;
}

/* The three texts of its extension "affinity", each in 1,024 bytes: where ranks run is not known here. */
#define AFFINITY_ROOM 1024
SHIM_VISIBLE int OMPI_Affinity_str(int layout, char bound[], char current[], char exists[]);
int OMPI_Affinity_str(int layout, char bound[], char current[], char exists[])
{
    (void)layout;
    (void)snprintf(bound, AFFINITY_ROOM, "not known");
    (void)snprintf(current, AFFINITY_ROOM, "not known");
    (void)snprintf(exists, AFFINITY_ROOM, "not known");
    return MPI_SUCCESS;
}

/* What Fortran programs have as MPI_STATUS_IGNORE; C programs pass these to nothing but MPI_Status_f2c. */
SHIM_VISIBLE extern int *MPI_F_STATUS_IGNORE, *MPI_F_STATUSES_IGNORE;
int *MPI_F_STATUS_IGNORE, *MPI_F_STATUSES_IGNORE;
