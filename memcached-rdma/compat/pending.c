/* SPDX-License-Identifier: Apache-2.0
 * pending.c - requests whose answer nobody waits for (P2), in the order of their calls. */
#include <stdlib.h>

#include "base/os.h"
#include "compat/compat.h"

typedef struct pending {
    list_link_t link;
    vmc_req_t req;
} pending_t;

vmc_req_t *pending_add(handle_t *handle)
{
    pending_t *pending = calloc(1, sizeof(*pending));
    if (pending == NULL)
        return NULL;
    list_append(&handle->pending, &pending->link);
    handle->pending_count++;
    return &pending->req;
}

static void drop_first(handle_t *handle)
{
    free(container_of(list_pop(&handle->pending), pending_t, link));
    handle->pending_count--;
}

void pending_drop_complete(handle_t *handle)
{
    while (!list_empty(&handle->pending) &&
           container_of(handle->pending.next, pending_t, link)->req.status != VMC_INPROGRESS)
        drop_first(handle);
}

void pending_finish(memcached_st *ptr)
{
    handle_t *handle = ptr->error_messages;
    uint64_t limit = ptr->poll_timeout < 0 ? UINT64_MAX : (uint64_t)ptr->poll_timeout * NS_PER_MS;
    uint64_t start = os_now_ns();
    while (!list_empty(&handle->pending)) {
        pending_t *pending = container_of(handle->pending.next, pending_t, link);
        uint64_t spent = os_now_ns() - start;
        if (pending->req.status == VMC_INPROGRESS)
            (void)vmc_wait(handle->mc, &pending->req, limit > spent ? limit - spent : 0);
        drop_first(handle);
    }
}
