/* SPDX-License-Identifier: Apache-2.0
 * attr.c - attributes of datatypes, derived and predefined.
 */
#include "dt/attr.h"

#include <string.h>

#include "attr/attr.h"
#include "mpi_impl.h"

static int call_copy(attr_function_t function, const void *object, int keyval, void *extra, void *value,
                     void *value_out, int *flag)
{
    return ((MPI_Type_copy_attr_function *)function)(dt_handle(object), keyval, extra, value, value_out, flag);
}

static int call_delete(attr_function_t function, const void *object, int keyval, void *value, void *extra)
{
    return ((MPI_Type_delete_attr_function *)function)(dt_handle(object), keyval, value, extra);
}

static const attr_family_t family = {.copy = call_copy, .delete = call_delete};

static attr_owner_t owner_of(const dt_type_t *type)
{
    return (attr_owner_t){&family, type, (attr_t **)(uintptr_t)&type->attrs};
}

int mpi_Type_create_keyval(MPI_Type_copy_attr_function *type_copy_attr_fn,
                           MPI_Type_delete_attr_function *type_delete_attr_fn, int *type_keyval, void *extra_state)
{
    return attr_key_create(&family, (attr_function_t)type_copy_attr_fn, (attr_function_t)type_delete_attr_fn,
                           extra_state, type_keyval);
}

int mpi_Type_free_keyval(int *type_keyval)
{
    return attr_key_free(&family, type_keyval);
}

int mpi_Type_set_attr(MPI_Datatype datatype, int type_keyval, void *attribute_val)
{
    const attr_owner_t owner = owner_of(dt_find(datatype));
    return attr_set(&owner, type_keyval, attribute_val);
}

int mpi_Type_delete_attr(MPI_Datatype datatype, int type_keyval)
{
    const attr_owner_t owner = owner_of(dt_find(datatype));
    return attr_delete(&owner, type_keyval);
}

int mpi_Type_get_attr(MPI_Datatype datatype, int type_keyval, void *attribute_val, int *flag)
{
    void *value;
    const attr_owner_t owner = owner_of(dt_find(datatype));
    const int rc = attr_get(&owner, type_keyval, &value, flag);
    if (rc == MPI_SUCCESS && *flag)
        memcpy(attribute_val, &value, sizeof(value));
    return rc;
}

int dt_attr_copy(const dt_type_t *from, dt_type_t *to)
{
    const attr_owner_t source = owner_of(from);
    const attr_owner_t target = owner_of(to);
    const int rc = attr_copy_all(&source, &target);
    if (rc != MPI_SUCCESS)
        (void)attr_delete_list(&target);
    return rc;
}

int dt_attr_delete_all(dt_type_t *type)
{
    const attr_owner_t owner = owner_of(type);
    return attr_delete_list(&owner);
}
