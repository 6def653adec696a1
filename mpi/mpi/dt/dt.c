/* SPDX-License-Identifier: Apache-2.0
 * dt.c - life of datatypes; what is asked of them: sizes, bounds, names.
 */
#include "dt/dt.h"

#include <stdio.h>
#include <stdlib.h>

#include "dt/attr.h"
#include "dt/contents.h"
#include "err/err.h"
#include "mpi_impl.h"

void dt_keep(dt_type_t *type)
{
    if (!type->is_fixed)
        type->obj.refs++;
}

void dt_contents_destroy(dt_contents_t *contents)
{
    if (contents == NULL)
        return;
    for (size_t i = 0; i < contents->n_types; i++)
        dt_release(contents->types[i]);
    free(contents->types);
    free(contents->values);
    free(contents);
}

void dt_release(dt_type_t *type)
{
    if (type->is_fixed || --type->obj.refs > 0)
        return;
    dt_node_release(type->node);
    dt_sig_release(type->sig);
    dt_contents_destroy(type->contents);
    free(type->given);
    obj_end(&type->obj);
    free(type);
}

const char *dt_name(const dt_type_t *type)
{
    return type->given != NULL ? type->given : type->name[0] != 0 ? type->name : "a derived datatype";
}

int dt_absent(const dt_type_t *type)
{
    return err_set(MPI_ERR_TYPE, "%s: the Fortran compiler does not have this type (MPI_Abi_set_fortran_info)",
                   dt_name(type));
}

int dt_usable(MPI_Datatype handle, dt_type_t **type_p)
{
    *type_p = dt_find(handle);
    if (*type_p == NULL)
        return err_set(MPI_ERR_TYPE, "datatype %p is none", (void *)handle);
    if ((*type_p)->absent)
        return dt_absent(*type_p);
    if (!(*type_p)->committed)
        return err_set(MPI_ERR_TYPE, "%s is not committed; call MPI_Type_commit", dt_name(*type_p));
    return MPI_SUCCESS;
}

int dt_bytes(MPI_Count count, MPI_Datatype handle, size_t *bytes_p)
{
    dt_type_t *type;
    const int rc = dt_usable(handle, &type);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!type->is_fixed && !dt_is_plain(type))
        return err_set(MPI_ERR_UNSUPPORTED_OPERATION, "%s has gaps, and this function takes only datatypes without",
                       dt_name(type));
    if (count < 0)
        return err_set(MPI_ERR_COUNT, "count %lld is negative", (long long)count);
    if (__builtin_mul_overflow((size_t)count, type->extent, bytes_p) || *bytes_p > PTRDIFF_MAX)
        return err_set(MPI_ERR_COUNT, "count %lld of %s is more than an address space", (long long)count,
                       dt_name(type));
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
    *lb = dt_find(datatype)->lb;
    *extent = (MPI_Count)dt_find(datatype)->extent;
    return MPI_SUCCESS;
}

int mpi_Type_get_extent_x(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
    return mpi_Type_get_extent(datatype, lb, extent);
}

int mpi_Type_get_true_extent(MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *true_extent)
{
    const dt_node_t *node = dt_find(datatype)->node;
    *true_lb = node->low;
    *true_extent = node->high - node->low;
    return MPI_SUCCESS;
}

int mpi_Type_get_true_extent_x(MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *true_extent)
{
    return mpi_Type_get_true_extent(datatype, true_lb, true_extent);
}

int mpi_Type_get_name(MPI_Datatype datatype, char *type_name, int *resultlen)
{
    const dt_type_t *type = dt_find(datatype);
    if (type == NULL && datatype != MPI_DATATYPE_NULL)
        return err_set(MPI_ERR_TYPE, "datatype %p is none", (void *)datatype);
    const char *name = type == NULL ? "MPI_DATATYPE_NULL" : type->given != NULL ? type->given : type->name;
    *resultlen = snprintf(type_name, MPI_MAX_OBJECT_NAME, "%s", name);
    return MPI_SUCCESS;
}

int mpi_Type_set_name(MPI_Datatype datatype, const char *type_name)
{
    dt_type_t *type = dt_find(datatype);
    if (type_name == NULL)
        return err_set(MPI_ERR_ARG, "type_name is NULL");
    if (type->given == NULL && (type->given = malloc(MPI_MAX_OBJECT_NAME)) == NULL)
        return err_set(MPI_ERR_NO_MEM, "name of a datatype: no memory left");
    (void)snprintf(type->given, MPI_MAX_OBJECT_NAME, "%s", type_name);
    return MPI_SUCCESS;
}

int mpi_Type_commit(MPI_Datatype *datatype)
{
    dt_type_t *type = dt_find(*datatype);
    if (type == NULL)
        return err_set(MPI_ERR_TYPE, "datatype %p is none", (void *)*datatype);
    if (type->absent)
        return dt_absent(type);
    type->committed = 1;
    return MPI_SUCCESS;
}

int mpi_Type_free(MPI_Datatype *datatype)
{
    dt_type_t *type = dt_find(*datatype);
    if (type == NULL || type->is_fixed)
        return err_set(MPI_ERR_TYPE, "%s cannot be freed",
                       type == NULL ? "a handle that is no datatype" : dt_name(type));
    if (type->handles == 1) {
        const int rc = dt_attr_delete_all(type);
        if (rc != MPI_SUCCESS)
            return rc;
    }
    type->handles--;
    dt_release(type);
    *datatype = MPI_DATATYPE_NULL;
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
