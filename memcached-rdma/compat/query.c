/* SPDX-License-Identifier: Apache-2.0
 * query.c - one request for one key, with or without a wait for its answer. */
#include "compat/compat.h"

rc_t query_begin(query_t *query, memcached_st *ptr, GROUP, KEY)
{
    rc_t rc = call_begin(ptr);
    if (rc == MEMCACHED_SUCCESS)
        rc = keys_check(ptr, &key, &key_length, 1);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    bool grouped = group_key != NULL && group_key_length > 0;
    query->ptr = ptr;
    query->server = place_of(ptr, grouped ? group_key : key, grouped ? group_key_length : key_length);
    query->ask = (ask_t){.key = query->key, .key_bytes = key_join(ptr, key, key_length, query->key)};
    return MEMCACHED_SUCCESS;
}

int32_t query_exptime(time_t expiration)
{
    if (expiration > INT32_MAX)
        return INT32_MAX;
    return expiration < 0 ? -1 : (int32_t)expiration;
}

static rc_t prepare(query_t *query)
{
    rc_t rc = reach_ready(query->server);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    return reach_open(query->ptr) == NULL ? query->ptr->error_messages->failure.rc : MEMCACHED_SUCCESS;
}

rc_t query_run(query_t *query)
{
    pending_finish(query->ptr);
    rc_t rc = prepare(query);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    vmc_t *mc = query->ptr->error_messages->mc;
    vmc_status_t status = call_start_at(reach_server(query->server), &query->ask, &query->req, false);
    if (status == VMC_INPROGRESS)
        status = vmc_wait(mc, &query->req, reach_limit(query->server));
    return reach_result(query->server, status);
}

/* ---------------------------------------------------------------------------------- answers nobody waits for */

/* The request leaves with this call: the server is there, and the value fits a call's copy. */
static bool leaves_at_once(const query_t *query)
{
    const mc_server_t *link = reach_server(query->server);
    return (link->state == SERVER_MESSAGES || link->state == SERVER_SOCKET) && list_empty(&link->queue) &&
           query->ask.value_bytes <= CALL_COPY;
}

static rc_t start_pending(query_t *query)
{
    handle_t *handle = query->ptr->error_messages;
    mc_server_t *link = reach_server(query->server);
    vmc_req_t *req = pending_add(handle);
    if (req == NULL)
        return fail(query->ptr, MEMCACHED_MEMORY_ALLOCATION_FAILURE, NULL);
    vmc_status_t status = call_start_at(link, &query->ask, req, true);
    if (status != VMC_INPROGRESS) {
        pending_drop_complete(handle);
        return reach_result(query->server, status);
    }
    if (handle->pending_count >= PENDING_MAX || !list_empty(&link->queue) || link->out.at < link->out.end)
        pending_finish(query->ptr);
    return MEMCACHED_SUCCESS;
}

rc_t query_send(query_t *query)
{
    handle_t *handle = query->ptr->error_messages;
    rc_t rc = prepare(query);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    vmc_progress(handle->mc);
    pending_drop_complete(handle);
    return leaves_at_once(query) ? start_pending(query) : query_run(query);
}

void query_send_copies(const query_t *query)
{
    memcached_st *ptr = query->ptr;
    uint32_t at = (uint32_t)(query->server - ptr->servers), others = ptr->number_of_hosts - 1;
    uint32_t copies = ptr->number_of_replicas < others ? ptr->number_of_replicas : others;
    for (uint32_t i = 0; ptr->flags.binary_protocol && i < copies; i++) {
        query_t copy = *query;
        at = at + 1 == ptr->number_of_hosts ? 0 : at + 1;
        copy.server = &ptr->servers[at];
        copy.ask.key = copy.key;
        (void)query_send(&copy);
    }
}
