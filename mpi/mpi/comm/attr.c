/* SPDX-License-Identifier: Apache-2.0
 * attr.c - attributes of communicators, the predefined ones too.
 */
#include "comm/attr.h"

#include <limits.h>
#include <string.h>

#include "attr/attr.h"
#include "err/user.h"
#include "mpi_impl.h"

static int call_copy(attr_function_t function, const void *object, int keyval, void *extra, void *value,
                     void *value_out, int *flag)
{
    return ((MPI_Comm_copy_attr_function *)function)(comm_handle(object), keyval, extra, value, value_out, flag);
}

static int call_delete(attr_function_t function, const void *object, int keyval, void *value, void *extra)
{
    return ((MPI_Comm_delete_attr_function *)function)(comm_handle(object), keyval, value, extra);
}

static const attr_family_t family = {.copy = call_copy, .delete = call_delete};

static attr_owner_t owner_of(const mpi_comm_t *comm)
{
    return (attr_owner_t){&family, comm, (attr_t **)(uintptr_t)&comm->attrs};
}

int mpi_Comm_create_keyval(MPI_Comm_copy_attr_function *comm_copy_attr_fn,
                           MPI_Comm_delete_attr_function *comm_delete_attr_fn, int *comm_keyval, void *extra_state)
{
    return attr_key_create(&family, (attr_function_t)comm_copy_attr_fn, (attr_function_t)comm_delete_attr_fn,
                           extra_state, comm_keyval);
}

int mpi_Keyval_at_end(int keyval, void (*destroy)(void *))
{
    return attr_key_at_end(keyval, destroy);
}

int mpi_Comm_free_keyval(int *comm_keyval)
{
    return attr_key_free(&family, comm_keyval);
}

int mpi_Comm_set_attr(MPI_Comm comm, int comm_keyval, void *attribute_val)
{
    const attr_owner_t owner = owner_of(comm_of(comm));
    return attr_set(&owner, comm_keyval, attribute_val);
}

int mpi_Comm_delete_attr(MPI_Comm comm, int comm_keyval)
{
    const attr_owner_t owner = owner_of(comm_of(comm));
    return attr_delete(&owner, comm_keyval);
}

/* The predefined ones are ints, which the program gets by their address. */
static int *predefined(int keyval)
{
    static int tag_ub = INT_MAX;
    static int io = MPI_ANY_SOURCE; /* every rank can read and write files */
    static int host = MPI_PROC_NULL;
    static int global;
    switch (keyval) {
    case MPI_TAG_UB: return &tag_ub;
    case MPI_IO: return &io;
    case MPI_HOST: return &host;
    case MPI_WTIME_IS_GLOBAL: return &global;
    case MPI_LASTUSEDCODE: return &err_last_used;
    case MPI_APPNUM: return &rt.pmi.appnum;
    case MPI_UNIVERSE_SIZE: return rt.pmi.universe > 0 ? &rt.pmi.universe : NULL;
    default: return NULL;
    }
}

int mpi_Comm_get_attr(MPI_Comm comm, int comm_keyval, void *attribute_val, int *flag)
{
    void *value;
    if (comm_keyval >= MPI_TAG_UB && comm_keyval <= MPI_UNIVERSE_SIZE) {
        value = predefined(comm_keyval);
        *flag = value != NULL;
    } else {
        const attr_owner_t owner = owner_of(comm_of(comm));
        const int rc = attr_get(&owner, comm_keyval, &value, flag);
        if (rc != MPI_SUCCESS)
            return rc;
    }
    if (*flag)
        memcpy(attribute_val, &value, sizeof(value));
    return MPI_SUCCESS;
}

int attr_copy(const mpi_comm_t *from, mpi_comm_t *to)
{
    const attr_owner_t source = owner_of(from);
    const attr_owner_t target = owner_of(to);
    return attr_copy_all(&source, &target);
}

int attr_delete_all(mpi_comm_t *comm)
{
    const attr_owner_t owner = owner_of(comm);
    return attr_delete_list(&owner);
}

int mpi_Keyval_create(MPI_Copy_function *copy_fn, MPI_Delete_function *delete_fn, int *keyval, void *extra_state)
{
    return mpi_Comm_create_keyval(copy_fn, delete_fn, keyval, extra_state);
}

int mpi_Keyval_free(int *keyval)
{
    return mpi_Comm_free_keyval(keyval);
}

int mpi_Attr_put(MPI_Comm comm, int keyval, void *attribute_val)
{
    return mpi_Comm_set_attr(comm, keyval, attribute_val);
}

int mpi_Attr_get(MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
    return mpi_Comm_get_attr(comm, keyval, attribute_val, flag);
}

int mpi_Attr_delete(MPI_Comm comm, int keyval)
{
    return mpi_Comm_delete_attr(comm, keyval);
}
