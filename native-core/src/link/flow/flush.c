/* SPDX-License-Identifier: Apache-2.0
 * flush.c - waiting until the peer's link layer has received everything sent so far. */
#include "link/flow/flow.h"

static bool acknowledged(const vbn_peer_t *peer)
{
    return peer->queued == 0 && peer->tx_acked == peer->tx_next;
}

bool link_flush_idle(vbn_peer_t *peer)
{
    if (!acknowledged(peer))
        return false;
    peer->clear = NULL;
    return true;
}

vbn_status_t link_flush(vbn_peer_t *peer, link_done_func_t done, void *arg)
{
    if (peer->state == PEER_LOST || peer->state == PEER_ENDING)
        return err_set((vbn_status_t)peer->lost_status, "%s", link_lost_text(peer, "the peer is closed"));
    if (os_fork_generation_now() != peer->engine->fork_generation)
        return link_fork_check(peer->engine);
    if (acknowledged(peer))
        return VBN_OK;
    link_node_t *node = mpool_get(&peer->engine->nodes);
    if (node == NULL)
        return VBN_ERR_NO_MEMORY;
    node->peer = peer;
    node->done = done;
    node->arg = arg;
    /* The queue is in order, so packets that wait now get exactly the next sequence numbers. */
    node->sequence = peer->tx_next + peer->queued;
    fifo_append(&peer->flushes, &node->link);
    peer->ask_ack = true;
    peer->clear = NULL;
    if (list_empty(&peer->queue))
        link_drain(peer); /* only asks for the ack: no callback can run here */
    return VBN_INPROGRESS;
}
