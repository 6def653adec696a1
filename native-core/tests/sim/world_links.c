/* SPDX-License-Identifier: Apache-2.0
 * world_links.c - the link layer's own counts against what its lists hold (W7; link/flow/record.h, link/flow/rails.c). */
#include "world_private.h"

static bool on_its_way(const link_node_t *node)
{
    return !node->resend.sacked && !node->resend.lost;
}

static void check_lane(world_t *world, const vbn_peer_t *peer, const link_lane_t *lane)
{
    uint32_t count = 0, bytes = 0;
    list_for_each(link, &peer->inflight) {
        const link_node_t *node = container_of(link, const link_node_t, link);
        if (node->resend.lane != lane || !on_its_way(node))
            continue;
        count++;
        bytes += node->payload_bytes;
    }
    if (count != lane->under_way || bytes != lane->under_way_bytes)
        world_violated(world, "W7: a lane counts %u packets of %u bytes under way, there are %u of %u", lane->under_way,
                       lane->under_way_bytes, count, bytes);
    if (lane->peer != peer || (lane->hs == NULL && peer->lane->hs != NULL))
        world_violated(world, "W7: a lane is with the wrong peer or behind one that is not ready");
}

static void check_held(world_t *world, const link_arq_t *arq)
{
    uint32_t count = 0;
    for (uint32_t i = 0; arq->held != NULL && i < LINK_HELD_MAX; i++)
        count += arq->held[i] != NULL;
    if (count != arq->held_count || (count == 0 && arq->held != NULL))
        world_violated(world, "W7: %u early packets are held, %u are counted", count, arq->held_count);
}

static void check_peer(world_t *world, const vbn_peer_t *peer)
{
    const link_arq_t *arq = peer->arq;
    uint32_t count = 0, lost = 0, pipe = 0, lanes = 0;
    list_for_each(link, &peer->inflight) {
        const link_node_t *node = container_of(link, const link_node_t, link);
        if (node->sequence != peer->tx_acked + count++)
            world_violated(world, "A1: packets in flight are not in order of their sequence");
        lost += node->resend.lost;
        pipe += on_its_way(node) && node->resend.lane->datagram;
    }
    if (count != peer->tx_next - peer->tx_acked || lost != arq->lost || pipe != arq->pipe || count > LINK_HELD_MAX + 1)
        world_violated(world, "A1 to A4: %u in flight, %u lost, %u in the pipe; counted %u, %u, %u", count, lost, pipe,
                       peer->tx_next - peer->tx_acked, arq->lost, arq->pipe);
    for (const link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next, lanes++)
        check_lane(world, peer, lane);
    if (lanes > LINK_LANES_MAX)
        world_violated(world, "W7: a peer has %u lanes", lanes);
    check_held(world, arq);
}

void world_check_links(world_t *world)
{
    for (unsigned i = 0; i < world->count; i++) {
        size_t cursor = 0;
        vbn_peer_t *peer;
        uint32_t costly = 0;
        if (world->nodes[i].gone)
            continue;
        link_engine_t *engine = world->nodes[i].link;
        while ((peer = map_next(&engine->peers, &cursor, NULL)) != NULL) {
            for (const link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next)
                costly += lane->counted;
            if (peer->arq != NULL)
                check_peer(world, peer);
        }
        if (costly != engine->costly_count || costly > (uint64_t)engine->params.settings->link_promoted_max)
            world_violated(world, "W7: %u promoted lanes, %u counted, at most %lld", costly, engine->costly_count,
                           (long long)engine->params.settings->link_promoted_max);
    }
}
