/* SPDX-License-Identifier: Apache-2.0
 * tcp_queue.c - packets that wait for the socket: copied when their owner does not wait for them, given up at the end. */
#include <stdlib.h>
#include <string.h>

#include "tl/tcp/tcp_private.h"

vbn_status_t tcp_tx_own(tcp_tx_t *tx)
{
    size_t bytes = tx->rest_bytes - (tx->head_bytes - tx->head_offset);
    uint8_t *to = tx->head + tx->head_bytes;
    if (bytes > sizeof(tx->head) - tx->head_bytes) {
        to = malloc(bytes);
        if (!to)
            return err_set(VBN_ERR_NO_MEMORY, "no memory to queue %zu bytes", bytes);
        tx->copy = to;
    }
    size_t at = 0;
    for (size_t offset = tx->iov_offset; at < bytes; tx->iov_index++, offset = 0) {
        const struct iovec *piece = &tx->iov[tx->iov_index];
        if (piece->iov_len > offset)
            memcpy(to + at, (const char *)piece->iov_base + offset, piece->iov_len - offset);
        at += piece->iov_len - offset;
    }
    if (!tx->copy)
        tx->head_bytes += (uint32_t)bytes;
    tx->single.iov_base = to;
    tx->single.iov_len = bytes;
    tx->iov = &tx->single;
    tx->iov_count = tx->copy ? 1 : 0;
    tx->iov_index = 0;
    tx->iov_offset = 0;
    tx->cookie = NULL;
    tx->lease = NULL;
    return VBN_OK;
}

void tcp_tx_free(tcp_ep_t *ep, tcp_tx_t *tx)
{
    free(tx->copy);
    mpool_put(&ep->iface->tx_pool, tx);
}

vbn_status_t tcp_tx_detach(tcp_ep_t *ep)
{
    list_for_each(link, &ep->tx) {
        tcp_tx_t *tx = container_of(link, tcp_tx_t, link);
        mem_lease_t *lease = tx->lease;
        if (tx->cookie == NULL)
            continue;
        if (mem_lease_enter(lease, true) != MEM_LEASE_IN)
            return VBN_ERR_NO_MEMORY;
        vbn_status_t status = tcp_tx_own(tx);
        mem_lease_leave(lease);
        if (status != VBN_OK)
            return status;
    }
    return VBN_OK;
}

void tcp_tx_drop(tcp_ep_t *ep, bool upcalls, vbn_status_t status)
{
    list_link_t *link;
    ep->tx_count = 0;
    while ((link = list_pop(&ep->written)) != NULL || (link = list_pop(&ep->tx)) != NULL) {
        tcp_tx_t *tx = container_of(link, tcp_tx_t, link);
        void *cookie = tx->cookie;
        tcp_tx_free(ep, tx);
        if (upcalls && cookie && ep->state == TCP_FAILED)
            ep->iface->params.upcalls.tx_done(&ep->base, cookie, status);
    }
}
