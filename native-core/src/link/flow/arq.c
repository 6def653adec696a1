/* SPDX-License-Identifier: Apache-2.0
 * arq.c - the sender of packets that are kept until acknowledged: which are in flight, which are lost. A packet is lost when
 * several that the same lane took later have arrived, and at the time-out. "Several" is DUP_THRESHOLD, and as many more as were
 * seen to overtake. Over a connection nothing is lost while the connection lives. Window and times are the peer's. flow/pace.h
 * computes time-out and congestion window, flow/rails.c chooses the lane of a packet, flow/life.c judges a peer's silence.
 *
 * One timer per peer serves retransmission, delayed acks and keep-alive. It is armed for the nearest of them, never
 * moved later, and looks again when it fires. */
#include "link/flow/flow.h"

#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "link/flow/pace.h"

#define NS_PER_US UINT64_C(1000)
#define DUP_THRESHOLD 3u
#define OVERTAKING_MAX 128
#define BULK_ASK 4u   /* every such bulk packet asks for its ACK; half of proto.stream_depth */
#define SILENT_MAX 6u /* time-outs in a row after which a lane is given up for the others */

/* ----------------------------------------------------------------------------------------------- times */

/* The clock is read once for a packet that came, once for those that go: where it is no register of the processor (many
 * virtual machines) that costs more than all of the rest. */
static uint32_t to_us(uint64_t now_ns)
{
    return (uint32_t)(now_ns / NS_PER_US);
}

static uint64_t next_look(const link_arq_t *arq)
{
    if (arq->resume_until_ns != 0)
        return link_resume_next(arq);
    uint64_t due = link_life_next(arq);
    return arq->ack_due_ns != 0 && arq->ack_due_ns < due ? arq->ack_due_ns : due;
}

/* ------------------------------------------------------------------------------------------- transmission */

/* VBN_BUSY, < 0: not taken. Else the node is under way. */
static vbn_status_t transmit(vbn_peer_t *peer, link_lane_t *lane, link_node_t *node, bool ask, uint64_t now)
{
    link_arq_t *arq = peer->arq;
    bool copied = node->resend.own.iov_base != NULL;
    link_header_t fields = {.version = LINK_VERSION,
                            .type = node->resend.type,
                            .connection = lane->remote_connection,
                            .flags = ask ? LINK_FLAG_ACK_NOW : 0,
                            .sequence = node->sequence,
                            .ack = peer->rx_next};
    link_header_encode(&fields, node->header);
    tl_packet_t packet = {.header = node->header,
                          .header_bytes = LINK_HEADER_BYTES + node->header_bytes,
                          .payload_bytes = node->payload_bytes,
                          .iov = copied ? &node->resend.own : node->iov,
                          .iov_count = copied ? 1 : node->iov_count,
                          .cookie = node->payload_bytes > 0 ? node : NULL,
                          .lease = copied ? NULL : node->lease};
    vbn_status_t status = link_send_leased(peer, lane, &packet);
    if (status == VBN_BUSY)
        lane->blocked = true;
    if (status == VBN_BUSY || status < 0)
        return status;
    node->resend.busy = status == VBN_INPROGRESS;
    node->resend.sent_us = to_us(now);
    node->resend.lane = lane;
    node->resend.order = ++lane->order;
    lane->under_way++;
    lane->under_way_bytes += node->payload_bytes;
    arq->pipe += lane->datagram;
    if (arq->held_count == 0) { /* nothing to say beyond the cumulative ack */
        peer->rx_acked = peer->rx_next;
        arq->ack_due_ns = 0;
    }
    return status;
}

/* Over the lane that suits it; a busy one makes room for another. false: none takes it now. */
static bool send_node(vbn_peer_t *peer, link_node_t *node, bool ask, uint64_t now)
{
    vbn_status_t status = VBN_BUSY;
    for (link_lane_t *lane; status == VBN_BUSY && (lane = link_rails_choose(peer, node)) != NULL;)
        status = transmit(peer, lane, node, ask, now);
    if (status < 0)
        link_refused(peer, status);
    return status != VBN_BUSY && status >= 0;
}

/* The node arrived or is lost. */
static void not_under_way(link_arq_t *arq, link_node_t *node)
{
    link_lane_t *lane = node->resend.lane;
    lane->under_way--;
    lane->under_way_bytes -= node->payload_bytes;
    arq->pipe -= lane->datagram;
}

static bool is_under_way(const link_node_t *node)
{
    return !node->resend.sacked && !node->resend.lost;
}

static void lose(link_arq_t *arq, link_node_t *node)
{
    not_under_way(arq, node);
    node->resend.lost = true;
    arq->lost++;
}

static void start_timer(vbn_peer_t *peer, uint64_t now)
{
    link_arq_t *arq = peer->arq;
    if (peer->tx_acked + 1 == peer->tx_next) /* the first in flight */
        arq->rto_from_ns = now;
    link_arq_wake_at(arq, arq->rto_from_ns + link_pace_rto_us(arq) * NS_PER_US);
}

/* Sends lost packets again, oldest first. false: no room. */
static bool push_lost(vbn_peer_t *peer, uint64_t now)
{
    link_arq_t *arq = peer->arq;
    for (list_link_t *link = peer->inflight.next; arq->lost > 0 && link != &peer->inflight; link = link->next) {
        link_node_t *node = container_of(link, link_node_t, link);
        if (!node->resend.lost || node->resend.busy)
            continue;
        if (!send_node(peer, node, true, now))
            return false;
        node->resend.lost = false;
        arq->lost--;
        node->resend.times = (uint8_t)(node->resend.times + (node->resend.times < UINT8_MAX));
        counter_add(peer->engine->params.counters, COUNTER_RETRANSMITS, 1);
    }
    return true;
}

static void begin_resend(link_node_t *node, link_type_t type)
{
    struct iovec own = node->resend.own;
    node->resend = (link_resend_t){.own = own, .type = (uint8_t)type};
}

static bool push_new(vbn_peer_t *peer, uint64_t now)
{
    link_arq_t *arq = peer->arq;
    link_node_t *node = container_of(peer->queue.next, link_node_t, link);
    uint32_t in_window = peer->tx_next - peer->tx_acked;
    uint32_t window = peer->window < LINK_HELD_MAX ? peer->window : LINK_HELD_MAX;
    if (in_window >= window)
        return false;
    bool last = arq->pipe + 1 >= arq->cwnd || in_window + 1 >= window;
    /* Few bulk packets of a transfer are under way at a time, too few for the peer to acknowledge them by itself soon. */
    bool waits = node->payload_bytes >= arq->bulk_bytes && (in_window == 0 || peer->tx_next % BULK_ASK == 0);
    begin_resend(node, LINK_DATA);
    node->sequence = peer->tx_next;
    if (!send_node(peer, node, last || waits, now))
        return false;
    arq->bulk = arq->bulk || node->payload_bytes >= arq->bulk_bytes;
    list_remove(&node->link);
    list_append(&peer->inflight, &node->link);
    peer->queued--;
    peer->tx_next++;
    start_timer(peer, now);
    return true;
}

void link_arq_push(vbn_peer_t *peer)
{
    const link_arq_t *arq = peer->arq;
    if ((arq->lost == 0 && list_empty(&peer->queue)) || !link_may_send(peer))
        return;
    uint64_t now = link_now_ns(peer->engine);
    if (arq->lost > 0 && !push_lost(peer, now))
        return;
    while (!list_empty(&peer->queue) && link_may_send(peer) && push_new(peer, now)) {
    }
}

static void copy_payload(link_node_t *node, const link_packet_t *packet)
{
    uint8_t *to = node->header + LINK_HEADER_BYTES + packet->header_bytes;
    if (packet->payload_bytes > 0)
        node->resend.own = (struct iovec){.iov_base = to, .iov_len = packet->payload_bytes};
    for (uint32_t i = 0; i < packet->iov_count; i++) {
        if (packet->iov[i].iov_len > 0)
            memcpy(to, packet->iov[i].iov_base, packet->iov[i].iov_len);
        to += packet->iov[i].iov_len;
    }
    node->done = NULL;
}

vbn_status_t link_arq_send(vbn_peer_t *peer, const link_packet_t *packet)
{
    link_node_t *node = mpool_get(&peer->engine->nodes);
    if (node == NULL)
        return VBN_ERR_NO_MEMORY;
    link_node_fill(node, peer, packet);
    node->resend.own = (struct iovec){NULL, 0};
    bool copied = packet->payload_bytes <= TL_HEADER_MAX - LINK_HEADER_BYTES - packet->header_bytes;
    if (copied)
        copy_payload(node, packet);
    list_append(&peer->queue, &node->link);
    if (peer->queued++ == 0)
        link_arq_push(peer);
    return copied ? VBN_OK : VBN_INPROGRESS;
}

void link_arq_say_close(vbn_peer_t *peer)
{
    link_arq_t *arq = peer->arq;
    link_node_t *node = mpool_get(&peer->engine->nodes);
    arq->close_sent = true;
    if (node == NULL)
        return; /* all is acknowledged: link_arq_close() says the rest */
    *node = (link_node_t){.peer = peer, .sequence = peer->tx_next};
    begin_resend(node, LINK_CLOSE);
    list_append(&peer->inflight, &node->link);
    peer->tx_next++;
    uint64_t now = link_now_ns(peer->engine);
    if (!send_node(peer, node, true, now)) {
        node->resend.lost = true;
        arq->lost++;
    }
    start_timer(peer, now);
}

/* ------------------------------------------------------------------------------------------------- acks */

static void finish(link_node_t *node)
{
    link_done_func_t done = node->done;
    void *arg = node->arg;
    mpool_put(&node->peer->engine->nodes, node);
    if (done != NULL)
        done(arg, VBN_OK);
}

/* A node needs no more sending. */
static void leave_flight(link_arq_t *arq, link_node_t *node)
{
    if (node->resend.lost)
        arq->lost--;
    else if (!node->resend.sacked)
        not_under_way(arq, node);
    node->resend.lost = false;
}

/* Learns from a node that is newly known to have arrived: its lane works; if it was sent once, how many that the lane took
 * later overtook it, and (timed: the peer told of it at once) how long it took. */
static void learn(link_arq_t *arq, const link_node_t *node, uint32_t now_us, bool timed)
{
    link_lane_t *lane = node->resend.lane;
    if (lane == NULL || node->resend.sacked)
        return;
    lane->silent = 0;
    if (node->resend.times > 0) /* which of them arrived is not known */
        return;
    int32_t overtaken = (int32_t)(lane->top - node->resend.order);
    if (timed || overtaken > 0)
        link_pace_sample(arq, now_us - node->resend.sent_us);
    if (overtaken > (int32_t)arq->overtaking)
        arq->overtaking = overtaken < OVERTAKING_MAX ? (uint32_t)overtaken : OVERTAKING_MAX;
    if (overtaken < 0)
        lane->top = node->resend.order;
}

/* Takes nodes that are cumulatively acknowledged off; completed nodes go to `done`. */
static uint32_t take_acked(vbn_peer_t *peer, uint32_t ack, uint32_t now_us, list_link_t *done)
{
    link_arq_t *arq = peer->arq;
    uint32_t count = ack - peer->tx_acked;
    for (uint32_t i = 0; i < count; i++) {
        link_node_t *node = container_of(list_pop(&peer->inflight), link_node_t, link);
        learn(arq, node, now_us, i + 1 == count);
        leave_flight(arq, node);
        node->resend.acked = node->resend.busy;
        list_append(node->resend.busy ? &arq->parked : done, &node->link);
    }
    peer->tx_acked = ack;
    return count;
}

/* Marks nodes that the peer holds; returns how many nodes are newly known to have arrived. */
static uint32_t take_sacked(vbn_peer_t *peer, const uint8_t *sack, uint32_t words, uint32_t now_us)
{
    uint32_t count = 0;
    list_for_each(link, &peer->inflight) {
        link_node_t *node = container_of(link, link_node_t, link);
        uint32_t at = node->sequence - peer->tx_acked - 1; /* the first in flight has none: at is huge */
        if (at / 64 >= words || (le_get_u64(sack + at / 64 * 8) >> (at % 64) & 1) == 0)
            continue;
        if (node->resend.sacked)
            continue;
        learn(peer->arq, node, now_us, true);
        leave_flight(peer->arq, node);
        node->resend.sacked = true;
        count++;
    }
    return count;
}

/* Nodes whose lane has delivered several that it took later are lost. */
static uint32_t mark_lost(vbn_peer_t *peer)
{
    link_arq_t *arq = peer->arq;
    int32_t threshold = (int32_t)(DUP_THRESHOLD + arq->overtaking);
    uint32_t count = 0;
    list_for_each(link, &peer->inflight) {
        link_node_t *node = container_of(link, link_node_t, link);
        const link_lane_t *lane = node->resend.lane;
        if (!is_under_way(node) || !lane->datagram || (int32_t)(lane->top - node->resend.order) < threshold)
            continue;
        lose(arq, node);
        count++;
    }
    return count;
}

void link_arq_acked(vbn_peer_t *peer, uint32_t ack, const uint8_t *sack, uint32_t words)
{
    link_arq_t *arq = peer->arq;
    list_link_t done;
    uint32_t now_us = to_us(peer->arq->heard_ns);
    if ((int32_t)(ack - peer->tx_acked) < 0 || (ack == peer->tx_acked && words == 0))
        return; /* an old one, or no news */
    list_init(&done);
    uint32_t acked = take_acked(peer, ack, now_us, &done);
    uint32_t arrived = acked + take_sacked(peer, sack, words, now_us);
    if (arrived > 0)
        arq->rto_from_ns = arq->heard_ns;
    if (words > 0 && mark_lost(peer) > 0 && !arq->recovering)
        link_pace_slow(arq, peer->tx_next, 0);
    link_pace_grow(arq, acked, peer->tx_acked);
    for (list_link_t *link; (link = list_pop(&done)) != NULL;)
        finish(container_of(link, link_node_t, link));
    if (!fifo_empty(&peer->flushes))
        link_flush_complete(peer);
    if (peer->arq == NULL) /* a callback made progress in which the peer ended */
        return;
    if (arq->lost > 0 || !list_empty(&peer->queue))
        link_drain(peer);
}

void link_arq_tx_done(link_node_t *node)
{
    node->resend.busy = false;
    if (node->resend.acked) {
        list_remove(&node->link);
        finish(node);
    } else if (node->resend.lost) { /* it could not be sent again while in use */
        link_drain(node->peer);
    }
}

/* --------------------------------------------------------------------------------------------- time-outs */

/* Nothing arrived for a time-out: nodes under way over datagram lanes are lost. */
static void all_lost(vbn_peer_t *peer)
{
    for (link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next)
        lane->silent = (uint8_t)(lane->silent + (lane->datagram && lane->under_way > 0 && lane->silent < UINT8_MAX));
    list_for_each(link, &peer->inflight) {
        link_node_t *node = container_of(link, link_node_t, link);
        if (is_under_way(node) && node->resend.lane->datagram)
            lose(peer->arq, node);
    }
    link_pace_slow(peer->arq, peer->tx_next, LINK_CWND_MIN);
}

/* Lanes over which nothing arrives while others work are given up. */
static void leave_silent(vbn_peer_t *peer)
{
    if (peer->lane->next == NULL)
        return;
    list_for_each(link, &peer->inflight) {
        link_node_t *node = container_of(link, link_node_t, link);
        if (is_under_way(node) && !node->resend.lane->datagram && link_life_missed(peer->arq, node->resend.sent_us))
            node->resend.lane->silent = SILENT_MAX;
    }
    for (link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next) {
        if (lane->silent < SILENT_MAX || !link_lane_others(peer, lane))
            continue;
        link_lane_lose(lane, "no packet sent over this lane arrives");
        return; /* one is enough for now; operations may have completed */
    }
}

static void look(vbn_peer_t *peer, uint64_t now)
{
    link_arq_t *arq = peer->arq;
    if (arq->ack_due_ns != 0 && now >= arq->ack_due_ns)
        link_send_ack(peer, 0);
    if (now < link_life_next(arq))
        return;
    bool waiting = peer->tx_acked != peer->tx_next;
    bool again = waiting && (arq->pipe > 0 || arq->lost > 0) && !link_life_naps(arq);
    if (!link_life_count(arq, now))
        return;
    if (again)
        all_lost(peer);
    if (waiting)
        leave_silent(peer);
    if (peer->arq == NULL)
        return;
    if (again)
        link_arq_push(peer);
    else
        link_life_ask(peer);
}

static void on_timer(wheel_timer_t *timer)
{
    link_arq_t *arq = container_of(timer, link_arq_t, timer);
    vbn_peer_t *peer = arq->peer;
    uint64_t now = link_now_ns(peer->engine);
    arq->timer_ns = 0;
    if (arq->resume_until_ns != 0)
        link_resume_look(peer, now);
    else if (!link_life_lost(peer, now))
        look(peer, now);
    if (peer->arq != NULL)
        link_arq_wake_at(arq, next_look(arq));
}

/* ---------------------------------------------------------------------------------------------- life */

void link_arq_lane_gone(vbn_peer_t *peer, const link_lane_t *lane)
{
    link_arq_t *arq = peer->arq;
    list_link_t free_now;
    list_init(&free_now);
    list_for_each(link, &peer->inflight) {
        link_node_t *node = container_of(link, link_node_t, link);
        if (lane != NULL && node->resend.lane != lane)
            continue;
        node->resend.busy = false;
        if (is_under_way(node))
            lose(arq, node);
        node->resend.lane = NULL;
    }
    for (list_link_t *link = arq->parked.next, *next; link != &arq->parked; link = next) {
        next = link->next;
        if (lane != NULL && container_of(link, link_node_t, link)->resend.lane != lane)
            continue;
        list_remove(link);
        list_append(&free_now, link);
    }
    for (list_link_t *link; (link = list_pop(&free_now)) != NULL;)
        finish(container_of(link, link_node_t, link));
}

void link_arq_restart(vbn_peer_t *peer, uint32_t ack)
{
    link_arq_t *arq = peer->arq;
    link_pace_start(arq);
    link_life_start(arq);
    arq->rto_from_ns = arq->heard_ns;
    /* No times are learnt from packets of the lane before. */
    list_for_each(link, &peer->inflight)
        container_of(link, link_node_t, link)->resend.times = 1;
    link_arq_acked(peer, ack, NULL, 0);
    if (peer->arq != NULL)
        link_arq_wake_at(arq, next_look(arq));
}

vbn_status_t link_arq_open(vbn_peer_t *peer, uint64_t session)
{
    link_arq_t *arq = calloc(1, sizeof(*arq));
    if (arq == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no memory for a peer's retransmission state");
    const link_transport_t *transport = &peer->engine->transports[peer->transport];
    arq->peer = peer;
    arq->session = session;
    arq->packet_max = transport->ops->caps(transport->iface)->packet_max;
    arq->bulk_bytes = arq->packet_max / 2 < LINK_BULK_BYTES ? arq->packet_max / 2 : LINK_BULK_BYTES;
    arq->promote_at = (uint32_t)peer->engine->params.settings->link_promote_after;
    link_pace_start(arq);
    link_life_start(arq);
    list_init(&arq->parked);
    wheel_timer_init(&arq->timer, on_timer);
    peer->arq = arq;
    /* Nodes that were queued before name memory of the caller. */
    list_for_each(link, &peer->queue)
        container_of(link, link_node_t, link)->resend.own = (struct iovec){NULL, 0};
    link_arq_wake_at(arq, next_look(arq));
    return VBN_OK;
}

/* Over each lane: the end of a connection that arrives before the word would count as a lane that broke. */
static void tell_end(const vbn_peer_t *peer)
{
    for (const link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next)
        if (lane->hs == NULL && !lane->blocked && !lane->drop_sent && lane->ep != NULL)
            (void)link_send_bare(lane, LINK_CLOSE, LINK_FLAG_AT_ONCE); /* lost: the peer's time-out finds out */
}

void link_arq_close(vbn_peer_t *peer, list_link_t *parked)
{
    link_arq_t *arq = peer->arq;
    if (!arq->told)
        tell_end(peer);
    wheel_cancel(&peer->engine->wheel, &arq->timer);
    link_kept_drop_held(arq);
    peer->arq = NULL;
    for (list_link_t *link; (link = list_pop(&arq->parked)) != NULL;)
        list_append(parked, link);
    free(arq);
}
