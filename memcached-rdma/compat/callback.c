/* SPDX-License-Identifier: Apache-2.0
 * callback.c - the prefix of keys, the program's data, and its functions. */
#include <string.h>

#include "compat/compat.h"

/* A function comes as a pointer to data: libmemcached's interface is older than the rule against it. */
#define SET_FUNCTION(member, data) memcpy(&(member), &(data), sizeof(member))

static rc_t check_delete_trigger(memcached_st *ptr, const void *data)
{
    if (data != NULL && ptr->flags.buffer_requests)
        return fail(ptr, MEMCACHED_INVALID_ARGUMENTS, "Delete triggers cannot be used if buffering is enabled");
    if (data != NULL && !ptr->flags.reply)
        return fail(ptr, MEMCACHED_INVALID_ARGUMENTS,
                    "Delete triggers cannot be used if MEMCACHED_BEHAVIOR_NOREPLY is set");
    return MEMCACHED_SUCCESS;
}

rc_t memcached_callback_set(memcached_st *ptr, const memcached_callback_t flag, const void *data)
{
    rc_t rc = MEMCACHED_SUCCESS;
    if (ptr == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    switch (flag) {
    case MEMCACHED_CALLBACK_PREFIX_KEY: return prefix_set(ptr, data, data == NULL ? 0 : strlen(data));
    case MEMCACHED_CALLBACK_USER_DATA: ptr->user_data = (void *)(uintptr_t)data; break;
    case MEMCACHED_CALLBACK_CLEANUP_FUNCTION: SET_FUNCTION(ptr->on_cleanup, data); break;
    case MEMCACHED_CALLBACK_CLONE_FUNCTION: SET_FUNCTION(ptr->on_clone, data); break;
    case MEMCACHED_CALLBACK_GET_FAILURE: SET_FUNCTION(ptr->get_key_failure, data); break;
    case MEMCACHED_CALLBACK_DELETE_TRIGGER:
        rc = check_delete_trigger(ptr, data);
        if (rc == MEMCACHED_SUCCESS)
            SET_FUNCTION(ptr->delete_trigger, data);
        break;
    default: return fail(ptr, MEMCACHED_INVALID_ARGUMENTS, "Invalid callback supplied");
    }
    return rc;
}

static void *get(const memcached_st *ptr, memcached_callback_t flag)
{
    void *data = NULL;
    switch (flag) {
    case MEMCACHED_CALLBACK_PREFIX_KEY: return ptr->_namespace == NULL ? NULL : ptr->_namespace->bytes;
    case MEMCACHED_CALLBACK_USER_DATA: return ptr->user_data;
    case MEMCACHED_CALLBACK_CLEANUP_FUNCTION: memcpy(&data, &ptr->on_cleanup, sizeof(data)); break;
    case MEMCACHED_CALLBACK_CLONE_FUNCTION: memcpy(&data, &ptr->on_clone, sizeof(data)); break;
    case MEMCACHED_CALLBACK_GET_FAILURE: memcpy(&data, &ptr->get_key_failure, sizeof(data)); break;
    case MEMCACHED_CALLBACK_DELETE_TRIGGER: memcpy(&data, &ptr->delete_trigger, sizeof(data)); break;
    default: break;
    }
    return data;
}

void *memcached_callback_get(memcached_st *ptr, const memcached_callback_t flag, rc_t *error)
{
    rc_t ignored, *rc = error == NULL ? &ignored : error;
    *rc = MEMCACHED_INVALID_ARGUMENTS;
    if (ptr == NULL)
        return NULL;
    void *data = get(ptr, flag);
    *rc = data != NULL || flag == MEMCACHED_CALLBACK_PREFIX_KEY ? MEMCACHED_SUCCESS : MEMCACHED_FAILURE;
    return data;
}
