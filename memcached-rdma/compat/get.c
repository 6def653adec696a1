/* SPDX-License-Identifier: Apache-2.0
 * get.c - one item, into memory of the program. */
#include <string.h>

#include "compat/compat.h"

#define DIRECT_BYTES (64u << 10) /* larger values go to the program's memory at once; smaller ones by the arena */
#define TRIES 16                 /* of a value that others make longer meanwhile */

/* The item, into the buffer of the question: one-sided where that is possible. */
static rc_t read_item(query_t *query)
{
    vmc_t *mc = reach_open(query->ptr);
    if (mc == NULL)
        return query->ptr->error_messages->failure.rc;
    handle_check(mc);
    if (onesided_get_at(reach_server(query->server), &query->ask, &query->req))
        return MEMCACHED_SUCCESS;
    return query_run(query);
}

static bool was_truncated(const query_t *query)
{
    return query->req.status == VMC_ERR_TRUNCATED;
}

/* A value that the arena had too little space for. */
static rc_t read_large(query_t *query, char **value_p)
{
    rc_t rc = MEMCACHED_MEMORY_ALLOCATION_FAILURE;
    for (int i = 0; i < TRIES; i++) {
        size_t length = query->req.length;
        char *value = memory_take(query->ptr, length + 1);
        if (value == NULL)
            return fail(query->ptr, MEMCACHED_MEMORY_ALLOCATION_FAILURE, NULL);
        query->ask.buffer = value;
        query->ask.capacity = length;
        rc = read_item(query);
        if (rc == MEMCACHED_SUCCESS && !was_truncated(query)) {
            value[query->req.length] = '\0';
            *value_p = value;
            return rc;
        }
        memory_give(query->ptr, value);
        if (rc != MEMCACHED_SUCCESS)
            return rc;
    }
    return fail(query->ptr, MEMCACHED_PARTIAL_READ, "the value grows faster than it is read");
}

/* An empty value is NULL with MEMCACHED_SUCCESS, as in libmemcached. */
static rc_t read_value(query_t *query, char **value_p)
{
    arena_t *arena = &query->ptr->error_messages->arena;
    *value_p = NULL;
    query->ask.kind = CALL_GET;
    query->ask.buffer = arena_reserve(arena, DIRECT_BYTES);
    query->ask.capacity = DIRECT_BYTES;
    if (query->ask.buffer == NULL)
        return fail(query->ptr, MEMCACHED_MEMORY_ALLOCATION_FAILURE, NULL);
    rc_t rc = read_item(query);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    if (was_truncated(query))
        return read_large(query, value_p);
    if (query->req.length == 0)
        return rc;
    char *value = memory_take(query->ptr, query->req.length + 1);
    if (value == NULL)
        return fail(query->ptr, MEMCACHED_MEMORY_ALLOCATION_FAILURE, NULL);
    memcpy(value, query->ask.buffer, query->req.length);
    value[query->req.length] = '\0';
    *value_p = value;
    return rc;
}

/* The next servers of the list have copies of the item. */
static rc_t read_copies(query_t *query, char **value_p)
{
    memcached_st *ptr = query->ptr;
    uint32_t others = ptr->flags.binary_protocol ? ptr->number_of_hosts - 1 : 0;
    uint32_t copies = ptr->number_of_replicas < others ? ptr->number_of_replicas : others;
    rc_t rc = read_value(query, value_p);
    for (uint32_t i = 0; i < copies && rc != MEMCACHED_SUCCESS && rc != MEMCACHED_NOTFOUND; i++) {
        uint32_t next = (uint32_t)(query->server - ptr->servers) + 1;
        query->server = &ptr->servers[next == ptr->number_of_hosts ? 0 : next];
        rc = read_value(query, value_p);
    }
    return rc;
}

/* The program has a function that makes missing items: stores and returns what it makes. */
static char *make_missing(memcached_st *ptr, KEY, size_t *length_p, uint32_t *flags_p, rc_t *rc)
{
    memcached_result_st made;
    char *value = NULL;
    (void)memcached_result_create(ptr, &made);
    rc_t did = ptr->get_key_failure(ptr, key, key_length, &made);
    if (did == MEMCACHED_SUCCESS || did == MEMCACHED_BUFFERED) {
        bool buffered = ptr->flags.buffer_requests;
        ptr->flags.buffer_requests = buffered || did == MEMCACHED_BUFFERED;
        did = memcached_set(ptr, key, key_length, memcached_result_value(&made), memcached_result_length(&made), 0,
                            memcached_result_flags(&made));
        ptr->flags.buffer_requests = buffered;
    }
    if (did == MEMCACHED_SUCCESS || did == MEMCACHED_BUFFERED) {
        *rc = did;
        *length_p = memcached_result_length(&made);
        *flags_p = memcached_result_flags(&made);
        value = memcached_result_take_value(&made);
    }
    memcached_result_free(&made);
    return value;
}

char *memcached_get_by_key(memcached_st *ptr, GROUP, KEY, size_t *value_length, uint32_t *flags, rc_t *error)
{
    query_t query;
    rc_t ignored, *rc = error == NULL ? &ignored : error;
    size_t length = 0;
    uint32_t item_flags = 0;
    char *value = NULL;
    *rc = query_begin(&query, ptr, group_key, group_key_length, key, key_length);
    if (*rc == MEMCACHED_SUCCESS) {
        pending_finish(ptr);
        found_drop(ptr);
        *rc = read_copies(&query, &value);
    }
    if (*rc == MEMCACHED_SUCCESS) {
        length = query.req.length;
        item_flags = query.req.flags;
    } else if (*rc == MEMCACHED_NOTFOUND && ptr->get_key_failure != NULL) {
        value = make_missing(ptr, key, key_length, &length, &item_flags, rc);
    }
    if (value_length != NULL)
        *value_length = length;
    if (flags != NULL && (*rc == MEMCACHED_SUCCESS || *rc == MEMCACHED_BUFFERED))
        *flags = item_flags;
    return value;
}

char *memcached_get(memcached_st *ptr, KEY, size_t *value_length, uint32_t *flags, rc_t *error)
{
    return memcached_get_by_key(ptr, NULL, 0, key, key_length, value_length, flags, error);
}
