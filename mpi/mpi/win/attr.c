/* SPDX-License-Identifier: Apache-2.0
 * attr.c - attributes of windows, the predefined ones too (MPI 5.0, 12.2.6).
 */
#include "win/attr.h"

#include <string.h>

#include "attr/attr.h"
#include "mpi_impl.h"

static MPI_Win handle_of(const void *object)
{
    return (MPI_Win)(uintptr_t)object;
}

static int call_copy(attr_function_t function, const void *object, int keyval, void *extra, void *value,
                     void *value_out, int *flag)
{
    return ((MPI_Win_copy_attr_function *)function)(handle_of(object), keyval, extra, value, value_out, flag);
}

static int call_delete(attr_function_t function, const void *object, int keyval, void *value, void *extra)
{
    return ((MPI_Win_delete_attr_function *)function)(handle_of(object), keyval, value, extra);
}

static const attr_family_t family = {.copy = call_copy, .delete = call_delete};

static attr_owner_t owner_of(const mpi_win_t *win)
{
    return (attr_owner_t){&family, win, (attr_t **)(uintptr_t)&win->attrs};
}

int mpi_Win_create_keyval(MPI_Win_copy_attr_function *win_copy_attr_fn,
                          MPI_Win_delete_attr_function *win_delete_attr_fn, int *win_keyval, void *extra_state)
{
    return attr_key_create(&family, (attr_function_t)win_copy_attr_fn, (attr_function_t)win_delete_attr_fn, extra_state,
                           win_keyval);
}

int mpi_Win_free_keyval(int *win_keyval)
{
    return attr_key_free(&family, win_keyval);
}

int mpi_Win_set_attr(MPI_Win win, int win_keyval, void *attribute_val)
{
    const attr_owner_t owner = owner_of(win_of(win));
    return attr_set(&owner, win_keyval, attribute_val);
}

int mpi_Win_delete_attr(MPI_Win win, int win_keyval)
{
    const attr_owner_t owner = owner_of(win_of(win));
    return attr_delete(&owner, win_keyval);
}

/* The base is the value itself, the others are read at the address that is the value. */
static void *predefined(mpi_win_t *win, int keyval)
{
    switch (keyval) {
    case MPI_WIN_BASE: return win->base;
    case MPI_WIN_SIZE: return &win->size;
    case MPI_WIN_DISP_UNIT: return &win->small_unit;
    case MPI_WIN_CREATE_FLAVOR: return &win->flavour;
    default: return &win->model;
    }
}

int mpi_Win_get_attr(MPI_Win win, int win_keyval, void *attribute_val, int *flag)
{
    mpi_win_t *found = win_of(win);
    void *value;
    if (win_keyval >= MPI_WIN_BASE && win_keyval <= MPI_WIN_MODEL) {
        value = predefined(found, win_keyval);
        *flag = 1;
    } else {
        const attr_owner_t owner = owner_of(found);
        const int rc = attr_get(&owner, win_keyval, &value, flag);
        if (rc != MPI_SUCCESS)
            return rc;
    }
    if (*flag)
        memcpy(attribute_val, &value, sizeof(value));
    return MPI_SUCCESS;
}

int win_attr_delete_all(mpi_win_t *win)
{
    const attr_owner_t owner = owner_of(win);
    return attr_delete_list(&owner);
}
