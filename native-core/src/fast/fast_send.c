/* SPDX-License-Identifier: Apache-2.0
 * fast_send.c - the way of a short message out, from the call to its slot in the ring, in this order.
 *
 *   fast_am_send   a plain message: one buffer, no header, no flags     other: proto_am_send
 *   send_word, send_short    8 bytes, or any number that a slot takes   other, or not now: send_again
 *   to_ring        numbers and acknowledges as link_send would
 *   to_slot        writes and publishes the packet
 *   sent           counts the message, completes the operation
 *
 * No call on the way, so that nothing has to be saved for one: what is rare is a tail call. Credits are not looked at:
 * open_ring lets only as many packets into the ring as there are credits, and whatever takes a credit takes a slot. */
#include "base/fork.h"
#include "fast/fast.h"
#include "proto/traffic.h"
#include "tl/shm/shm_private.h"

#define RARE __attribute__((noinline))

static vbn_status_t send_word(vbn_peer_t *peer, unsigned id, const struct iovec *iov, vbn_op_t *op);
static vbn_status_t send_short(vbn_peer_t *peer, unsigned id, const struct iovec *iov, vbn_op_t *op);
static vbn_status_t send_again(vbn_peer_t *peer, unsigned id, const struct iovec *iov, vbn_op_t *op);
static vbn_status_t to_ring(vbn_peer_t *peer, shm_ep_t *ep, unsigned id, const void *data, size_t length, vbn_op_t *op);
static void to_slot(shm_tx_t *tx, uint64_t first, uint64_t second, uint64_t third, const void *data, size_t length);
static vbn_status_t sent(vbn_peer_t *peer, size_t length, vbn_op_t *op);
static vbn_status_t tell(vbn_peer_t *peer, shm_ep_t *ep, size_t length, vbn_op_t *op);

vbn_status_t fast_am_send(vbn_peer_t *peer, unsigned id, const void *header, size_t header_length,
                          const struct iovec *iov, size_t count, unsigned flags, vbn_op_t *op)
{
    if (LIKELY((header_length | (count ^ 1) | flags | (id & ~(VBN_AM_IDS - 1u))) == 0))
        return send_word(peer, id, iov, op);
    return proto_am_send(peer, id, header, header_length, iov, count, flags, op);
}

/* The endpoint into whose ring this message may go now, or NULL. The order of the conditions keeps the compiler from
 * computing several before it branches. */
static ALWAYS_INLINE shm_ep_t *ring_for(const vbn_peer_t *peer, const struct iovec *iov, size_t length,
                                        const vbn_op_t *op)
{
    const link_peer_head_t *p = (const link_peer_head_t *)peer;
    if (UNLIKELY(p == NULL) || UNLIKELY(length >= proto_engine_of(peer)->short_end) || UNLIKELY(op == NULL) ||
        UNLIKELY(iov->iov_base == NULL))
        return NULL;
    shm_ep_t *ep = (shm_ep_t *)p->clear;
    if (UNLIKELY(ep == NULL) || UNLIKELY(os_fork_generation_now() != p->fork_generation) ||
        UNLIKELY(ep->tx.position == ep->tx.limit))
        return NULL;
    return ep;
}

/* The most frequent length is known to the compiler here. */
static RARE vbn_status_t send_word(vbn_peer_t *peer, unsigned id, const struct iovec *iov, vbn_op_t *op)
{
    if (UNLIKELY(iov == NULL))
        return send_again(peer, id, iov, op);
    if (UNLIKELY(iov->iov_len != 8))
        return send_short(peer, id, iov, op);
    shm_ep_t *ep = ring_for(peer, iov, 8, op);
    return LIKELY(ep != NULL) ? to_ring(peer, ep, id, iov->iov_base, 8, op) : send_again(peer, id, iov, op);
}

static RARE vbn_status_t send_short(vbn_peer_t *peer, unsigned id, const struct iovec *iov, vbn_op_t *op)
{
    shm_ep_t *ep = ring_for(peer, iov, iov->iov_len, op);
    return LIKELY(ep != NULL) ? to_ring(peer, ep, id, iov->iov_base, iov->iov_len, op) : send_again(peer, id, iov, op);
}

/* Gives the ring what slots and credits there are. False: none, or the fast lane is closed. */
static bool open_ring(const vbn_peer_t *peer)
{
    const link_peer_head_t *p = (const link_peer_head_t *)peer;
    return p->clear != NULL && os_fork_generation_now() == p->fork_generation &&
           shm_short_open((shm_ep_t *)p->clear, p->window - (p->tx_next - p->tx_acked));
}

/* A plain message that is too long for a slot, or has found none: the ring is opened for more packets, once per lap. */
static RARE vbn_status_t send_again(vbn_peer_t *peer, unsigned id, const struct iovec *iov, vbn_op_t *op)
{
    bool is_short = peer != NULL && op != NULL && iov != NULL && iov->iov_base != NULL &&
                    iov->iov_len < proto_engine_of(peer)->short_end;
    if (is_short && open_ring(peer))
        return to_ring(peer, (shm_ep_t *)((link_peer_head_t *)peer)->clear, id, iov->iov_base, iov->iov_len, op);
    return proto_am_send(peer, id, NULL, 0, iov, 1, 0, op);
}

/* The link's part: a DATA packet with the next number, which also acknowledges all that has come. */
static ALWAYS_INLINE vbn_status_t to_ring(vbn_peer_t *peer, shm_ep_t *ep, unsigned id, const void *data, size_t length,
                                          vbn_op_t *op)
{
    link_peer_head_t *p = (link_peer_head_t *)peer;
    uint64_t numbers = (uint64_t)p->tx_next | (uint64_t)p->rx_next << 32;
    to_slot(&ep->tx, p->data_word, numbers, PROTO_AM_WORD(id, 0), data, length);
    p->tx_next++;
    p->rx_acked = p->rx_next;
    atomic_signal_fence(memory_order_seq_cst); /* compiler only; the consumer's membarrier does the rest (shm_ring.h) */
    if (UNLIKELY(atomic_get_relaxed(&ep->tx.control->tell) != 0))
        return tell(peer, ep, length, op);
    return sent(peer, length, op);
}

/* In words as far as possible; never a call. */
static ALWAYS_INLINE void copy_short(uint8_t *to, const uint8_t *from, size_t length)
{
    if (LIKELY(length == 8)) {
        memcpy(to, from, 8);
        return;
    }
    for (; length >= 8; length -= 8, to += 8, from += 8)
        memcpy(to, from, 8);
    for (; length > 0; length--)
        *to++ = *from++;
}

/* The ring's part, as shm_tx_put: a packet that lies in its slot alone, below tx->limit. */
static ALWAYS_INLINE void to_slot(shm_tx_t *tx, uint64_t first, uint64_t second, uint64_t third, const void *data,
                                  size_t length)
{
    uint32_t position = tx->position;
    shm_slot_t *slot = &tx->slots[position & tx->mask];
    le_put_u64(slot->data, first);
    le_put_u64(slot->data + 8, second);
    le_put_u64(slot->data + 16, third);
    copy_short(slot->data + FAST_HEADER_BYTES, data, length);
    tx->position = ++position;
    tx->short_bytes += FAST_HEADER_BYTES + length;
    /* Release pairs with the acquire of from_slot and shm_rx_peek; shm_short_open sees to it that this is enough. */
    atomic_set_release(&slot->word, shm_slot_word(position, FAST_HEADER_BYTES, length, SHM_INLINE));
}

static ALWAYS_INLINE vbn_status_t sent(vbn_peer_t *peer, size_t length, vbn_op_t *op)
{
    traffic_short(proto_engine_of(peer), TRAFFIC_AT(TRAFFIC_SHM), TRAFFIC_AM, length);
    return op_set_done(op, VBN_OK, length);
}

/* The consumer has asked to be told of packets. */
static COLD vbn_status_t tell(vbn_peer_t *peer, shm_ep_t *ep, size_t length, vbn_op_t *op)
{
    shm_ep_tell(ep);
    return sent(peer, length, op);
}
