/* SPDX-License-Identifier: Apache-2.0
 * fast_receive.c - the way of a short message in, from its slot in the ring to its handler, in this order.
 *
 *   fast_progress  a turn over the rings that are polled now, in place of tl_shm_ops.progress
 *   take_ring      one ring, until it is empty                  other frames, room again, its end: take_rest
 *   from_slot      copies a packet out of its slot
 *   take_packet    the link's header: the next packet expected  other: link_rx_other
 *   take_message   the message's header: id and handler         other, tagged ones first: proto_rx_other
 *
 * All of it is one function for the compiler, so that an active message costs no call but its handler's. */
#include "fast/fast.h"
#include "proto/proto_private.h"
#include "tl/shm/shm_private.h"

static unsigned fast_progress(tl_iface_t *tl_iface);
static unsigned take_ring(shm_ep_t *ep);
static unsigned take_rest(shm_ep_t *ep, unsigned count);
static unsigned take_slots(shm_ep_t *ep, unsigned count, bool *rest);
static int from_slot(shm_rx_t *rx, uint8_t copy[SHM_SLOT_DATA], uint32_t *header_bytes_p, uint32_t *payload_bytes_p);
static void take_packet(shm_ep_t *ep, const uint8_t *bytes, uint32_t header_bytes, uint32_t payload_bytes);
static void take_message(link_peer_head_t *p, const uint8_t *bytes, uint32_t header_bytes, const uint8_t *payload,
                         uint32_t payload_bytes);

const link_fast_t fast_lane = {.transport = &tl_shm_ops, .progress = fast_progress};

static NO_CANARY unsigned fast_progress(tl_iface_t *tl_iface)
{
    shm_iface_t *iface = (shm_iface_t *)tl_iface;
    unsigned count = 0;
    if (UNLIKELY(!shm_turn_begin(iface)))
        return 0;
    for (uint32_t i = 0; i < iface->hot; i++)
        if (LIKELY(iface->rings[i] != NULL))
            count += take_ring(iface->rings[i]);
    return shm_turn_end(iface, count);
}

static ALWAYS_INLINE unsigned take_ring(shm_ep_t *ep)
{
    bool rest;
    unsigned count = take_slots(ep, 0, &rest);
    return UNLIKELY(rest || ep->blocked) ? take_rest(ep, count) : count;
}

/* Other frames, one at a time, and those in slots behind each. What waits for room is tried once in any case; a peer that
 * sends and makes room all the time does not keep the turn. */
static COLD unsigned take_rest(shm_ep_t *ep, unsigned count)
{
    unsigned before;
    bool rest = true;
    do {
        before = count;
        count = shm_poll_rest(ep, count);
        if (count == before || before >= SHM_FRAMES_PER_POLL)
            break;
        count = take_slots(ep, count, &rest);
    } while (rest || ep->blocked);
    return count;
}

/* Returns the count of the turn with those it took; *rest: there is more to look at. */
static ALWAYS_INLINE unsigned take_slots(shm_ep_t *ep, unsigned count, bool *rest)
{
    const unsigned before = count;
    _Alignas(16) uint8_t copy[SHM_SLOT_DATA];
    shm_rx_t *rx = &ep->rx;
    uint32_t bytes = 0;
    int found = 1;
    while (LIKELY(ep->rx_quick)) {
        uint32_t header_bytes, payload_bytes;
        if (UNLIKELY(rx->position == rx->due)) {
            shm_publish(ep);
            if (count >= SHM_FRAMES_PER_POLL)
                break;
        }
        found = from_slot(rx, copy, &header_bytes, &payload_bytes);
        if (found != 0)
            break;
        count++;
        bytes += header_bytes + payload_bytes;
        take_packet(ep, copy, header_bytes, payload_bytes);
    }
    if (count > before) {
        counters_t *counters = shm_ep_iface(ep)->params.counters;
        counter_add(counters, COUNTER_SHM_RX_PACKETS, count - before);
        counter_add(counters, COUNTER_SHM_RX_BYTES, bytes);
    }
    *rest = found >= 0;
    return count;
}

/* The ring's part, as shm_rx_peek and shm_rx_consume. When the next frame lies in its slot alone: copies header and
 * payload to `copy`, steps over it, and returns 0. Else nothing has changed; -1: nothing has come; 1: a frame of
 * another kind, or nonsense. The slot's word is loaded once and checked, the bytes are looked at in the copy only. */
static ALWAYS_INLINE int from_slot(shm_rx_t *rx, uint8_t copy[SHM_SLOT_DATA], uint32_t *header_bytes_p,
                                   uint32_t *payload_bytes_p)
{
    uint32_t next = rx->position + 1;
    const shm_slot_t *slot = &rx->slots[rx->position & rx->mask];
    uint64_t word = atomic_get_acquire(&slot->word); /* pairs with shm_tx_publish and to_slot (fast_send.c) */
    uint32_t header = (uint32_t)(word >> 16) & 0xfff;
    uint64_t rest = word >> 28; /* payload bytes, and the kind: 0 when inline */
    if ((uint16_t)word != (uint16_t)next)
        return -1;
    if (UNLIKELY(header + rest > SHM_SLOT_FIRST_LINE)) { /* constant sizes: a few vector moves */
        if (UNLIKELY(header + rest > SHM_SLOT_DATA))
            return 1;
        memcpy(copy + SHM_SLOT_FIRST_LINE, slot->data + SHM_SLOT_FIRST_LINE, SHM_SLOT_DATA - SHM_SLOT_FIRST_LINE);
    }
    memcpy(copy, slot->data, SHM_SLOT_FIRST_LINE);
    rx->position = next;
    *header_bytes_p = header;
    *payload_bytes_p = (uint32_t)rest;
    return 0;
}

/* Takes an ack that says something new, when nothing waits for it. */
static ALWAYS_INLINE bool take_ack(link_peer_head_t *p, uint32_t ack)
{
    if (p->clear == NULL || ack - p->tx_acked > p->tx_next - p->tx_acked)
        return false;
    p->tx_acked = ack;
    return true;
}

/* The link's part: the next DATA packet of a peer that owes us no ack and for whose ack nothing waits goes up at once.
 * rx_room is 0 where link/flow/rx.c wants to see every packet. */
static ALWAYS_INLINE void take_packet(shm_ep_t *ep, const uint8_t *bytes, uint32_t header_bytes, uint32_t payload_bytes)
{
    const link_lane_head_t *lane = ep->base.owner;
    uint32_t upper_bytes = header_bytes - LINK_HEADER_BYTES;
    link_peer_head_t *p = (link_peer_head_t *)lane->peer;
    if (UNLIKELY(upper_bytes >= lane->rx_room) || UNLIKELY(le_get_u64(bytes) != lane->rx_word)) {
        link_rx_other(&ep->base, bytes, header_bytes, bytes + header_bytes, payload_bytes);
        return;
    }
    uint64_t numbers = le_get_u64(bytes + 8);
    uint32_t sequence = (uint32_t)numbers;
    uint32_t ack = (uint32_t)(numbers >> 32);
    if (UNLIKELY(sequence != p->rx_next) || UNLIKELY(sequence - p->rx_acked >= p->owed_most) ||
        UNLIKELY(ack != p->tx_acked && !take_ack(p, ack))) {
        link_rx_other(&ep->base, bytes, header_bytes, bytes + header_bytes, payload_bytes);
        return;
    }
    p->rx_next = sequence + 1;
    take_message(p, bytes + LINK_HEADER_BYTES, upper_bytes, bytes + header_bytes, payload_bytes);
}

/* The protocol's part: an eager active message is recognised by one comparison. The handler may end the peer, so
 * nothing is looked at behind it. */
static ALWAYS_INLINE void take_message(link_peer_head_t *p, const uint8_t *bytes, uint32_t header_bytes,
                                       const uint8_t *payload, uint32_t payload_bytes)
{
    const proto_engine_t *engine = p->upper_engine;
    unsigned id;
    if (!proto_is_am(bytes, header_bytes, &id) || UNLIKELY(engine->handlers[id].func == NULL)) {
        proto_rx_other(p->upper_engine, (vbn_peer_t *)p, bytes, header_bytes, payload, payload_bytes);
        return;
    }
    const vbn_am_message_t message = {.peer = (vbn_peer_t *)p,
                                      .header = bytes + PROTO_PREFIX_BYTES,
                                      .header_length = header_bytes - PROTO_PREFIX_BYTES,
                                      .data = payload,
                                      .length = payload_bytes};
    engine->handlers[id].func(engine->handlers[id].arg, &message);
}
