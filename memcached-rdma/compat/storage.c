/* SPDX-License-Identifier: Apache-2.0
 * storage.c - set and its kind. */
#include "compat/compat.h"

/* The text protocol says NOT_STORED where the binary one names the reason. */
static rc_t reason(const query_t *query, rc_t rc)
{
    if (rc != MEMCACHED_NOTSTORED || !query->ptr->flags.binary_protocol)
        return rc;
    if (query->ask.mode == PUT_ADD)
        return MEMCACHED_DATA_EXISTS;
    return query->ask.mode == PUT_REPLACE ? MEMCACHED_NOTFOUND : rc;
}

static rc_t store(memcached_st *ptr, put_mode_t mode, GROUP, KEY, VALUE, uint64_t cas)
{
    query_t query;
    rc_t rc = query_begin(&query, ptr, group_key, group_key_length, key, key_length);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    bool buffered = ptr->flags.buffer_requests && mode == PUT_SET;
    query.ask.kind = CALL_PUT;
    query.ask.mode = mode;
    query.ask.value = value;
    query.ask.value_bytes = value_length;
    query.ask.exptime = query_exptime(expiration);
    query.ask.flags = flags;
    query.ask.number = cas;
    if (!ptr->flags.reply || buffered)
        rc = query_send(&query);
    else
        rc = reason(&query, query_run(&query));
    if (mode == PUT_SET)
        query_send_copies(&query);
    return rc == MEMCACHED_SUCCESS && buffered && ptr->flags.reply ? MEMCACHED_BUFFERED : rc;
}

rc_t memcached_set(memcached_st *ptr, KEY, VALUE)
{
    return store(ptr, PUT_SET, NULL, 0, key, key_length, value, value_length, expiration, flags, 0);
}

rc_t memcached_set_by_key(memcached_st *ptr, GROUP, KEY, VALUE)
{
    return store(ptr, PUT_SET, group_key, group_key_length, key, key_length, value, value_length, expiration, flags, 0);
}

rc_t memcached_add(memcached_st *ptr, KEY, VALUE)
{
    return store(ptr, PUT_ADD, NULL, 0, key, key_length, value, value_length, expiration, flags, 0);
}

rc_t memcached_add_by_key(memcached_st *ptr, GROUP, KEY, VALUE)
{
    return store(ptr, PUT_ADD, group_key, group_key_length, key, key_length, value, value_length, expiration, flags, 0);
}

rc_t memcached_replace(memcached_st *ptr, KEY, VALUE)
{
    return store(ptr, PUT_REPLACE, NULL, 0, key, key_length, value, value_length, expiration, flags, 0);
}

rc_t memcached_replace_by_key(memcached_st *ptr, GROUP, KEY, VALUE)
{
    return store(ptr, PUT_REPLACE, group_key, group_key_length, key, key_length, value, value_length, expiration, flags,
                 0);
}

rc_t memcached_append(memcached_st *ptr, KEY, VALUE)
{
    return store(ptr, PUT_APPEND, NULL, 0, key, key_length, value, value_length, expiration, flags, 0);
}

rc_t memcached_append_by_key(memcached_st *ptr, GROUP, KEY, VALUE)
{
    return store(ptr, PUT_APPEND, group_key, group_key_length, key, key_length, value, value_length, expiration, flags,
                 0);
}

rc_t memcached_prepend(memcached_st *ptr, KEY, VALUE)
{
    return store(ptr, PUT_PREPEND, NULL, 0, key, key_length, value, value_length, expiration, flags, 0);
}

rc_t memcached_prepend_by_key(memcached_st *ptr, GROUP, KEY, VALUE)
{
    return store(ptr, PUT_PREPEND, group_key, group_key_length, key, key_length, value, value_length, expiration, flags,
                 0);
}

rc_t memcached_cas(memcached_st *ptr, KEY, VALUE, uint64_t cas)
{
    return store(ptr, PUT_CAS, NULL, 0, key, key_length, value, value_length, expiration, flags, cas);
}

rc_t memcached_cas_by_key(memcached_st *ptr, GROUP, KEY, VALUE, uint64_t cas)
{
    return store(ptr, PUT_CAS, group_key, group_key_length, key, key_length, value, value_length, expiration, flags,
                 cas);
}
