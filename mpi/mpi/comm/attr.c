/* SPDX-License-Identifier: Apache-2.0
 * attr.c - attribute keys and values. A key lives as long as values of it exist, also when the program has freed it.
 */
#include "comm/attr.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "err/err.h"
#include "err/user.h"
#include "mpi_impl.h"

#define FIRST_KEY 1000 /* above the predefined ones */

typedef struct key {
    int uses; /* the program's, until it frees the key, and one of each value */
    int freed;
    MPI_Comm_copy_attr_function *copy;
    MPI_Comm_delete_attr_function *delete;
    void *extra;
} attr_key_t;

static attr_key_t *keys;
static int key_count;

static attr_key_t *key_of(int keyval)
{
    const int at = keyval - FIRST_KEY;
    return at >= 0 && at < key_count && keys[at].uses > 0 ? &keys[at] : NULL;
}

static int check_key(int keyval)
{
    const attr_key_t *key = key_of(keyval);
    return key != NULL && !key->freed ? MPI_SUCCESS : err_set(MPI_ERR_KEYVAL, "%d is no attribute key", keyval);
}

int mpi_Comm_create_keyval(MPI_Comm_copy_attr_function *comm_copy_attr_fn,
                           MPI_Comm_delete_attr_function *comm_delete_attr_fn, int *comm_keyval, void *extra_state)
{
    int at = 0;
    while (at < key_count && keys[at].uses > 0)
        at++;
    if (at == key_count) {
        attr_key_t *more = realloc(keys, (size_t)(key_count + 1) * sizeof(*more));
        if (more == NULL)
            return err_set(MPI_ERR_NO_MEM, "attribute key: no memory left");
        keys = more;
        key_count++;
    }
    keys[at] = (attr_key_t){.uses = 1, .copy = comm_copy_attr_fn, .delete = comm_delete_attr_fn, .extra = extra_state};
    *comm_keyval = FIRST_KEY + at;
    return MPI_SUCCESS;
}

int mpi_Comm_free_keyval(int *comm_keyval)
{
    const int rc = check_key(*comm_keyval);
    if (rc != MPI_SUCCESS)
        return rc;
    key_of(*comm_keyval)->freed = 1;
    key_of(*comm_keyval)->uses--;
    *comm_keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

static attr_t **place_of(mpi_comm_t *comm, int keyval)
{
    attr_t **at = &comm->attrs;
    while (*at != NULL && (*at)->keyval != keyval)
        at = &(*at)->next;
    return at;
}

/* Calls the delete function, then takes the value out: the function may look at other attributes. */
static int delete_at(mpi_comm_t *comm, attr_t **at)
{
    attr_t *attr = *at;
    const attr_key_t key = *key_of(attr->keyval); /* the function may make keys, which moves them */
    if (key.delete != MPI_COMM_NULL_DELETE_FN) {
        const int rc = key.delete(comm_handle(comm), attr->keyval, attr->value, key.extra);
        if (rc != MPI_SUCCESS)
            return err_set(rc, "the delete function of attribute key %d failed", attr->keyval);
    }
    at = place_of(comm, attr->keyval);
    *at = attr->next;
    key_of(attr->keyval)->uses--;
    free(attr);
    return MPI_SUCCESS;
}

static int put(mpi_comm_t *comm, int keyval, void *value)
{
    attr_t *attr = malloc(sizeof(*attr));
    if (attr == NULL)
        return err_set(MPI_ERR_NO_MEM, "attribute: no memory left");
    *attr = (attr_t){.next = comm->attrs, .keyval = keyval, .value = value};
    comm->attrs = attr;
    key_of(keyval)->uses++;
    return MPI_SUCCESS;
}

int mpi_Comm_set_attr(MPI_Comm comm, int comm_keyval, void *attribute_val)
{
    mpi_comm_t *found = comm_of(comm);
    int rc = check_key(comm_keyval);
    attr_t **at = rc == MPI_SUCCESS ? place_of(found, comm_keyval) : NULL;
    if (rc == MPI_SUCCESS && *at != NULL)
        rc = delete_at(found, at);
    return rc != MPI_SUCCESS ? rc : put(found, comm_keyval, attribute_val);
}

int mpi_Comm_delete_attr(MPI_Comm comm, int comm_keyval)
{
    mpi_comm_t *found = comm_of(comm);
    const int rc = check_key(comm_keyval);
    if (rc != MPI_SUCCESS)
        return rc;
    attr_t **at = place_of(found, comm_keyval);
    return *at != NULL ? delete_at(found, at)
                       : err_set(MPI_ERR_KEYVAL, "attribute key %d has no value on comm", comm_keyval);
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
        const int rc = check_key(comm_keyval);
        if (rc != MPI_SUCCESS)
            return rc;
        const attr_t *attr = *place_of(comm_of(comm), comm_keyval);
        *flag = attr != NULL;
        value = attr == NULL ? NULL : attr->value;
    }
    if (*flag)
        memcpy(attribute_val, &value, sizeof(value));
    return MPI_SUCCESS;
}

static int copy_one(const mpi_comm_t *from, mpi_comm_t *to, const attr_t *attr)
{
    const attr_key_t key = *key_of(attr->keyval);
    void *value = attr->value;
    int wanted = 1;
    if (key.copy == MPI_COMM_NULL_COPY_FN)
        return MPI_SUCCESS;
    if (key.copy != MPI_COMM_DUP_FN) {
        const int rc = key.copy(comm_handle(from), attr->keyval, key.extra, attr->value, &value, &wanted);
        if (rc != MPI_SUCCESS)
            return err_set(rc, "the copy function of attribute key %d failed", attr->keyval);
    }
    return wanted ? put(to, attr->keyval, value) : MPI_SUCCESS;
}

/* The first one set is copied first, so that the order stays. */
static int copy_from(const mpi_comm_t *from, mpi_comm_t *to, const attr_t *attr)
{
    if (attr == NULL)
        return MPI_SUCCESS;
    const int rc = copy_from(from, to, attr->next);
    return rc != MPI_SUCCESS ? rc : copy_one(from, to, attr);
}

int attr_copy(const mpi_comm_t *from, mpi_comm_t *to)
{
    return copy_from(from, to, from->attrs);
}

int attr_delete_all(mpi_comm_t *comm)
{
    int rc = MPI_SUCCESS;
    while (comm->attrs != NULL && rc == MPI_SUCCESS)
        rc = delete_at(comm, &comm->attrs);
    return rc;
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
