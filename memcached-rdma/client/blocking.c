/* SPDX-License-Identifier: Apache-2.0
 * blocking.c - the calls of the API: each is one request and, where it blocks, the wait for it. */
#include <stdlib.h>
#include <string.h>

#include "client/mc.h"

static vmc_status_t run(vmc_t *mc, const ask_t *ask, vmc_req_t *req)
{
    vmc_status_t status = call_start(mc, ask, req, false);
    return status == VMC_INPROGRESS ? vmc_wait(mc, req, mc->timeout_ns) : status;
}

/* --------------------------------------------------------------------------------------------- get */

static vmc_status_t get(vmc_t *mc, ask_t *ask, void *buffer, size_t capacity, vmc_value_t *value)
{
    vmc_req_t req;
    ask->kind = CALL_GET;
    ask->buffer = buffer;
    ask->capacity = capacity;
    handle_check(mc);
    vmc_status_t status = onesided_get(mc, ask, &req) ? req.status : run(mc, ask, &req);
    if (value != NULL)
        *value = (vmc_value_t){.length = req.length, .flags = req.flags, .cas = req.cas};
    return status;
}

vmc_status_t vmc_get(vmc_t *mc, const char *key, size_t key_length, void *buffer, size_t capacity, vmc_value_t *value)
{
    ask_t ask = {.key = key, .key_bytes = key_length};
    return get(mc, &ask, buffer, capacity, value);
}

vmc_status_t vmc_gat(vmc_t *mc, const char *key, size_t key_length, int32_t exptime, void *buffer, size_t capacity,
                     vmc_value_t *value)
{
    ask_t ask = {.key = key, .key_bytes = key_length, .touch = true, .exptime = exptime};
    return get(mc, &ask, buffer, capacity, value);
}

vmc_status_t vmc_iget(vmc_t *mc, const char *key, size_t key_length, void *buffer, size_t capacity, vmc_req_t *req)
{
    ask_t ask = {.kind = CALL_GET, .key = key, .key_bytes = key_length, .buffer = buffer, .capacity = capacity};
    handle_check(mc);
    return onesided_get(mc, &ask, req) ? req->status : call_start(mc, &ask, req, false);
}

vmc_status_t vmc_bget(vmc_t *mc, const char *key, size_t key_length, void *buffer, size_t capacity, vmc_req_t *req)
{
    return vmc_iget(mc, key, key_length, buffer, capacity, req); /* a call has its own copy of the key */
}

/* --------------------------------------------------------------------------------------------- put */

static ask_t put_ask(put_mode_t mode, const char *key, size_t key_length, const void *value, size_t length,
                     int32_t exptime, uint32_t flags)
{
    return (ask_t){.kind = CALL_PUT,
                   .mode = mode,
                   .key = key,
                   .key_bytes = key_length,
                   .value = value,
                   .value_bytes = length,
                   .exptime = exptime,
                   .flags = flags};
}

static vmc_status_t put(vmc_t *mc, put_mode_t mode, vmc_key_t key, const void *value, size_t length, int32_t exptime,
                        uint32_t flags)
{
    ask_t ask = put_ask(mode, key.bytes, key.length, value, length, exptime, flags);
    vmc_req_t req;
    return run(mc, &ask, &req);
}

vmc_status_t vmc_set(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length, int32_t exptime,
                     uint32_t flags)
{
    return put(mc, PUT_SET, (vmc_key_t){key, key_length}, value, length, exptime, flags);
}

vmc_status_t vmc_set_pinned(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length,
                            int32_t exptime, uint32_t flags)
{
    ask_t ask = put_ask(PUT_SET, key, key_length, value, length, exptime, flags);
    vmc_req_t req;
    ask.pinned = true;
    return run(mc, &ask, &req);
}

vmc_status_t vmc_add(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length, int32_t exptime,
                     uint32_t flags)
{
    return put(mc, PUT_ADD, (vmc_key_t){key, key_length}, value, length, exptime, flags);
}

vmc_status_t vmc_replace(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length,
                         int32_t exptime, uint32_t flags)
{
    return put(mc, PUT_REPLACE, (vmc_key_t){key, key_length}, value, length, exptime, flags);
}

vmc_status_t vmc_append(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length)
{
    return put(mc, PUT_APPEND, (vmc_key_t){key, key_length}, value, length, 0, 0);
}

vmc_status_t vmc_prepend(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length)
{
    return put(mc, PUT_PREPEND, (vmc_key_t){key, key_length}, value, length, 0, 0);
}

vmc_status_t vmc_cas(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length, int32_t exptime,
                     uint32_t flags, uint64_t cas)
{
    ask_t ask = put_ask(PUT_CAS, key, key_length, value, length, exptime, flags);
    vmc_req_t req;
    ask.number = cas;
    return run(mc, &ask, &req);
}

vmc_status_t vmc_iset(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length, int32_t exptime,
                      uint32_t flags, vmc_req_t *req)
{
    ask_t ask = put_ask(PUT_SET, key, key_length, value, length, exptime, flags);
    return call_start(mc, &ask, req, false);
}

vmc_status_t vmc_iset_pinned(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length,
                             int32_t exptime, uint32_t flags, vmc_req_t *req)
{
    ask_t ask = put_ask(PUT_SET, key, key_length, value, length, exptime, flags);
    ask.pinned = true;
    return call_start(mc, &ask, req, false);
}

vmc_status_t vmc_bset(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length, int32_t exptime,
                      uint32_t flags, vmc_req_t *req)
{
    ask_t ask = put_ask(PUT_SET, key, key_length, value, length, exptime, flags);
    vmc_status_t status = call_start(mc, &ask, req, true);
    if (status == VMC_INPROGRESS && length > CALL_COPY)
        (void)vmc_wait(mc, req, mc->timeout_ns); /* the server fetches it from where it is */
    return status == VMC_INPROGRESS ? req->status : status;
}

/* ------------------------------------------------------------------------------------------ others */

vmc_status_t vmc_delete(vmc_t *mc, const char *key, size_t key_length)
{
    ask_t ask = {.kind = CALL_DELETE, .key = key, .key_bytes = key_length};
    vmc_req_t req;
    return run(mc, &ask, &req);
}

vmc_status_t vmc_release(vmc_t *mc, const char *key, size_t key_length)
{
    ask_t ask = {.kind = CALL_DELETE, .key = key, .key_bytes = key_length, .pinned = true};
    vmc_req_t req;
    return run(mc, &ask, &req);
}

static vmc_status_t delta(vmc_t *mc, vmc_key_t key, bool decrement, uint64_t by, uint64_t *result)
{
    ask_t ask = {.kind = CALL_DELTA, .key = key.bytes, .key_bytes = key.length, .decrement = decrement, .number = by};
    vmc_req_t req;
    vmc_status_t status = run(mc, &ask, &req);
    if (status == VMC_OK && result != NULL)
        *result = req.number;
    return status;
}

vmc_status_t vmc_incr(vmc_t *mc, const char *key, size_t key_length, uint64_t by, uint64_t *result)
{
    return delta(mc, (vmc_key_t){key, key_length}, false, by, result);
}

vmc_status_t vmc_decr(vmc_t *mc, const char *key, size_t key_length, uint64_t by, uint64_t *result)
{
    return delta(mc, (vmc_key_t){key, key_length}, true, by, result);
}

vmc_status_t vmc_touch(vmc_t *mc, const char *key, size_t key_length, int32_t exptime)
{
    ask_t ask = {.kind = CALL_TOUCH, .key = key, .key_bytes = key_length, .exptime = exptime};
    vmc_req_t req;
    return run(mc, &ask, &req);
}

/* -------------------------------------------------------------------------------------------- mget */

typedef struct batch {
    vmc_req_t *reqs; /* one for each server that has keys */
    vmc_req_t **waits;
    uint32_t *index;  /* keys by server */
    uint32_t *counts; /* of each server */
} batch_t;

/* Keys sorted by server: index holds the keys of server 0, then those of server 1 and so on. */
static bool sort_keys(const vmc_t *mc, const vmc_key_t *keys, size_t count, batch_t *batch)
{
    uint32_t start = 0;
    for (size_t i = 0; i < count; i++) {
        if (!message_key_valid(keys[i].bytes, keys[i].length))
            return false;
        batch->counts[ring_find(mc, keys[i].bytes, keys[i].length) - mc->servers]++;
    }
    uint32_t *next = batch->counts + mc->server_count;
    for (unsigned i = 0; i < mc->server_count; i++) {
        next[i] = start;
        start += batch->counts[i];
    }
    for (size_t i = 0; i < count; i++)
        batch->index[next[ring_find(mc, keys[i].bytes, keys[i].length) - mc->servers]++] = (uint32_t)i;
    return true;
}

static vmc_status_t run_batch(vmc_t *mc, batch_t *batch, const key_list_t *all)
{
    vmc_status_t status = VMC_OK;
    size_t waits = 0;
    const uint32_t *index = batch->index;
    for (unsigned i = 0; i < mc->server_count; i++) {
        key_list_t list = *all;
        list.index = index;
        list.count = batch->counts[i];
        index += list.count;
        if (list.count > 0 && call_start_list(mc, &mc->servers[i], &list, &batch->reqs[i]) == NULL)
            status = VMC_ERR_NO_MEMORY;
        else if (list.count > 0)
            batch->waits[waits++] = &batch->reqs[i];
    }
    vmc_status_t waited = vmc_wait_all(mc, batch->waits, waits, mc->timeout_ns);
    return status != VMC_OK ? status : waited;
}

vmc_status_t vmc_mget(vmc_t *mc, const vmc_key_t *keys, size_t count, vmc_found_t found, void *arg)
{
    batch_t batch;
    key_list_t all = {.keys = keys, .found = found, .arg = arg};
    handle_check(mc);
    if (count == 0)
        return VMC_OK;
    if (keys == NULL || found == NULL || count > UINT32_MAX / 2)
        return VMC_ERR_INVALID;
    batch.reqs = calloc(mc->server_count, sizeof(*batch.reqs));
    batch.waits = calloc(mc->server_count, sizeof(vmc_req_t *));
    batch.index = calloc(count, sizeof(uint32_t));
    batch.counts = calloc(mc->server_count, 2 * sizeof(uint32_t));
    vmc_status_t status = VMC_ERR_NO_MEMORY;
    if (batch.reqs != NULL && batch.waits != NULL && batch.index != NULL && batch.counts != NULL)
        status = sort_keys(mc, keys, count, &batch) ? run_batch(mc, &batch, &all) : VMC_ERR_INVALID;
    free(batch.reqs);
    free(batch.waits);
    free(batch.index);
    free(batch.counts);
    return status;
}
