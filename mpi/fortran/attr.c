/* SPDX-License-Identifier: Apache-2.0
 * attr.c - attributes. Fortran's value is an integer as wide as an address; C has a pointer to it (attr_value.h).
 */
#include "attr_value.h"

#include <pthread.h>

typedef void copy_t(int *object, int *keyval, MPI_Aint *extra, MPI_Aint *in, MPI_Aint *out, int *flag, int *ierror);
typedef void delete_t(int *object, int *keyval, MPI_Aint *value, MPI_Aint *extra, int *ierror);
/* The same with the values of MPI-1. */
typedef void copy_int_t(int *object, int *keyval, int *extra, int *in, int *out, int *flag, int *ierror);
typedef void delete_int_t(int *object, int *keyval, int *value, int *extra, int *ierror);
typedef void function_t(void);

/* The state of a key: equal keys share one, and none ends, for attributes may outlive their key. */
typedef struct key {
    function_t *copy;
    function_t *delete;
    MPI_Aint extra;
    int narrow; /* functions of MPI-1 */
    struct key *next;
} key_state_t;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static key_state_t *keys;

static key_state_t *key_with(function_t *copy, function_t *delete, MPI_Aint extra, int narrow)
{
    pthread_mutex_lock(&mutex);
    key_state_t *key = keys;
    while (key != NULL && !(key->copy == copy && key->delete == delete && key->extra == extra && key->narrow == narrow))
        key = key->next;
    if (key == NULL && (key = malloc(sizeof(*key))) != NULL) {
        *key = (key_state_t){copy, delete, extra, narrow, keys};
        keys = key;
    }
    pthread_mutex_unlock(&mutex);
    return key;
}

/* A copy of what Fortran has set is set by Fortran. */
static int copy_value(int object, int keyval, key_state_t *key, void *in, void *out, int *flag)
{
    int rc = MPI_SUCCESS;
    MPI_Aint extra = key->extra;
    MPI_Aint from = attr_value_get(in);
    MPI_Aint to = 0;
    if (key->narrow) {
        int narrow[] = {(int)extra, (int)from, 0};
        ((copy_int_t *)key->copy)(&object, &keyval, &narrow[0], &narrow[1], &narrow[2], flag, &rc);
        to = narrow[2];
    } else {
        ((copy_t *)key->copy)(&object, &keyval, &extra, &from, &to, flag, &rc);
    }
    if (rc != MPI_SUCCESS || !*flag)
        return rc;
    void *made = attr_value_is(in) ? attr_value_make(to) : (void *)to;
    if (made == NULL && attr_value_is(in))
        return MPI_ERR_NO_MEM;
    *(void **)out = made;
    return MPI_SUCCESS;
}

static int delete_value(int object, int keyval, key_state_t *key, void *value)
{
    int rc = MPI_SUCCESS;
    MPI_Aint extra = key->extra;
    MPI_Aint wide = attr_value_get(value);
    int narrow[] = {(int)extra, (int)wide};
    if (key->narrow)
        ((delete_int_t *)key->delete)(&object, &keyval, &narrow[1], &narrow[0], &rc);
    else
        ((delete_t *)key->delete)(&object, &keyval, &wide, &extra, &rc);
    if (rc == MPI_SUCCESS)
        attr_value_end(value);
    return rc;
}

/* What is behind the pointer of a predefined attribute. */
static MPI_Aint value_of(int keyval, void *value)
{
    switch (keyval) {
    case MPI_TAG_UB:
    case MPI_HOST:
    case MPI_IO:
    case MPI_WTIME_IS_GLOBAL:
    case MPI_APPNUM:
    case MPI_LASTUSEDCODE:
    case MPI_UNIVERSE_SIZE:
    case MPI_WIN_DISP_UNIT:
    case MPI_WIN_CREATE_FLAVOR:
    case MPI_WIN_MODEL: return *(const int *)value;
    case MPI_WIN_SIZE: return *(const MPI_Aint *)value;
    case MPI_WIN_BASE: return (MPI_Aint)value;
    default: return attr_value_get(value);
    }
}

#define ATTRIBUTES(kind, lower, upper, type)                                                                           \
    static int kind##_copy(type object, int keyval, void *state, void *in, void *out, int *flag)                       \
    {                                                                                                                  \
        return copy_value(out_##kind(object), keyval, state, in, out, flag);                                           \
    }                                                                                                                  \
    static int kind##_delete(type object, int keyval, void *value, void *state)                                        \
    {                                                                                                                  \
        return delete_value(out_##kind(object), keyval, state, value);                                                 \
    }                                                                                                                  \
    static int kind##_keyval(function_t *copy, function_t *delete, MPI_Aint extra, int narrow, int *keyval)            \
    {                                                                                                                  \
        key_state_t *key = key_with(copy, delete, extra, narrow);                                                      \
        return key == NULL ? MPI_ERR_NO_MEM : C(kind##_create_keyval)(kind##_copy, kind##_delete, keyval, key);        \
    }                                                                                                                  \
    static int kind##_set(type object, int keyval, MPI_Aint value)                                                     \
    {                                                                                                                  \
        MPI_Aint *place = attr_value_make(value);                                                                      \
        const int rc = place == NULL ? MPI_ERR_NO_MEM : C(kind##_set_attr)(object, keyval, place);                     \
        if (rc != MPI_SUCCESS && place != NULL)                                                                        \
            attr_value_end(place);                                                                                     \
        return rc;                                                                                                     \
    }                                                                                                                  \
    FORTRAN(lower##_create_keyval, upper##_CREATE_KEYVAL,                                                              \
            (function_t * copy, function_t * delete, int *keyval, const MPI_Aint *extra, int *ierror))                 \
    {                                                                                                                  \
        FORTRAN_CODE;                                                                                                  \
        *ierror = kind##_keyval(copy, delete, *extra, 0, keyval);                                                      \
    }                                                                                                                  \
    FORTRAN(lower##_set_attr, upper##_SET_ATTR,                                                                        \
            (const int *object, const int *keyval, const MPI_Aint *value, int *ierror))                                \
    {                                                                                                                  \
        FORTRAN_CODE;                                                                                                  \
        *ierror = kind##_set(in_##kind(*object), *keyval, *value);                                                     \
    }                                                                                                                  \
    FORTRAN(lower##_get_attr, upper##_GET_ATTR,                                                                        \
            (const int *object, const int *keyval, MPI_Aint *value, int *flag, int *ierror))                           \
    {                                                                                                                  \
        FORTRAN_CODE;                                                                                                  \
        void *found = NULL;                                                                                            \
        *ierror = C(kind##_get_attr)(in_##kind(*object), in_keyval(*keyval), &found, flag);                            \
        if (*ierror == MPI_SUCCESS && *flag)                                                                           \
            *value = value_of(in_keyval(*keyval), found);                                                              \
    }
ATTRIBUTES(Comm, comm, COMM, MPI_Comm)
ATTRIBUTES(Type, type, TYPE, MPI_Datatype)
ATTRIBUTES(Win, win, WIN, MPI_Win)

FORTRAN(keyval_create, KEYVAL_CREATE,
        (function_t * copy, function_t *delete, int *keyval, const int *extra, int *ierror))
{
    FORTRAN_CODE;
    *ierror = Comm_keyval(copy, delete, *extra, 1, keyval);
}

FORTRAN(attr_put, ATTR_PUT, (const int *comm, const int *keyval, const int *value, int *ierror))
{
    FORTRAN_CODE;
    *ierror = Comm_set(in_Comm(*comm), *keyval, *value);
}

FORTRAN(attr_get, ATTR_GET, (const int *comm, const int *keyval, int *value, int *flag, int *ierror))
{
    FORTRAN_CODE;
    void *found = NULL;
    *ierror = C(Comm_get_attr)(in_Comm(*comm), in_keyval(*keyval), &found, flag);
    if (*ierror == MPI_SUCCESS && *flag)
        *value = (int)value_of(in_keyval(*keyval), found);
}

/* The functions of the standard, which in C are numbers. */
#undef MPI_NULL_COPY_FN
#undef MPI_DUP_FN
#undef MPI_NULL_DELETE_FN
#undef MPI_COMM_NULL_COPY_FN
#undef MPI_COMM_DUP_FN
#undef MPI_COMM_NULL_DELETE_FN
#undef MPI_TYPE_NULL_COPY_FN
#undef MPI_TYPE_DUP_FN
#undef MPI_TYPE_NULL_DELETE_FN
#undef MPI_WIN_NULL_COPY_FN
#undef MPI_WIN_DUP_FN
#undef MPI_WIN_NULL_DELETE_FN
#define COPIES(lower, upper, type)                                                                                     \
    FORTRAN(lower##null_copy_fn, upper##NULL_COPY_FN,                                                                  \
            (int *object, int *keyval, type *extra, type *in, type *out, int *flag, int *ierror))                      \
    {                                                                                                                  \
        (void)object, (void)keyval, (void)extra, (void)in, (void)out;                                                  \
        *flag = 0;                                                                                                     \
        *ierror = MPI_SUCCESS;                                                                                         \
    }                                                                                                                  \
    FORTRAN(lower##dup_fn, upper##DUP_FN,                                                                              \
            (int *object, int *keyval, type *extra, type *in, type *out, int *flag, int *ierror))                      \
    {                                                                                                                  \
        (void)object, (void)keyval, (void)extra;                                                                       \
        *out = *in;                                                                                                    \
        *flag = 1;                                                                                                     \
        *ierror = MPI_SUCCESS;                                                                                         \
    }                                                                                                                  \
    FORTRAN(lower##null_delete_fn, upper##NULL_DELETE_FN,                                                              \
            (int *object, int *keyval, type *value, type *extra, int *ierror))                                         \
    {                                                                                                                  \
        (void)object, (void)keyval, (void)value, (void)extra;                                                          \
        *ierror = MPI_SUCCESS;                                                                                         \
    }
COPIES(, , int)
COPIES(comm_, COMM_, MPI_Aint)
COPIES(type_, TYPE_, MPI_Aint)
COPIES(win_, WIN_, MPI_Aint)
