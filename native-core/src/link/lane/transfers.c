/* SPDX-License-Identifier: Apache-2.0
 * transfers.c - transfers that devices carry out over a lane, until they end. */
#include "link/lane/lane.h"

void link_transfer_end(link_node_t *node, vbn_status_t status)
{
    link_done_func_t done = node->done;
    void *arg = node->arg;
    list_remove(&node->link);
    node->resend.lane->under_way--;
    node->resend.lane->under_way_bytes -= node->payload_bytes;
    mpool_put(&node->peer->engine->nodes, node);
    done(arg, status);
}

void link_transfers_lost(const link_lane_t *lane)
{
    list_link_t *head = &lane->engine->natives;
    for (list_link_t *link = head->next, *next; link != head; link = next) {
        next = link->next;
        if (container_of(link, link_node_t, link)->resend.lane == lane)
            link_transfer_end(container_of(link, link_node_t, link), VBN_ERR_PEER_LOST);
    }
}
