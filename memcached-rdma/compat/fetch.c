/* SPDX-License-Identifier: Apache-2.0
 * fetch.c - hands the items of the last mget to the program. */
#include <string.h>

#include "compat/compat.h"

static const found_t *next_item(handle_t *handle)
{
    while (handle->found_next < handle->found_count) {
        const found_t *found = &handle->found[handle->found_next++];
        if (found->present)
            return found;
    }
    return NULL;
}

/* What the fetch after the last item answers: a failed server, the end of items, or that there were none. */
static rc_t end_of_items(memcached_st *ptr, memcached_result_st *result)
{
    handle_t *handle = ptr->error_messages;
    rc_t rc = result->count > 0 ? MEMCACHED_END : MEMCACHED_NOTFOUND;
    if (handle->fetch_end != MEMCACHED_NOTFOUND)
        rc = fail(ptr, handle->fetch_end, "a server has not answered");
    handle->fetch_end = MEMCACHED_NOTFOUND;
    if (result->options.is_allocated) {
        memcached_result_free(result);
    } else {
        memcached_result_reset(result);
        result->count = 0;
    }
    return rc;
}

static rc_t fill(const handle_t *handle, const found_t *found, memcached_result_st *result)
{
    const char *bytes = handle->arena.bytes + found->at;
    memcached_result_reset(result);
    memcpy(result->item_key, bytes, found->key_length);
    result->item_key[found->key_length] = '\0';
    result->key_length = found->key_length;
    result->item_flags = found->flags;
    result->item_cas = found->cas;
    result->count++;
    return string_assign(&result->value, bytes + found->key_length, found->length);
}

memcached_result_st *memcached_fetch_result(memcached_st *ptr, memcached_result_st *result, rc_t *error)
{
    rc_t ignored, *rc = error == NULL ? &ignored : error;
    *rc = MEMCACHED_INVALID_ARGUMENTS;
    if (ptr == NULL || ptr->error_messages == NULL)
        return NULL;
    if (result == NULL)
        result = memcached_result_create(ptr, NULL);
    *rc = MEMCACHED_MEMORY_ALLOCATION_FAILURE;
    if (result == NULL)
        return NULL;
    const found_t *found = next_item(ptr->error_messages);
    if (found == NULL) {
        *rc = end_of_items(ptr, result);
        return NULL;
    }
    *rc = fill(ptr->error_messages, found, result);
    return result;
}

char *memcached_fetch(memcached_st *ptr, char *key, size_t *key_length, size_t *value_length, uint32_t *flags,
                      rc_t *error)
{
    rc_t ignored, *rc = error == NULL ? &ignored : error;
    memcached_result_st *result = NULL;
    *rc = MEMCACHED_INVALID_ARGUMENTS;
    if (ptr != NULL)
        result = memcached_fetch_result(ptr, &ptr->result, rc);
    if (result != NULL && *rc != MEMCACHED_SUCCESS)
        result = NULL;
    if (value_length != NULL)
        *value_length = result == NULL ? 0 : memcached_result_length(result);
    if (key_length != NULL)
        *key_length = result == NULL ? 0 : result->key_length;
    if (flags != NULL)
        *flags = result == NULL ? 0 : result->item_flags;
    if (result == NULL) {
        if (key != NULL)
            *key = '\0';
        return NULL;
    }
    if (key != NULL)
        memcpy(key, result->item_key, result->key_length);
    return memcached_result_take_value(result);
}

rc_t memcached_fetch_execute(memcached_st *ptr, CALLBACKS)
{
    rc_t rc;
    bool errors = false;
    if (ptr == NULL || ptr->error_messages == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    for (;;) {
        memcached_result_st *result = memcached_fetch_result(ptr, &ptr->result, &rc);
        if (result == NULL)
            break;
        for (uint32_t i = 0; i < number_of_callbacks; i++) {
            rc_t did = callback[i](ptr, result, context);
            if (did != MEMCACHED_SUCCESS && did != MEMCACHED_BUFFERED) {
                errors = true;
                (void)fail(ptr, did, "a callback failed");
                break;
            }
        }
    }
    if (errors)
        return MEMCACHED_SOME_ERRORS;
    return rc == MEMCACHED_END ? MEMCACHED_SUCCESS : rc;
}
