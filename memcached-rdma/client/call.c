/* SPDX-License-Identifier: Apache-2.0
 * call.c - life of calls: numbers, queues, ends. */
#include <stdlib.h>

#include "client/mc.h"

#define CALLS_MAX 65536u
#define SPARE_FIRST 64u

/* ------------------------------------------------------------------------------------------ numbers */

/* A number whose low half finds the call; the high half changes with each use (C3). */
static bool give_number(vmc_t *mc, call_t *call)
{
    if (mc->call_count == mc->call_capacity) {
        uint32_t capacity = mc->call_capacity == 0 ? SPARE_FIRST : mc->call_capacity * 2;
        call_t **grown = capacity > CALLS_MAX ? NULL : realloc(mc->calls, capacity * sizeof(*grown));
        if (grown == NULL)
            return false;
        mc->calls = grown;
        mc->call_capacity = capacity;
    }
    call->id = mc->call_count;
    mc->calls[mc->call_count++] = call;
    return true;
}

call_t *call_of(const vmc_t *mc, uint32_t id)
{
    uint32_t at = id & (CALLS_MAX - 1);
    call_t *call = at < mc->call_count ? mc->calls[at] : NULL;
    return call != NULL && call->id == id && call->flying ? call : NULL;
}

call_t *call_new(vmc_t *mc, mc_server_t *server, vmc_req_t *req)
{
    list_link_t *link = list_pop(&mc->spare);
    call_t *call = link != NULL ? container_of(link, call_t, link) : calloc(1, sizeof(*call));
    if (call == NULL)
        return NULL;
    if (link == NULL && !give_number(mc, call)) {
        free(call);
        return NULL;
    }
    list_init(&call->link);
    call->id += CALLS_MAX;
    call->server = server;
    call->req = req;
    call->announced = call->queued = call->flying = false;
    call->result = VMC_OK;
    call->answer = (message_answer_t){0};
    call->list_done = 0;
    return call;
}

static void call_drop_if_over(call_t *call)
{
    if (call->sending || call->pulling || call->queued || call->flying)
        return;
    free(call->list_data);
    call->list_data = NULL;
    list_append(&call->server->mc->spare, &call->link);
}

void call_op_done(call_t *call)
{
    call_drop_if_over(call);
}

static void leave_lists(call_t *call)
{
    list_remove(&call->link);
    if (call->flying)
        call->server->flying_count--;
    if (call->announced)
        call->server->announced--;
    call->announced = false;
    call->queued = call->flying = false;
}

void call_sent(call_t *call)
{
    list_remove(&call->link);
    call->queued = false;
    call->flying = true;
    call->server->flying_count++;
    list_append(&call->server->flying, &call->link);
}

void call_again(call_t *call)
{
    leave_lists(call);
    call->id += CALLS_MAX;
    call->queued = true;
    list_prepend(&call->server->queue, &call->link);
}

/* -------------------------------------------------------------------------------------------- ends */

void call_end_early(vmc_req_t *req, vmc_status_t status)
{
    if (req == NULL)
        return;
    req->status = status;
    req->priv = NULL;
}

void call_end(call_t *call, vmc_status_t status)
{
    vmc_req_t *req = call->req;
    leave_lists(call);
    if (req != NULL) {
        req->length = call->ask.value_bytes;
        req->flags = call->answer.client_flags;
        req->cas = call->answer.cas;
        req->number = call->answer.number;
        call_end_early(req, status);
        call->req = NULL;
    }
    call_drop_if_over(call);
}

void calls_fail(mc_server_t *server, vmc_status_t status, bool queued)
{
    while (!list_empty(&server->flying))
        call_end(container_of(server->flying.next, call_t, link), status);
    while (queued && !list_empty(&server->queue))
        call_end(container_of(server->queue.next, call_t, link), status);
}
