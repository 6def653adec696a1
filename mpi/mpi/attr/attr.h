/* SPDX-License-Identifier: Apache-2.0
 * attr.h - attributes: values that programs and libraries hang on objects, each under a key. Keys belong to a family,
 * that is to a kind of objects, whose functions have argument types of their own.
 */
#ifndef VERBENA_MPI_ATTR_H
#define VERBENA_MPI_ATTR_H

/* One value; the list of an object is in the order in which they were set, the last one first. */
typedef struct attr {
    struct attr *next;
    int keyval;
    void *value;
} attr_t;

/* Any function; it is called only as what it is, by its family. */
typedef void (*attr_function_t)(void);

typedef struct attr_family {
    int (*copy)(attr_function_t function, const void *object, int keyval, void *extra, void *value, void *value_out,
                int *flag);
    int (*delete)(attr_function_t function, const void *object, int keyval, void *value, void *extra);
} attr_family_t;

/* An object with its list. */
typedef struct attr_owner {
    const attr_family_t *family;
    const void *object;
    attr_t **list;
} attr_owner_t;

/* copy: NULL copies nothing, ATTR_COPY every value; delete: NULL does nothing. */
#define ATTR_COPY ((attr_function_t)1)
int attr_key_create(const attr_family_t *family, attr_function_t copy, attr_function_t delete, void *extra,
                    int *keyval);
int attr_key_free(const attr_family_t *family, int *keyval);
/* Calls this with the key's extra once neither the program nor a value uses the key; it must not call MPI. */
int attr_key_at_end(int keyval, void (*destroy)(void *extra));

int attr_set(const attr_owner_t *owner, int keyval, void *value);
int attr_get(const attr_owner_t *owner, int keyval, void **value_p, int *flag);
int attr_delete(const attr_owner_t *owner, int keyval);
/* Copies what the keys' copy functions let through; the first that fails ends it with its code. */
int attr_copy_all(const attr_owner_t *from, const attr_owner_t *to);
/* Deletes all, the last one set first. A delete function that fails ends it with its code. */
int attr_delete_list(const attr_owner_t *owner);

#endif
