/* SPDX-License-Identifier: Apache-2.0
 * dt.c - sizes and names of datatypes, addresses.
 */
#include "dt/dt.h"

#include <stdio.h>

#include "err/err.h"
#include "mpi_impl.h"

int dt_bytes(MPI_Count count, MPI_Datatype type, size_t *bytes_p)
{
    const dt_named_t *named = dt_find(type);
    if (named == NULL)
        return err_set(MPI_ERR_TYPE, "datatype %p is none", (void *)type);
    if (count < 0)
        return err_set(MPI_ERR_COUNT, "count %lld is negative", (long long)count);
    if (__builtin_mul_overflow((size_t)count, named->extent, bytes_p) || *bytes_p > PTRDIFF_MAX)
        return err_set(MPI_ERR_COUNT, "count %lld of %s is more than an address space", (long long)count, named->name);
    return MPI_SUCCESS;
}

int mpi_Type_size(MPI_Datatype datatype, MPI_Count *size)
{
    *size = (MPI_Count)dt_find(datatype)->size;
    return MPI_SUCCESS;
}

int mpi_Type_size_x(MPI_Datatype datatype, MPI_Count *size)
{
    return mpi_Type_size(datatype, size);
}

int mpi_Type_get_extent(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
    *lb = 0;
    *extent = (MPI_Count)dt_find(datatype)->extent;
    return MPI_SUCCESS;
}

int mpi_Type_get_extent_x(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
    return mpi_Type_get_extent(datatype, lb, extent);
}

int mpi_Type_get_true_extent(MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *true_extent)
{
    *true_lb = 0;
    *true_extent =
        (MPI_Count)(dt_find(datatype)->class == DT_PAIR ? dt_find(datatype)->size : dt_find(datatype)->extent);
    return MPI_SUCCESS;
}

int mpi_Type_get_name(MPI_Datatype datatype, char *type_name, int *resultlen)
{
    *resultlen = snprintf(type_name, MPI_MAX_OBJECT_NAME, "%s", dt_find(datatype)->name);
    return MPI_SUCCESS;
}

int mpi_Type_commit(MPI_Datatype *datatype)
{
    if (dt_find(*datatype) == NULL)
        return err_set(MPI_ERR_TYPE, "datatype %p is none", (void *)*datatype);
    return MPI_SUCCESS;
}

int mpi_Get_address(const void *location, MPI_Aint *address)
{
    *address = (MPI_Aint)location;
    return MPI_SUCCESS;
}

MPI_Aint mpi_Aint_add(MPI_Aint base, MPI_Aint disp)
{
    return (MPI_Aint)((uintptr_t)base + (uintptr_t)disp);
}

MPI_Aint mpi_Aint_diff(MPI_Aint addr1, MPI_Aint addr2)
{
    return (MPI_Aint)((uintptr_t)addr1 - (uintptr_t)addr2);
}
