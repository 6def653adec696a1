/* SPDX-License-Identifier: Apache-2.0
 * attr.c - attributes: functions of keys get handles and codes of the program's ABI; values of predefined keys that are constants.
 */
#include "shim.h"

/* The program's functions and their extra state: the extra state of a key in the library. */
typedef struct key {
    F_callback copy;
    F_callback delete;
    void *extra;
} shim_key_t;

static shim_key_t *key_make(F_callback copy, F_callback delete, void *extra)
{
    shim_key_t *key = malloc(sizeof(*key));
    if (key != NULL)
        *key = (shim_key_t){.copy = copy, .delete = delete, .extra = extra};
    return key;
}

/* rc: of the library's function that has made the key; it frees `key` with the last value. */
static int key_made(int rc, shim_key_t *key, int made, int *keyval)
{
    if (rc == MPI_SUCCESS)
        rc = vbnmpi_Keyval_at_end(made, free);
    if (rc == MPI_SUCCESS)
        *keyval = out_KEYVAL(made);
    else
        free(key);
    return out_ERRCODE(rc);
}

#define KEYS(type)                                                                                                     \
    typedef int type##_copy_t(F_##type object, int keyval, void *extra, void *in, void *out, int *flag);               \
    typedef int type##_delete_t(F_##type object, int keyval, void *value, void *extra);                                \
    static int copy_##type(MPI_##type object, int keyval, void *state, void *in, void *out, int *flag)                 \
    {                                                                                                                  \
        const shim_key_t *key = state;                                                                                 \
        *flag = 0;                                                                                                     \
        if (key->copy == NULL)                                                                                         \
            return MPI_SUCCESS;                                                                                        \
        return in_ERRCODE(((type##_copy_t *)key->copy)(out_##type(object), keyval, key->extra, in, out, flag));        \
    }                                                                                                                  \
    static int delete_##type(MPI_##type object, int keyval, void *value, void *state)                                  \
    {                                                                                                                  \
        const shim_key_t *key = state;                                                                                 \
        if (key->delete == NULL)                                                                                       \
            return MPI_SUCCESS;                                                                                        \
        return in_ERRCODE(((type##_delete_t *)key->delete)(out_##type(object), keyval, value, key->extra));            \
    }                                                                                                                  \
    int shim_##type##_create_keyval(F_callback copy, F_callback delete, int *keyval, void *extra)                      \
    {                                                                                                                  \
        int made = MPI_KEYVAL_INVALID;                                                                                 \
        shim_key_t *key = key_make(copy, delete, extra);                                                               \
        if (key == NULL)                                                                                               \
            return out_ERRCODE(MPI_ERR_NO_MEM);                                                                        \
        const int rc = vbnmpi_##type##_create_keyval(copy_##type, delete_##type, keyval == NULL ? NULL : &made, key);  \
        return key_made(rc, key, made, keyval);                                                                        \
    }

KEYS(Comm)
SHIM_NAME(Comm_create_keyval);
/* The functions of datatypes are called MPI_Type_. */
typedef F_Datatype F_Type;
typedef MPI_Datatype MPI_Type;
#define out_Type out_Datatype
KEYS(Type)
SHIM_NAME(Type_create_keyval);
KEYS(Win)
SHIM_NAME(Win_create_keyval);

int shim_Keyval_create(F_callback copy_fn, F_callback delete_fn, int *keyval, void *extra_state)
{
    return shim_Comm_create_keyval(copy_fn, delete_fn, keyval, extra_state);
}
SHIM_NAME(Keyval_create);

/* The program reads the value through the pointer that it gets, at any time: each value has a place of its own, and whoever
 * writes it writes the same. Only MPI_LASTUSEDCODE changes, for the whole process. */
static const int *keep(int *place, int value)
{
    __atomic_store_n(place, value, __ATOMIC_RELAXED);
    return place;
}

static const int *shown_value(int keyval, const int *value)
{
    static int host, io, last_used, flavors[4], models[2];
    const unsigned flavor = (unsigned)(*value - MPI_WIN_FLAVOR_CREATE) % 4;
    const unsigned model = (unsigned)(*value - MPI_WIN_UNIFIED) % 2;
    switch (keyval) {
    case MPI_HOST: return keep(&host, out_RANK(*value));
    case MPI_IO: return keep(&io, out_RANK(*value));
    case MPI_LASTUSEDCODE: return keep(&last_used, out_ERRCODE(*value));
    case MPI_WIN_CREATE_FLAVOR: return keep(&flavors[flavor], out_FLAVOR(*value));
    case MPI_WIN_MODEL: return keep(&models[model], out_MODEL(*value));
    default: return NULL;
    }
}

/* Keys whose value is no address of an int are not read. */
static int is_constant(int keyval)
{
    return keyval == MPI_HOST || keyval == MPI_IO || keyval == MPI_LASTUSEDCODE || keyval == MPI_WIN_CREATE_FLAVOR ||
           keyval == MPI_WIN_MODEL;
}

/* After a call that gives an attribute. */
static int finish_get(int rc, int keyval, void *value, const int *flag)
{
    if (rc == MPI_SUCCESS && *flag) {
        const int **place = value;
        if (is_constant(keyval))
            *place = shown_value(keyval, *place);
    }
    return out_ERRCODE(rc);
}

int shim_Comm_get_attr(F_Comm comm, int comm_keyval, void *attribute_val, int *flag)
{
    const int keyval = in_KEYVAL(comm_keyval);
    return finish_get(vbnmpi_Comm_get_attr(in_Comm(comm), keyval, attribute_val, flag), keyval, attribute_val, flag);
}
SHIM_NAME(Comm_get_attr);

int shim_Attr_get(F_Comm comm, int keyval, void *attribute_val, int *flag)
{
    return shim_Comm_get_attr(comm, keyval, attribute_val, flag);
}
SHIM_NAME(Attr_get);

int shim_Win_get_attr(F_Win win, int win_keyval, void *attribute_val, int *flag)
{
    const int keyval = in_KEYVAL(win_keyval);
    return finish_get(vbnmpi_Win_get_attr(in_Win(win), keyval, attribute_val, flag), keyval, attribute_val, flag);
}
SHIM_NAME(Win_get_attr);
