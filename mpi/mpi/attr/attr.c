/* SPDX-License-Identifier: Apache-2.0
 * attr.c - attribute keys and values. A key lives as long as values of it exist, also when the program has freed it.
 * Functions of the program are called outside the runtime.
 */
#include "attr/attr.h"

#include <stdint.h>
#include <stdlib.h>

#include "err/err.h"
#include "rt/threads.h"

#define FIRST_KEY 1000 /* above the predefined ones */

typedef struct attr_key {
    const attr_family_t *family;
    int uses; /* the program's, until it frees the key, and one of each value */
    int freed;
    attr_function_t copy;
    attr_function_t delete;
    void *extra;
} attr_key_t;

static attr_key_t *keys;
static int key_count;

static attr_key_t *key_of(int keyval)
{
    const int at = keyval - FIRST_KEY;
    return at >= 0 && at < key_count && keys[at].uses > 0 ? &keys[at] : NULL;
}

static int check_key(const attr_family_t *family, int keyval)
{
    const attr_key_t *key = key_of(keyval); /* also one that the program has freed while it has values (7.7.2) */
    return key != NULL && key->family == family
               ? MPI_SUCCESS
               : err_set(MPI_ERR_KEYVAL, "%d is no attribute key of such objects", keyval);
}

int attr_key_create(const attr_family_t *family, attr_function_t copy, attr_function_t delete, void *extra, int *keyval)
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
    keys[at] = (attr_key_t){.family = family, .uses = 1, .copy = copy, .delete = delete, .extra = extra};
    *keyval = FIRST_KEY + at;
    return MPI_SUCCESS;
}

int attr_key_free(const attr_family_t *family, int *keyval)
{
    const int rc = check_key(family, *keyval);
    if (rc != MPI_SUCCESS)
        return rc;
    if (key_of(*keyval)->freed)
        return err_set(MPI_ERR_KEYVAL, "attribute key %d was freed before", *keyval);
    key_of(*keyval)->freed = 1;
    key_of(*keyval)->uses--;
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

static attr_t **place_of(const attr_owner_t *owner, int keyval)
{
    attr_t **at = owner->list;
    while (*at != NULL && (*at)->keyval != keyval)
        at = &(*at)->next;
    return at;
}

/* Calls the delete function, then takes the value out: the function may look at other attributes. */
static int delete_at(const attr_owner_t *owner, attr_t **at)
{
    attr_t *attr = *at;
    const attr_key_t key = *key_of(attr->keyval); /* the function may make keys, which moves them */
    if (key.delete != NULL) {
        rt_leave();
        const int rc = owner->family->delete(key.delete, owner->object, attr->keyval, attr->value, key.extra);
        rt_enter();
        if (rc != MPI_SUCCESS)
            return err_set(rc, "the delete function of attribute key %d failed", attr->keyval);
    }
    at = place_of(owner, attr->keyval);
    *at = attr->next;
    key_of(attr->keyval)->uses--;
    free(attr);
    return MPI_SUCCESS;
}

static int put(const attr_owner_t *owner, int keyval, void *value)
{
    attr_t *attr = malloc(sizeof(*attr));
    if (attr == NULL)
        return err_set(MPI_ERR_NO_MEM, "attribute: no memory left");
    *attr = (attr_t){.next = *owner->list, .keyval = keyval, .value = value};
    *owner->list = attr;
    key_of(keyval)->uses++;
    return MPI_SUCCESS;
}

int attr_set(const attr_owner_t *owner, int keyval, void *value)
{
    int rc = check_key(owner->family, keyval);
    if (rc != MPI_SUCCESS)
        return rc;
    attr_t **at = place_of(owner, keyval);
    key_of(keyval)->uses++; /* the old value may be what keeps it */
    if (*at != NULL)
        rc = delete_at(owner, at);
    if (rc == MPI_SUCCESS)
        rc = put(owner, keyval, value);
    key_of(keyval)->uses--;
    return rc;
}

int attr_delete(const attr_owner_t *owner, int keyval)
{
    const int rc = check_key(owner->family, keyval);
    if (rc != MPI_SUCCESS)
        return rc;
    attr_t **at = place_of(owner, keyval);
    return *at != NULL ? delete_at(owner, at)
                       : err_set(MPI_ERR_KEYVAL, "attribute key %d has no value on the object", keyval);
}

int attr_get(const attr_owner_t *owner, int keyval, void **value_p, int *flag)
{
    const int rc = check_key(owner->family, keyval);
    if (rc != MPI_SUCCESS)
        return rc;
    const attr_t *attr = *place_of(owner, keyval);
    *flag = attr != NULL;
    *value_p = attr == NULL ? NULL : attr->value;
    return MPI_SUCCESS;
}

static int copy_one(const attr_owner_t *from, const attr_owner_t *to, const attr_t *attr)
{
    const attr_key_t key = *key_of(attr->keyval);
    void *value = attr->value;
    int wanted = 1;
    if (key.copy == NULL)
        return MPI_SUCCESS;
    if (key.copy != ATTR_COPY) {
        rt_leave();
        const int rc = from->family->copy(key.copy, from->object, attr->keyval, key.extra, attr->value, &value,
                                          &wanted);
        rt_enter();
        if (rc != MPI_SUCCESS)
            return err_set(rc, "the copy function of attribute key %d failed", attr->keyval);
    }
    return wanted ? put(to, attr->keyval, value) : MPI_SUCCESS;
}

/* The first one set is copied first, so that the order stays. */
static int copy_from(const attr_owner_t *from, const attr_owner_t *to, const attr_t *attr)
{
    if (attr == NULL)
        return MPI_SUCCESS;
    const int rc = copy_from(from, to, attr->next);
    return rc != MPI_SUCCESS ? rc : copy_one(from, to, attr);
}

int attr_copy_all(const attr_owner_t *from, const attr_owner_t *to)
{
    return copy_from(from, to, *from->list);
}

int attr_delete_list(const attr_owner_t *owner)
{
    int rc = MPI_SUCCESS;
    while (*owner->list != NULL && rc == MPI_SUCCESS)
        rc = delete_at(owner, owner->list);
    return rc;
}
