/* SPDX-License-Identifier: Apache-2.0
 * request.c - requests of the API: start, test, wait, cancel, also ends before their answers. */
#include <string.h>

#include "base/os.h"
#include "client/mc.h"

/* -------------------------------------------------------------------------------------------- ends */

/* The core uses the caller's memory: of a value that is being fetched, or that is written to a buffer. */
static bool uses_memory(const call_t *call)
{
    bool value = call->sending && call->ask.value_bytes > 0 && call->ask.value != call->copy;
    return value || (call->pulling && call->ask.kind == CALL_GET);
}

/* Ends a request before its answer (C1, C2). */
static void end_request(vmc_t *mc, vmc_req_t *req, vmc_status_t status)
{
    call_t *call = req->priv;
    if (call->queued) {
        call_end(call, status);
        return;
    }
    call->req = NULL;
    call_end_early(req, status);
    if (uses_memory(call)) {
        server_break(call->server, "a request that the core was carrying out ended early");
        while (call->sending || call->pulling)
            (void)wait_progress(mc, false);
    } else if (call->server->state == SERVER_MESSAGES) {
        call_end(call, status); /* on a socket it keeps its place in the order of answers */
    }
}

/* ------------------------------------------------------------------------------------------- starts */

static void enqueue(call_t *call)
{
    call->queued = true;
    list_append(&call->server->queue, &call->link);
    server_pump(call->server);
}

vmc_status_t call_start(vmc_t *mc, const ask_t *ask, vmc_req_t *req, bool copy)
{
    if (!message_key_valid(ask->key, ask->key_bytes)) {
        *req = (vmc_req_t){.status = VMC_ERR_INVALID, .user = req->user};
        return VMC_ERR_INVALID;
    }
    return call_start_at(ring_find(mc, ask->key, ask->key_bytes), ask, req, copy);
}

vmc_status_t call_start_at(mc_server_t *server, const ask_t *ask, vmc_req_t *req, bool copy)
{
    handle_check(server->mc);
    *req = (vmc_req_t){.status = VMC_ERR_INVALID, .user = req->user};
    if (ask->value_bytes > VALUE_MAX || (ask->value_bytes > 0 && ask->value == NULL))
        return VMC_ERR_INVALID;
    call_t *call = call_new(server->mc, server, req);
    if (call == NULL)
        return req->status = VMC_ERR_NO_MEMORY;
    call->ask = *ask;
    memcpy(call->key, ask->key, ask->key_bytes);
    call->ask.key = call->key;
    if (copy && ask->value_bytes > 0 && ask->value_bytes <= CALL_COPY) {
        memcpy(call->copy, ask->value, ask->value_bytes);
        call->ask.value = call->copy;
    }
    req->status = VMC_INPROGRESS;
    req->priv = call;
    enqueue(call);
    return VMC_INPROGRESS;
}

call_t *call_start_list(vmc_t *mc, mc_server_t *server, const key_list_t *list, vmc_req_t *req)
{
    *req = (vmc_req_t){.status = VMC_INPROGRESS};
    call_t *call = call_new(mc, server, req);
    if (call == NULL)
        return NULL;
    call->ask = (ask_t){.kind = CALL_LIST, .list = *list};
    req->priv = call;
    enqueue(call);
    return call;
}

/* ---------------------------------------------------------------------------------- test, wait, cancel */

vmc_status_t vmc_test(vmc_t *mc, vmc_req_t *req)
{
    handle_check(mc);
    if (req->status == VMC_INPROGRESS)
        (void)wait_progress(mc, true);
    return req->status;
}

void vmc_cancel(vmc_t *mc, vmc_req_t *req)
{
    handle_check(mc);
    if (req->status == VMC_INPROGRESS)
        end_request(mc, req, VMC_ERR_CANCELLED);
}

static vmc_status_t wait_until(vmc_t *mc, vmc_req_t *req, uint64_t end_ns)
{
    handle_check(mc);
    if (req->status == VMC_INPROGRESS)
        wait_for(mc, &req, 1, end_ns);
    if (req->status == VMC_INPROGRESS)
        end_request(mc, req, VMC_ERR_TIMEOUT);
    return req->status;
}

static uint64_t end_of(uint64_t timeout_ns)
{
    uint64_t now = os_now_ns();
    return timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
}

vmc_status_t vmc_wait(vmc_t *mc, vmc_req_t *req, uint64_t timeout_ns)
{
    return req->status == VMC_INPROGRESS ? wait_until(mc, req, end_of(timeout_ns)) : req->status;
}

vmc_status_t vmc_wait_all(vmc_t *mc, vmc_req_t *const *reqs, size_t count, uint64_t timeout_ns)
{
    uint64_t end = end_of(timeout_ns);
    vmc_status_t first = VMC_OK;
    for (size_t i = 0; i < count; i++) {
        vmc_status_t status = wait_until(mc, reqs[i], end);
        if (status < 0 && first == VMC_OK)
            first = status;
    }
    return first;
}

vmc_status_t vmc_wait_any(vmc_t *mc, vmc_req_t *const *reqs, size_t count, uint64_t timeout_ns, size_t *index_p)
{
    size_t given = 0, at;
    handle_check(mc);
    for (size_t i = 0; i < count; i++)
        given += reqs[i] != NULL;
    if (given == 0 || index_p == NULL)
        return VMC_ERR_INVALID;
    if (wait_complete(reqs, count) == count)
        (void)wait_progress(mc, true); /* also with a timeout of 0 */
    wait_for(mc, reqs, count, end_of(timeout_ns));
    at = wait_complete(reqs, count);
    if (at == count)
        return VMC_INPROGRESS;
    *index_p = at;
    return reqs[at]->status;
}

void vmc_progress(vmc_t *mc)
{
    handle_check(mc);
    (void)wait_progress(mc, true);
}
