/* SPDX-License-Identifier: Apache-2.0
 * number.c - increment and decrement. */
#include <inttypes.h>
#include <stdio.h>

#include "compat/compat.h"

#define TRIES 8 /* of an initial value, while others store and delete the item */

/* What a call has beside its key. */
typedef struct delta {
    bool decrement, has_initial;
    uint64_t offset, initial;
    uint32_t expiration;
} delta_t;

static rc_t change(query_t *query, const delta_t *delta, uint64_t *value)
{
    query->ask.kind = CALL_DELTA;
    query->ask.decrement = delta->decrement;
    query->ask.number = delta->offset;
    if (!query->ptr->flags.reply)
        return query_send(query);
    rc_t rc = query_run(query);
    if (rc == MEMCACHED_SUCCESS)
        *value = query->req.number;
    return rc;
}

/* Stores the initial value where there is no item. */
static rc_t store_initial(query_t *query, const delta_t *delta, uint64_t *value)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%" PRIu64, delta->initial);
    ask_t ask = query->ask;
    query->ask.kind = CALL_PUT;
    query->ask.mode = PUT_ADD;
    query->ask.value = digits;
    query->ask.value_bytes = (size_t)length;
    query->ask.exptime = (int32_t)delta->expiration;
    query->ask.number = 0;
    rc_t rc = query_run(query);
    query->ask = ask;
    if (rc == MEMCACHED_SUCCESS)
        *value = delta->initial;
    return rc;
}

/* The answer of the item, or of the initial value. */
static rc_t change_or_store(query_t *query, const delta_t *delta, uint64_t *value)
{
    rc_t rc = MEMCACHED_NOTFOUND;
    for (int i = 0; i < TRIES; i++) {
        rc = change(query, delta, value);
        if (rc != MEMCACHED_NOTFOUND || !delta->has_initial || delta->expiration == MEMCACHED_EXPIRATION_NOT_ADD)
            return rc;
        rc = store_initial(query, delta, value);
        if (rc != MEMCACHED_NOTSTORED)
            return rc;
    }
    return rc;
}

static rc_t run(memcached_st *ptr, GROUP, KEY, const delta_t *delta, uint64_t *value)
{
    query_t query;
    uint64_t ignored;
    if (value == NULL)
        value = &ignored;
    rc_t rc = query_begin(&query, ptr, group_key, group_key_length, key, key_length);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    *value = UINT64_MAX; /* libmemcached's answer where there is none */
    if (delta->has_initial && !ptr->flags.binary_protocol)
        return fail(ptr, MEMCACHED_INVALID_ARGUMENTS,
                    "memcached_increment_with_initial_by_key() is not supported via the ASCII protocol");
    return change_or_store(&query, delta, value);
}

rc_t memcached_increment_by_key(memcached_st *ptr, GROUP, KEY, uint64_t offset, uint64_t *value)
{
    delta_t delta = {.offset = offset};
    return run(ptr, group_key, group_key_length, key, key_length, &delta, value);
}

rc_t memcached_decrement_by_key(memcached_st *ptr, GROUP, KEY, uint64_t offset, uint64_t *value)
{
    delta_t delta = {.decrement = true, .offset = offset};
    return run(ptr, group_key, group_key_length, key, key_length, &delta, value);
}

rc_t memcached_increment(memcached_st *ptr, KEY, uint32_t offset, uint64_t *value)
{
    return memcached_increment_by_key(ptr, NULL, 0, key, key_length, offset, value);
}

rc_t memcached_decrement(memcached_st *ptr, KEY, uint32_t offset, uint64_t *value)
{
    return memcached_decrement_by_key(ptr, NULL, 0, key, key_length, offset, value);
}

rc_t memcached_increment_with_initial_by_key(memcached_st *ptr, GROUP, KEY, uint64_t offset, uint64_t initial,
                                             time_t expiration, uint64_t *value)
{
    delta_t delta = {.has_initial = true, .offset = offset, .initial = initial, .expiration = (uint32_t)expiration};
    return run(ptr, group_key, group_key_length, key, key_length, &delta, value);
}

rc_t memcached_decrement_with_initial_by_key(memcached_st *ptr, GROUP, KEY, uint64_t offset, uint64_t initial,
                                             time_t expiration, uint64_t *value)
{
    delta_t delta = {.decrement = true,
                     .has_initial = true,
                     .offset = offset,
                     .initial = initial,
                     .expiration = (uint32_t)expiration};
    return run(ptr, group_key, group_key_length, key, key_length, &delta, value);
}

rc_t memcached_increment_with_initial(memcached_st *ptr, KEY, uint64_t offset, uint64_t initial, time_t expiration,
                                      uint64_t *value)
{
    return memcached_increment_with_initial_by_key(ptr, NULL, 0, key, key_length, offset, initial, expiration, value);
}

rc_t memcached_decrement_with_initial(memcached_st *ptr, KEY, uint64_t offset, uint64_t initial, time_t expiration,
                                      uint64_t *value)
{
    return memcached_decrement_with_initial_by_key(ptr, NULL, 0, key, key_length, offset, initial, expiration, value);
}
