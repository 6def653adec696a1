/* SPDX-License-Identifier: Apache-2.0
 * fast_send.c - the way of a short message out, from the call to its slot in the ring, in this order.
 *
 *   fast_am_send, fast_tag_send    a plain message: one buffer, no header, no flags    other: proto_am_send, proto_tag_send
 *   send_word, send_short          8 bytes, or any number that a slot takes            other, or not now: send_again
 *   to_ring        numbers and acknowledges as link_send would
 *   to_slot        writes and publishes the packet
 *   sent           counts the message, completes the operation
 *
 * No call on the way, so that nothing has to be saved for one: what is rare is a tail call. Credits are not looked at:
 * open_ring lets only as many packets into the ring as there are credits, and whatever takes a credit takes a slot. The
 * credit of tagged messages is another one (tag_credit.c), and is looked at.
 *
 * `kind` and the functions' names are known to the compiler: am_ and tag_ are the same way with another header. */
#include "base/fork.h"
#include "fast/fast.h"
#include "proto/traffic.h"
#include "tl/shm/shm_private.h"

#define RARE __attribute__((noinline))

/* Slots behind the next one: the consumer, which has read one a lap ago, gives its line away before a message goes there. Stores
 * to lines that another processor has wait for each other. */
#define AHEAD 8u

typedef enum kind { AM, TAGGED } kind_t; /* `what` is then the id or the tag */

static vbn_status_t am_word(vbn_peer_t *peer, uint64_t what, const struct iovec *iov, vbn_op_t *op);
static vbn_status_t am_short(vbn_peer_t *peer, uint64_t what, const struct iovec *iov, vbn_op_t *op);
static vbn_status_t am_again(vbn_peer_t *peer, uint64_t what, const struct iovec *iov, vbn_op_t *op);
static vbn_status_t tag_word(vbn_peer_t *peer, uint64_t what, const struct iovec *iov, vbn_op_t *op);
static vbn_status_t tag_short(vbn_peer_t *peer, uint64_t what, const struct iovec *iov, vbn_op_t *op);
static vbn_status_t tag_again(vbn_peer_t *peer, uint64_t what, const struct iovec *iov, vbn_op_t *op);
static vbn_status_t to_ring(kind_t kind, vbn_peer_t *peer, shm_ep_t *ep, uint64_t what, const void *data, size_t length,
                            vbn_op_t *op);
static void to_slot(kind_t kind, shm_tx_t *tx, uint64_t first, uint64_t second, uint64_t what, const void *data,
                    size_t length);
static vbn_status_t sent(kind_t kind, vbn_peer_t *peer, size_t length, vbn_op_t *op);
static vbn_status_t am_tell(vbn_peer_t *peer, shm_ep_t *ep, size_t length, vbn_op_t *op);
static vbn_status_t tag_tell(vbn_peer_t *peer, shm_ep_t *ep, size_t length, vbn_op_t *op);

vbn_status_t fast_am_send(vbn_peer_t *peer, unsigned id, const void *header, size_t header_length,
                          const struct iovec *iov, size_t count, unsigned flags, vbn_op_t *op)
{
    if (LIKELY((header_length | (count ^ 1) | flags | (id & ~(VBN_AM_IDS - 1u))) == 0))
        return am_word(peer, id & (VBN_AM_IDS - 1u), iov, op);
    return proto_am_send(peer, id, header, header_length, iov, count, flags, op);
}

vbn_status_t fast_tag_send(vbn_peer_t *peer, uint64_t tag, const struct iovec *iov, size_t count, unsigned flags,
                           vbn_op_t *op)
{
    if (LIKELY(((count ^ 1) | flags) == 0))
        return tag_word(peer, tag, iov, op);
    return proto_tag_send(peer, tag, iov, count, flags, op);
}

/* A slot takes so much data, and the peer so much more. */
static ALWAYS_INLINE bool fits(kind_t kind, const vbn_peer_t *peer, size_t length)
{
    if (kind == AM)
        return LIKELY(length < proto_engine_of(peer)->short_end);
    const proto_peer_t *p = link_peer_upper(peer);
    return LIKELY(length + FAST_TAG_BYTES < proto_engine_of(peer)->short_end) &&
           LIKELY(length + PROTO_TAG_COST <= p->tag_credit);
}

/* The endpoint into whose ring this message may go now, or NULL. The order of the conditions keeps the compiler from
 * computing several before it branches. */
static ALWAYS_INLINE shm_ep_t *ring_for(kind_t kind, const vbn_peer_t *peer, const struct iovec *iov, size_t length,
                                        const vbn_op_t *op)
{
    const link_peer_head_t *p = (const link_peer_head_t *)peer;
    if (UNLIKELY(p == NULL) || !fits(kind, peer, length) || UNLIKELY(op == NULL) || UNLIKELY(iov->iov_base == NULL))
        return NULL;
    shm_ep_t *ep = (shm_ep_t *)p->clear;
    if (UNLIKELY(ep == NULL) || UNLIKELY(os_fork_generation_now() != p->fork_generation) ||
        UNLIKELY(ep->tx.position == ep->tx.limit))
        return NULL;
    return ep;
}

typedef vbn_status_t (*send_func_t)(vbn_peer_t *peer, uint64_t what, const struct iovec *iov, vbn_op_t *op);

/* The most frequent length is known to the compiler here. */
static ALWAYS_INLINE vbn_status_t send_word(kind_t kind, vbn_peer_t *peer, uint64_t what, const struct iovec *iov,
                                            vbn_op_t *op, send_func_t send_short, send_func_t send_again)
{
    if (UNLIKELY(iov == NULL))
        return send_again(peer, what, iov, op);
    if (UNLIKELY(iov->iov_len != 8))
        return send_short(peer, what, iov, op);
    shm_ep_t *ep = ring_for(kind, peer, iov, 8, op);
    return LIKELY(ep != NULL) ? to_ring(kind, peer, ep, what, iov->iov_base, 8, op) : send_again(peer, what, iov, op);
}

static RARE vbn_status_t am_word(vbn_peer_t *peer, uint64_t what, const struct iovec *iov, vbn_op_t *op)
{
    return send_word(AM, peer, what, iov, op, am_short, am_again);
}

static RARE vbn_status_t tag_word(vbn_peer_t *peer, uint64_t what, const struct iovec *iov, vbn_op_t *op)
{
    return send_word(TAGGED, peer, what, iov, op, tag_short, tag_again);
}

static ALWAYS_INLINE vbn_status_t send_short(kind_t kind, vbn_peer_t *peer, uint64_t what, const struct iovec *iov,
                                             vbn_op_t *op, send_func_t send_again)
{
    shm_ep_t *ep = ring_for(kind, peer, iov, iov->iov_len, op);
    return LIKELY(ep != NULL) ? to_ring(kind, peer, ep, what, iov->iov_base, iov->iov_len, op)
                              : send_again(peer, what, iov, op);
}

static RARE vbn_status_t am_short(vbn_peer_t *peer, uint64_t what, const struct iovec *iov, vbn_op_t *op)
{
    return send_short(AM, peer, what, iov, op, am_again);
}

static RARE vbn_status_t tag_short(vbn_peer_t *peer, uint64_t what, const struct iovec *iov, vbn_op_t *op)
{
    return send_short(TAGGED, peer, what, iov, op, tag_again);
}

/* Gives the ring what slots and credits there are. False: none, or the fast lane is closed. */
static bool open_ring(const vbn_peer_t *peer)
{
    const link_peer_head_t *p = (const link_peer_head_t *)peer;
    return p->clear != NULL && os_fork_generation_now() == p->fork_generation &&
           shm_short_open((shm_ep_t *)p->clear, p->window - (p->tx_next - p->tx_acked));
}

/* For a plain message that is too long for a slot, or has found none: the ring is opened for more packets, once per lap. The
 * endpoint, or NULL: not now, or not by the fast lane. */
static ALWAYS_INLINE shm_ep_t *ring_again(kind_t kind, const vbn_peer_t *peer, const struct iovec *iov,
                                          const vbn_op_t *op)
{
    bool is_short = peer != NULL && op != NULL && iov != NULL && iov->iov_base != NULL &&
                    fits(kind, peer, iov->iov_len);
    return is_short && open_ring(peer) ? (shm_ep_t *)((const link_peer_head_t *)peer)->clear : NULL;
}

static RARE vbn_status_t am_again(vbn_peer_t *peer, uint64_t what, const struct iovec *iov, vbn_op_t *op)
{
    shm_ep_t *ep = ring_again(AM, peer, iov, op);
    return ep != NULL ? to_ring(AM, peer, ep, what, iov->iov_base, iov->iov_len, op)
                      : proto_am_send(peer, (unsigned)what, NULL, 0, iov, 1, 0, op);
}

static RARE vbn_status_t tag_again(vbn_peer_t *peer, uint64_t what, const struct iovec *iov, vbn_op_t *op)
{
    shm_ep_t *ep = ring_again(TAGGED, peer, iov, op);
    return ep != NULL ? to_ring(TAGGED, peer, ep, what, iov->iov_base, iov->iov_len, op)
                      : proto_tag_send(peer, what, iov, 1, 0, op);
}

/* The link's part: a DATA packet with the next number, which also acknowledges all that has come. */
static ALWAYS_INLINE vbn_status_t to_ring(kind_t kind, vbn_peer_t *peer, shm_ep_t *ep, uint64_t what, const void *data,
                                          size_t length, vbn_op_t *op)
{
    link_peer_head_t *p = (link_peer_head_t *)peer;
    uint64_t numbers = (uint64_t)p->tx_next | (uint64_t)p->rx_next << 32;
    if (p->tx_next != p->tx_acked) /* the peer has not answered the last one: a stream */
        prefetch_to_write(&ep->tx.slots[(ep->tx.position + AHEAD) & ep->tx.mask]);
    to_slot(kind, &ep->tx, p->data_word, numbers, what, data, length);
    p->tx_next++;
    p->rx_acked = p->rx_next;
    if (UNLIKELY(shm_tx_asked(&ep->tx)))
        return kind == AM ? am_tell(peer, ep, length, op) : tag_tell(peer, ep, length, op);
    return sent(kind, peer, length, op);
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
static ALWAYS_INLINE void to_slot(kind_t kind, shm_tx_t *tx, uint64_t first, uint64_t second, uint64_t what,
                                  const void *data, size_t length)
{
    const uint32_t header_bytes = FAST_HEADER_BYTES + (kind == AM ? 0 : FAST_TAG_BYTES);
    uint32_t position = tx->position;
    shm_slot_t *slot = &tx->slots[position & tx->mask];
    le_put_u64(slot->data, first);
    le_put_u64(slot->data + 8, second);
    le_put_u64(slot->data + 16, kind == AM ? PROTO_AM_WORD(what, 0) : PROTO_TAG_WORD);
    if (kind == TAGGED)
        le_put_u64(slot->data + FAST_HEADER_BYTES, what);
    copy_short(slot->data + header_bytes, data, length);
    tx->position = ++position;
    tx->short_bytes += header_bytes + length;
    /* Release pairs with the acquire of from_slot and shm_rx_peek; shm_short_open sees to it that this is enough. */
    atomic_set_release(&slot->word, shm_slot_word(position, header_bytes, length, SHM_INLINE));
}

static ALWAYS_INLINE vbn_status_t sent(kind_t kind, vbn_peer_t *peer, size_t length, vbn_op_t *op)
{
    proto_engine_t *engine = proto_engine_of(peer);
    if (kind == TAGGED) {
        ((proto_peer_t *)link_peer_upper(peer))->tag_credit -= (uint32_t)length + PROTO_TAG_COST;
        counter_add(engine->counters, COUNTER_TAG_SMALL, 1);
    }
    traffic_short(engine, TRAFFIC_AT(TRAFFIC_SHM), kind == AM ? TRAFFIC_AM : TRAFFIC_TAG, length);
    return op_set_done(op, VBN_OK, length);
}

/* The consumer has asked to be told of packets. */
static COLD vbn_status_t am_tell(vbn_peer_t *peer, shm_ep_t *ep, size_t length, vbn_op_t *op)
{
    shm_ep_tell(ep);
    return sent(AM, peer, length, op);
}

static COLD vbn_status_t tag_tell(vbn_peer_t *peer, shm_ep_t *ep, size_t length, vbn_op_t *op)
{
    shm_ep_tell(ep);
    return sent(TAGGED, peer, length, op);
}
