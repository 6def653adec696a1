/* SPDX-License-Identifier: Apache-2.0
 * change.c - delete, touch, and whether there is an item. */
#include "compat/compat.h"

/* ------------------------------------------------------------------------------------------------ delete */

static rc_t check_delete(memcached_st *ptr, time_t expiration)
{
    if (expiration != 0)
        return fail(ptr, MEMCACHED_INVALID_ARGUMENTS,
                    "Memcached server version does not allow expiration of deleted items");
    if (ptr->delete_trigger != NULL && ptr->flags.buffer_requests)
        return fail(ptr, MEMCACHED_INVALID_ARGUMENTS, "Delete triggers cannot be used if buffering is enabled");
    if (ptr->delete_trigger != NULL && !ptr->flags.reply)
        return fail(ptr, MEMCACHED_INVALID_ARGUMENTS,
                    "Delete triggers cannot be used if MEMCACHED_BEHAVIOR_NOREPLY is set");
    return MEMCACHED_SUCCESS;
}

rc_t memcached_delete_by_key(memcached_st *ptr, GROUP, KEY, time_t expiration)
{
    query_t query;
    rc_t rc = query_begin(&query, ptr, group_key, group_key_length, key, key_length);
    if (rc == MEMCACHED_SUCCESS)
        rc = check_delete(ptr, expiration);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    query.ask.kind = CALL_DELETE;
    if (!ptr->flags.reply || ptr->flags.buffer_requests) {
        rc = query_send(&query);
        query_send_copies(&query);
        return rc == MEMCACHED_SUCCESS && ptr->flags.buffer_requests ? MEMCACHED_BUFFERED : rc;
    }
    rc = query_run(&query);
    query_send_copies(&query);
    if (rc == MEMCACHED_SUCCESS && ptr->delete_trigger != NULL)
        (void)ptr->delete_trigger(ptr, key, key_length);
    return rc;
}

rc_t memcached_delete(memcached_st *ptr, KEY, time_t expiration)
{
    return memcached_delete_by_key(ptr, NULL, 0, key, key_length, expiration);
}

/* ----------------------------------------------------------------------------------------- touch, exist */

rc_t memcached_touch_by_key(memcached_st *ptr, GROUP, KEY, time_t expiration)
{
    query_t query;
    rc_t rc = query_begin(&query, ptr, group_key, group_key_length, key, key_length);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    query.ask.kind = CALL_TOUCH;
    query.ask.exptime = query_exptime(expiration);
    return query_run(&query);
}

rc_t memcached_touch(memcached_st *ptr, KEY, time_t expiration)
{
    return memcached_touch_by_key(ptr, NULL, 0, key, key_length, expiration);
}

/* A get into no memory: the value does not travel where the item is read one-sided. */
rc_t memcached_exist_by_key(memcached_st *ptr, GROUP, KEY)
{
    query_t query;
    rc_t rc = query_begin(&query, ptr, group_key, group_key_length, key, key_length);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    query.ask.kind = CALL_GET;
    return query_run(&query);
}

rc_t memcached_exist(memcached_st *ptr, KEY)
{
    return memcached_exist_by_key(ptr, NULL, 0, key, key_length);
}
