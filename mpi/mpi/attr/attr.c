/* SPDX-License-Identifier: Apache-2.0
 * attr.c - attribute keys and values. A key lives as long as values of it exist, also when the program has freed it.
 * Functions of the program are called outside the runtime: they, and other threads meanwhile, may set and delete values of the same
 * object and free keys. So afterwards a value is looked for anew, by its key, which the call keeps.
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
    void (*destroy)(void *extra); /* NULL: nothing to do */
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

int attr_key_at_end(int keyval, void (*destroy)(void *extra))
{
    attr_key_t *key = key_of(keyval);
    if (key == NULL)
        return err_set(MPI_ERR_KEYVAL, "%d is no attribute key", keyval);
    key->destroy = destroy;
    return MPI_SUCCESS;
}

static void release_key(int keyval)
{
    attr_key_t *key = key_of(keyval);
    if (--key->uses == 0 && key->destroy != NULL)
        key->destroy(key->extra);
}

int attr_key_free(const attr_family_t *family, int *keyval)
{
    const int rc = check_key(family, *keyval);
    if (rc != MPI_SUCCESS)
        return rc;
    if (key_of(*keyval)->freed)
        return err_set(MPI_ERR_KEYVAL, "attribute key %d was freed before", *keyval);
    key_of(*keyval)->freed = 1;
    release_key(*keyval);
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

static int call_delete(const attr_owner_t *owner, const attr_t *attr)
{
    const int keyval = attr->keyval;
    void *const value = attr->value;
    const attr_key_t key = *key_of(keyval); /* the function may make keys, which moves them */
    if (key.delete == NULL)
        return MPI_SUCCESS;
    key_of(keyval)->uses++;
    rt_leave();
    const int rc = owner->family->delete(key.delete, owner->object, keyval, value, key.extra);
    rt_enter();
    release_key(keyval);
    return rc == MPI_SUCCESS ? rc : err_set(rc, "the delete function of attribute key %d failed", keyval);
}

/* Calls the delete function, then takes the value out: the function may look at other attributes. */
static int delete_at(const attr_owner_t *owner, attr_t **at)
{
    const int keyval = (*at)->keyval;
    const int rc = call_delete(owner, *at);
    if (rc != MPI_SUCCESS)
        return rc;
    at = place_of(owner, keyval);
    attr_t *attr = *at;
    if (attr == NULL) /* another call has taken it out */
        return MPI_SUCCESS;
    *at = attr->next;
    release_key(keyval);
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
    release_key(keyval);
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

static int copy_by_program(const attr_owner_t *from, const attr_owner_t *to, const attr_key_t *key, const attr_t *attr)
{
    const int keyval = attr->keyval;
    void *const value = attr->value;
    void *copy = value;
    int wanted = 1;
    key_of(keyval)->uses++;
    rt_leave();
    int rc = from->family->copy(key->copy, from->object, keyval, key->extra, value, &copy, &wanted);
    rt_enter();
    if (rc != MPI_SUCCESS)
        (void)err_set(rc, "the copy function of attribute key %d failed", keyval);
    else if (wanted)
        rc = put(to, keyval, copy);
    release_key(keyval);
    return rc;
}

static int copy_one(const attr_owner_t *from, const attr_owner_t *to, const attr_t *attr)
{
    const attr_key_t key = *key_of(attr->keyval);
    if (key.copy == NULL)
        return MPI_SUCCESS;
    return key.copy == ATTR_COPY ? put(to, attr->keyval, attr->value) : copy_by_program(from, to, &key, attr);
}

/* The first one set is copied first, so that the order stays. */
int attr_copy_all(const attr_owner_t *from, const attr_owner_t *to)
{
    size_t count = 0;
    for (const attr_t *attr = *from->list; attr != NULL; attr = attr->next)
        count++;
    int *keyvals = malloc((count + 1) * sizeof(*keyvals));
    if (keyvals == NULL)
        return err_set(MPI_ERR_NO_MEM, "copies of %zu attributes: no memory left", count);
    size_t at = count;
    for (const attr_t *attr = *from->list; attr != NULL; attr = attr->next)
        keyvals[--at] = attr->keyval;
    int rc = MPI_SUCCESS;
    for (; at < count && rc == MPI_SUCCESS; at++) {
        const attr_t *attr = *place_of(from, keyvals[at]);
        rc = attr == NULL ? MPI_SUCCESS : copy_one(from, to, attr);
    }
    free(keyvals);
    return rc;
}

int attr_delete_list(const attr_owner_t *owner)
{
    int rc = MPI_SUCCESS;
    while (*owner->list != NULL && rc == MPI_SUCCESS)
        rc = delete_at(owner, owner->list);
    return rc;
}
