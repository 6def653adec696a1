/* SPDX-License-Identifier: Apache-2.0
 * key.c - keys and the prefix in front of them. */
#include <stdlib.h>
#include <string.h>

#include "compat/compat.h"

#define TEXT_INVALID "Key provided had invalid character."
#define TEXT_LENGTH "Key provided was too long."

static rc_t check(memcached_st *ptr, KEY)
{
    size_t prefix = ptr->_namespace == NULL ? 0 : ptr->_namespace->length;
    if (key == NULL || key_length == 0 || key_length >= MEMCACHED_MAX_KEY || prefix + key_length > KEY_MAX)
        return fail(ptr, MEMCACHED_BAD_KEY_PROVIDED, TEXT_LENGTH);
    if (message_key_valid(key, key_length))
        return MEMCACHED_SUCCESS;
    if (ptr->flags.verify_key)
        return fail(ptr, MEMCACHED_BAD_KEY_PROVIDED, TEXT_INVALID);
    return prefix + key_length <= KEY_ANY_MAX ? MEMCACHED_SUCCESS : fail(ptr, MEMCACHED_BAD_KEY_PROVIDED, TEXT_LENGTH);
}

rc_t keys_check(memcached_st *ptr, KEYS)
{
    if (number_of_keys == 0)
        return fail(ptr, MEMCACHED_INVALID_ARGUMENTS, "Numbers of keys provided was zero");
    if (keys == NULL || key_length == NULL)
        return fail(ptr, MEMCACHED_BAD_KEY_PROVIDED, "Key was NULL or length of key was zero.");
    for (size_t i = 0; i < number_of_keys; i++) {
        rc_t rc = check(ptr, keys[i], key_length[i]);
        if (rc != MEMCACHED_SUCCESS)
            return rc;
    }
    return MEMCACHED_SUCCESS;
}

size_t key_join(const memcached_st *ptr, KEY, char *bytes)
{
    size_t prefix = ptr->_namespace == NULL ? 0 : ptr->_namespace->length;
    if (prefix + key_length > KEY_MAX)
        return 0;
    if (prefix > 0)
        memcpy(bytes, ptr->_namespace->bytes, prefix);
    memcpy(bytes + prefix, key, key_length);
    return prefix + key_length;
}

rc_t prefix_set(memcached_st *ptr, const char *bytes, size_t length)
{
    if (bytes == NULL) {
        free(ptr->_namespace);
        ptr->_namespace = NULL;
        return MEMCACHED_SUCCESS;
    }
    if (length == 0)
        return fail(ptr, MEMCACHED_INVALID_ARGUMENTS, "Invalid namespace, namespace string had value but length was 0");
    if (length >= MEMCACHED_MAX_KEY || !message_key_valid(bytes, length))
        return fail(ptr, MEMCACHED_BAD_KEY_PROVIDED, length >= MEMCACHED_MAX_KEY ? TEXT_LENGTH : TEXT_INVALID);
    if (length >= MEMCACHED_MAX_NAMESPACE)
        return fail(ptr, MEMCACHED_KEY_TOO_BIG, NULL);
    prefix_t *prefix = calloc(1, sizeof(*prefix));
    if (prefix == NULL)
        return fail(ptr, MEMCACHED_MEMORY_ALLOCATION_FAILURE, NULL);
    prefix->length = length;
    memcpy(prefix->bytes, bytes, length); /* calloc has made the end */
    free(ptr->_namespace);
    ptr->_namespace = prefix;
    return MEMCACHED_SUCCESS;
}
