/* SPDX-License-Identifier: Apache-2.0
 * mget.c - many items: read one-sided where that is possible; the others come by one request for each server, all at the same
 * time. fetch.c hands the items to the program, in the order of their keys. */
#include <stdlib.h>
#include <string.h>

#include "compat/compat.h"

#define READ_BYTES (64u << 10) /* larger values are not read one-sided */

/* Of one call. Arrays by server have an entry for each server of the handle; index has the keys that are asked for, by server. */
typedef struct many {
    memcached_st *ptr;
    vmc_key_t *keys; /* with their prefix */
    char *joined;    /* the bytes of keys that have a prefix */
    size_t prefix, count;
    memcached_instance_st **servers; /* of each key; NULL: read already, or the server is left alone */
    rc_t *ready;                     /* by server: MEMCACHED_MAXIMUM_RETURN: not looked at */
    uint32_t *counts, *index;
    vmc_req_t *reqs;
    bool no_memory;
} many_t;

/* ------------------------------------------------------------------------------------------------- items */

/* The key, and behind it the value that is there already, or is copied there. */
static void keep(many_t *many, size_t i, const void *value, const vmc_value_t *what)
{
    arena_t *arena = &many->ptr->error_messages->arena;
    const vmc_key_t *key = &many->keys[i];
    size_t length = key->length - many->prefix;
    bool has_cas = many->ptr->flags.support_cas ||
                   many->ptr->flags.binary_protocol; /* now: php resets it before it fetches */
    char *at = arena_reserve(arena, length + what->length);
    if (at == NULL) {
        many->no_memory = true;
        return;
    }
    memcpy(at, key->bytes + many->prefix, length);
    if (value != NULL && what->length > 0)
        memcpy(at + length, value, what->length);
    many->ptr->error_messages->found[i] = (found_t){.present = true,
                                                    .key_length = (uint8_t)length,
                                                    .flags = what->flags,
                                                    .cas = has_cas ? what->cas : 0,
                                                    .at = arena->used,
                                                    .length = what->length};
    arena->used += length + what->length;
}

/* vmc_found_t */
static void take_found(void *arg, size_t index, const void *bytes, const vmc_value_t *value)
{
    keep(arg, index, bytes, value);
}

/* One-sided, to the place in the arena where the value is to lie. */
static bool read_item(many_t *many, size_t i, mc_server_t *server)
{
    arena_t *arena = &many->ptr->error_messages->arena;
    const vmc_key_t *key = &many->keys[i];
    vmc_req_t req;
    if (!onesided_reads(server))
        return false;
    char *at = arena_reserve(arena, KEY_MAX + READ_BYTES);
    if (at == NULL)
        return false;
    ask_t ask = {.kind = CALL_GET,
                 .key = key->bytes,
                 .key_bytes = key->length,
                 .buffer = at + key->length - many->prefix,
                 .capacity = READ_BYTES};
    if (!onesided_get_at(server, &ask, &req) || req.status != VMC_OK)
        return false;
    keep(many, i, NULL, &(vmc_value_t){.length = req.length, .flags = req.flags, .cas = req.cas});
    return true;
}

/* ------------------------------------------------------------------------------------------------ memory */

static bool join_keys(many_t *many, KEYS)
{
    const prefix_t *prefix = many->ptr->_namespace;
    char *at;
    many->prefix = prefix == NULL ? 0 : prefix->length;
    many->joined = many->prefix == 0 ? NULL : malloc(number_of_keys * KEY_MAX);
    at = many->joined;
    if (many->prefix > 0 && at == NULL)
        return false;
    for (size_t i = 0; i < number_of_keys; i++) {
        many->keys[i] = (vmc_key_t){keys[i], key_length[i]};
        if (many->prefix == 0)
            continue;
        size_t length = key_join(many->ptr, keys[i], key_length[i], at);
        many->keys[i] = (vmc_key_t){at, length};
        at += length;
    }
    return true;
}

static bool reserve(many_t *many, KEYS)
{
    uint32_t hosts = many->ptr->number_of_hosts;
    handle_t *handle = many->ptr->error_messages;
    many->count = number_of_keys;
    many->keys = calloc(number_of_keys, sizeof(*many->keys));
    many->servers = calloc(number_of_keys, sizeof(memcached_instance_st *));
    many->index = calloc(number_of_keys, sizeof(*many->index));
    many->ready = calloc(hosts, sizeof(*many->ready));
    many->counts = calloc(hosts, sizeof(*many->counts));
    many->reqs = calloc(hosts, sizeof(*many->reqs));
    handle->found = calloc(number_of_keys, sizeof(*handle->found));
    if (many->keys == NULL || many->servers == NULL || many->index == NULL || many->ready == NULL ||
        many->counts == NULL || many->reqs == NULL || handle->found == NULL)
        return false;
    handle->found_count = number_of_keys;
    for (uint32_t i = 0; i < hosts; i++)
        many->ready[i] = MEMCACHED_MAXIMUM_RETURN;
    return join_keys(many, keys, key_length, number_of_keys);
}

static void release(many_t *many)
{
    free(many->keys);
    free(many->servers);
    free(many->index);
    free(many->ready);
    free(many->counts);
    free(many->reqs);
    free(many->joined);
}

/* ---------------------------------------------------------------------------------------------- requests */

/* Chooses the server of each key and reads what can be read. */
static void choose(many_t *many, GROUP, KEYS)
{
    bool grouped = group_key != NULL && group_key_length > 0;
    memcached_instance_st *first = many->ptr->servers;
    for (size_t i = 0; i < number_of_keys; i++) {
        memcached_instance_st *server = place_of(many->ptr, grouped ? group_key : keys[i],
                                                 grouped ? group_key_length : key_length[i]);
        rc_t *ready = &many->ready[server - first];
        if (*ready == MEMCACHED_MAXIMUM_RETURN)
            *ready = reach_ready(server);
        if (*ready != MEMCACHED_SUCCESS || read_item(many, i, reach_server(server)))
            continue;
        many->servers[i] = server;
        many->counts[server - first]++;
    }
}

/* One request for each server that has keys left. */
static void ask_servers(many_t *many)
{
    memcached_st *ptr = many->ptr;
    handle_t *handle = ptr->error_messages;
    uint32_t *index = many->index;
    for (uint32_t s = 0; s < ptr->number_of_hosts; s++) {
        uint32_t count = 0;
        if (many->counts[s] == 0)
            continue;
        for (size_t i = 0; i < many->count; i++)
            if (many->servers[i] == &ptr->servers[s])
                index[count++] = (uint32_t)i;
        key_list_t list = {.keys = many->keys, .index = index, .count = count, .found = take_found, .arg = many};
        if (call_start_list(handle->mc, reach_server(&ptr->servers[s]), &list, &many->reqs[s]) == NULL)
            many->reqs[s].status = VMC_ERR_NO_MEMORY;
        index += count;
    }
}

static void wait_servers(many_t *many)
{
    memcached_st *ptr = many->ptr;
    handle_t *handle = ptr->error_messages;
    for (uint32_t s = 0; s < ptr->number_of_hosts; s++) {
        if (many->counts[s] == 0)
            continue;
        vmc_status_t status = many->reqs[s].status;
        if (status == VMC_INPROGRESS)
            status = vmc_wait(handle->mc, &many->reqs[s], reach_limit(&ptr->servers[s]));
        many->ready[s] = reach_result(&ptr->servers[s], status);
    }
}

/* What the call answers; failures of single servers are told by the fetch after the last item. */
static rc_t sum_up(many_t *many)
{
    memcached_st *ptr = many->ptr;
    rc_t failed = MEMCACHED_SUCCESS;
    bool answered = false;
    for (uint32_t s = 0; s < ptr->number_of_hosts; s++) {
        rc_t rc = many->ready[s];
        if (rc == MEMCACHED_MAXIMUM_RETURN)
            continue;
        answered = answered || rc == MEMCACHED_SUCCESS || rc == MEMCACHED_TIMEOUT;
        if (rc != MEMCACHED_SUCCESS)
            failed = rc;
    }
    if (failed != MEMCACHED_SUCCESS)
        ptr->error_messages->fetch_end = failed;
    if (many->no_memory)
        return fail(ptr, MEMCACHED_MEMORY_ALLOCATION_FAILURE, NULL);
    if (!answered)
        return failed;
    ptr->error_messages->failure.rc = MEMCACHED_SUCCESS;
    return MEMCACHED_SUCCESS;
}

static rc_t run(many_t *many, GROUP, KEYS)
{
    memcached_st *ptr = many->ptr;
    if (!reserve(many, keys, key_length, number_of_keys))
        return fail(ptr, MEMCACHED_MEMORY_ALLOCATION_FAILURE, NULL);
    vmc_t *mc = reach_open(ptr);
    if (mc == NULL)
        return ptr->error_messages->failure.rc;
    handle_check(mc);
    choose(many, group_key, group_key_length, keys, key_length, number_of_keys);
    ask_servers(many);
    wait_servers(many);
    return sum_up(many);
}

rc_t memcached_mget_by_key(memcached_st *ptr, GROUP, KEYS)
{
    many_t many = {.ptr = ptr};
    rc_t rc = call_begin(ptr);
    if (rc == MEMCACHED_SUCCESS)
        rc = keys_check(ptr, keys, key_length, number_of_keys);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    if (number_of_keys > UINT32_MAX / 2)
        return fail(ptr, MEMCACHED_INVALID_ARGUMENTS, "too many keys");
    pending_finish(ptr);
    found_drop(ptr);
    rc = run(&many, group_key, group_key_length, keys, key_length, number_of_keys);
    release(&many);
    return rc;
}

rc_t memcached_mget(memcached_st *ptr, KEYS)
{
    return memcached_mget_by_key(ptr, NULL, 0, keys, key_length, number_of_keys);
}

/* All items are here when it returns: memcached_fetch_execute hands them to the callbacks. */
rc_t memcached_mget_execute_by_key(memcached_st *ptr, GROUP, KEYS, CALLBACKS)
{
    (void)callback;
    (void)context;
    (void)number_of_callbacks;
    if (ptr != NULL && ptr->error_messages != NULL && !ptr->flags.binary_protocol)
        return fail(ptr, MEMCACHED_NOT_SUPPORTED,
                    "ASCII protocol is not supported for memcached_mget_execute_by_key()");
    return memcached_mget_by_key(ptr, group_key, group_key_length, keys, key_length, number_of_keys);
}

rc_t memcached_mget_execute(memcached_st *ptr, KEYS, CALLBACKS)
{
    return memcached_mget_execute_by_key(ptr, NULL, 0, keys, key_length, number_of_keys, callback, context,
                                         number_of_callbacks);
}
