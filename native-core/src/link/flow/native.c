/* SPDX-License-Identifier: Apache-2.0
 * native.c - transfers that devices carry out, over the lanes of a peer that have such a device at both ends.
 *
 * The link keeps none of them. A lane that goes ends its transfers with an error, and the layer above repeats them in another
 * way. A lane that is to be dropped waits for them (lane->under_way). The peer's device ends the connection when it refuses an
 * access. Hence lanes are used only as long as the loss of all that are used is not the loss of the peer. */
#include "link/flow/flow.h"

#define COST_DROPPING (UINT64_C(1) << 48) /* transfers under way end over such a lane, none begins */

static bool alive(const link_lane_t *lane)
{
    return lane->native && lane->hs == NULL && lane->ep != NULL;
}

/* The lane that must not be risked, as nothing else would be left when all others are refused an access: where a connection
 * cannot be resumed and all lanes are native. Both sides choose the same one. NULL: there is no need. */
static const link_lane_t *reserve(const vbn_peer_t *peer)
{
    const link_lane_t *least = NULL;
    if (peer->engine->params.settings->link_resume_timeout > 0)
        return NULL;
    for (const link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next) {
        if (lane->hs != NULL || lane->welcome != NULL || lane->dropping)
            continue;
        if (!lane->native)
            return NULL;
        if (least == NULL ||
            (lane->local_connection ^ lane->remote_connection) < (least->local_connection ^ least->remote_connection))
            least = lane;
    }
    return least;
}

static bool risked(const vbn_peer_t *peer, const link_lane_t *lane)
{
    return alive(lane) && lane->kept && lane != reserve(peer);
}

static bool usable(const vbn_peer_t *peer, const link_lane_t *lane)
{
    return risked(peer, lane) && !lane->dropping;
}

unsigned link_natives(const vbn_peer_t *peer, bool ours, uint32_t connections[LINK_DEVICES])
{
    unsigned count = 0, seen = 0; /* a bit per transport */
    if (peer->arq == NULL || peer->state != PEER_READY)
        return 0;
    for (const link_lane_t *lane = peer->lane; lane != NULL && count < LINK_DEVICES; lane = lane->next) {
        if (!usable(peer, lane) || (seen & 1u << lane->transport) != 0)
            continue;
        seen |= 1u << lane->transport;
        connections[count++] = ours ? lane->local_connection : lane->remote_connection;
    }
    return count;
}

bool link_native_possible(const vbn_peer_t *peer)
{
    const link_engine_t *engine = peer->engine;
    for (unsigned i = 0; i < engine->transport_count; i++)
        if ((engine->transports[i].ops->caps(engine->transports[i].iface)->flags & TL_CAP_NATIVE) != 0)
            return true;
    return false;
}

static link_lane_t *lane_of(const vbn_peer_t *peer, uint32_t connection, bool ours)
{
    link_lane_t *lane = peer->lane;
    while (lane != NULL && (!alive(lane) || (ours ? lane->local_connection : lane->remote_connection) != connection))
        lane = lane->next;
    return lane;
}

/* Which of the connections named goes over the same device; `count`: none. */
static unsigned device_of(const vbn_peer_t *peer, const link_lane_t *lane, const uint32_t *connections, unsigned count)
{
    unsigned i = 0;
    for (const link_lane_t *named; i < count; i++)
        if ((named = lane_of(peer, connections[i], false)) != NULL && named->transport == lane->transport)
            break;
    return i;
}

link_way_t link_native_way(const vbn_peer_t *peer, const uint32_t *connections, unsigned count)
{
    link_way_t way = {0};
    uint64_t best = UINT64_MAX;
    for (const link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next) {
        unsigned device = risked(peer, lane) ? device_of(peer, lane, connections, count) : count;
        uint64_t cost = (uint64_t)lane->under_way_bytes * 1000 / (link_lane_caps(lane)->mbytes_per_s + 1);
        if (device == count)
            continue;
        cost += lane->dropping ? COST_DROPPING : 0;
        way.all++;
        if (cost >= best)
            continue;
        best = cost;
        way.connection = lane->remote_connection;
        way.device = device;
        way.lasts = cost < COST_DROPPING;
    }
    return way;
}

vbn_status_t link_access(vbn_peer_t *peer, uint32_t connection, const link_access_t *access, uint32_t *taken_p)
{
    link_lane_t *lane = lane_of(peer, connection, false);
    if (lane == NULL)
        return err_set(VBN_ERR_PEER_LOST, "the connection to the peer's device is gone");
    link_node_t *node = mpool_get(&peer->engine->nodes);
    if (node == NULL)
        return VBN_BUSY;
    node->peer = peer;
    node->done = access->done;
    node->arg = access->arg;
    node->resend.lane = lane;
    const tl_access_t request = {.write = access->write,
                                 .key = access->key,
                                 .remote = access->remote,
                                 .iov = access->iov,
                                 .iov_count = access->iov_count,
                                 .cookie = node};
    vbn_status_t status = link_lane_ops(lane)->access(lane->ep, &request, taken_p);
    if (status != VBN_INPROGRESS) {
        mpool_put(&peer->engine->nodes, node);
        return status;
    }
    list_append(&peer->engine->natives, &node->link);
    node->payload_bytes = *taken_p;
    lane->under_way++;
    lane->under_way_bytes += *taken_p;
    peer->arq->bulk = peer->arq->bulk || *taken_p >= peer->arq->bulk_bytes;
    return status;
}

void link_ring(vbn_peer_t *peer)
{
    for (const link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next)
        if (alive(lane))
            link_lane_ops(lane)->ring(lane->ep);
}

void link_native_done(tl_ep_t *ep, void *cookie)
{
    link_node_t *node = cookie;
    vbn_peer_t *peer = node->peer;
    (void)ep;
    if (peer->arq != NULL)
        peer->arq->heard_ns = link_now_ns(peer->engine); /* a sign of life, and use of the lane */
    link_transfer_end(node, VBN_OK);
    if (peer->arq != NULL && peer->arq->dropping > 0)
        link_rails_drop_step(peer);
    if (peer->arq != NULL)
        link_promote_look(peer);
}

vbn_status_t link_expose(vbn_peer_t *peer, uint32_t connection, uint64_t key_handle, mem_exposed_t *exposed_p)
{
    const link_lane_t *lane = lane_of(peer, connection, true);
    if (lane == NULL)
        return err_set(VBN_ERR_UNSUPPORTED, "no device serves this connection");
    peer->arq->bulk = true; /* that the peer reads or writes here; rails serve both directions */
    return link_lane_ops(lane)->expose(lane->ep, key_handle, exposed_p);
}

void link_native_end(vbn_peer_t *peer, uint32_t connection)
{
    link_lane_t *lane = lane_of(peer, connection, true);
    if (lane != NULL)
        link_lane_broke(lane, VBN_ERR_PEER_LOST, "the peer has lost this lane");
}
