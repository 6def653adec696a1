/* SPDX-License-Identifier: Apache-2.0
 * names.c - what MPICH's library exports beside the functions of MPI.
 */
#include "shim.h"

/* What its mpi.h calls MPI_DUP_FN; the functions for no copy and no deletion are NULL there. */
SHIM_VISIBLE int MPIR_Dup_fn(int object, int keyval, void *extra, void *in, void *out, int *flag);
int MPIR_Dup_fn(int object, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)object, (void)keyval, (void)extra;
    *flag = 1;
    *(void **)out = in;
    return MPI_SUCCESS;
}

/* Its mpi.h declares variables of these names, of which a program may hold copies: only their values count. */
SHIM_VISIBLE extern int *const shim_unweighted __asm__("MPI_UNWEIGHTED");
SHIM_VISIBLE extern int *const shim_weights_empty __asm__("MPI_WEIGHTS_EMPTY");
SHIM_VISIBLE extern void *const shim_all_handles __asm__("MPI_T_PVAR_ALL_HANDLES");
int *const shim_unweighted = (int *)F_UNWEIGHTED;
int *const shim_weights_empty = (int *)F_WEIGHTS_EMPTY;
void *const shim_all_handles = (void *)MPI_T_PVAR_ALL_HANDLES;

/* What Fortran programs have as MPI_STATUS_IGNORE; C programs pass these to nothing but MPI_Status_f2c. */
SHIM_VISIBLE extern int *MPI_F_STATUS_IGNORE, *MPI_F_STATUSES_IGNORE;
int *MPI_F_STATUS_IGNORE = (int *)F_STATUS_IGNORE, *MPI_F_STATUSES_IGNORE = (int *)F_STATUSES_IGNORE;

/* No buffer may lie in the memory of a device. */
#define NO_DEVICE(name)                                                                                                \
    int shim_##name(void) SHIM_PUBLIC(PMPI_##name);                                                                    \
    int shim_##name(void)                                                                                              \
    {                                                                                                                  \
        return 0;                                                                                                      \
    }                                                                                                                  \
    SHIM_OTHER_NAME(name, MPIX_##name)
NO_DEVICE(Query_cuda_support);
NO_DEVICE(Query_hip_support);
NO_DEVICE(Query_ze_support);

int shim_GPU_query_support(int kind, int *is_supported) SHIM_PUBLIC(PMPI_GPU_query_support);
int shim_GPU_query_support(int kind, int *is_supported)
{
    (void)kind;
    if (is_supported == NULL)
        return out_ERRCODE(MPI_ERR_ARG);
    *is_supported = 0;
    return MPI_SUCCESS;
}
SHIM_OTHER_NAME(GPU_query_support, MPIX_GPU_query_support);

/* Handles are the same ints in Fortran, and a status is the same five. */
#define SAME(type)                                                                                                     \
    int shim_##type##_c2f(int handle) SHIM_PUBLIC(PMPI_##type##_c2f);                                                  \
    int shim_##type##_f2c(int number) SHIM_PUBLIC(PMPI_##type##_f2c);                                                  \
    int shim_##type##_c2f(int handle)                                                                                  \
    {                                                                                                                  \
        return handle;                                                                                                 \
    }                                                                                                                  \
    SHIM_NAME(type##_c2f);                                                                                             \
    int shim_##type##_f2c(int number)                                                                                  \
    {                                                                                                                  \
        return number;                                                                                                 \
    }                                                                                                                  \
    SHIM_NAME(type##_f2c)

SAME(Comm);
SAME(Errhandler);
SAME(Group);
SAME(Info);
SAME(Message);
SAME(Op);
SAME(Request);
SAME(Session);
SAME(Type);
SAME(Win);

int shim_File_c2f(F_File handle) SHIM_PUBLIC(PMPI_File_c2f);
int shim_File_c2f(F_File handle)
{
    return handle == NULL ? 0 : vbnmpi_File_toint(handle);
}
SHIM_NAME(File_c2f);

F_File shim_File_f2c(int number) SHIM_PUBLIC(PMPI_File_f2c);
F_File shim_File_f2c(int number)
{
    return (uint32_t)number < OBJ_FIRST ? NULL : out_File(vbnmpi_File_fromint(number));
}
SHIM_NAME(File_f2c);

int shim_Status_c2f(const F_Status *c_status, int *f_status) SHIM_PUBLIC(PMPI_Status_c2f);
int shim_Status_c2f(const F_Status *c_status, int *f_status)
{
    if (!shim_has_status(c_status) || f_status == NULL)
        return out_ERRCODE(MPI_ERR_ARG);
    memcpy(f_status, c_status, sizeof(*c_status));
    return MPI_SUCCESS;
}
SHIM_NAME(Status_c2f);

int shim_Status_f2c(const int *f_status, F_Status *c_status) SHIM_PUBLIC(PMPI_Status_f2c);
int shim_Status_f2c(const int *f_status, F_Status *c_status)
{
    if (!shim_has_status((const F_Status *)f_status) || !shim_has_status(c_status))
        return out_ERRCODE(MPI_ERR_ARG);
    memcpy(c_status, f_status, sizeof(*c_status));
    return MPI_SUCCESS;
}
SHIM_NAME(Status_f2c);
