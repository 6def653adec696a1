/* SPDX-License-Identifier: Apache-2.0
 * link_fast.h - the link's part of what every short message passes, to be compiled into the layer above: a short packet
 * straight into the ring of shared memory, and a packet that is just the next one straight to the upper layer. Whatever is
 * not ordinary goes through link_send and link_rx_other. */
#ifndef VBN_LINK_FAST_H
#define VBN_LINK_FAST_H

#include "base/fork.h"
#include "link/link.h"
#include "tl/shm/shm_fast.h"

#define LINK_SHORT_MAX SHM_SHORT_MAX

/* The first fields of every lane. */
#define LINK_LANE_HEAD                                                                                    \
    vbn_peer_t *peer; /* NULL until proved for accepted lanes */                                          \
    uint64_t rx_word; /* bytes 0 to 7 of the peer's DATA packets */                                       \
    uint32_t rx_room; /* packets with fewer bytes of upper header may go straight up; 0: none may */     \
    uint32_t local_connection; /* what the peer calls it in its packets */
typedef struct link_lane_head {
    LINK_LANE_HEAD
} link_lane_head_t;

typedef enum link_short { LINK_SHORT_NO, LINK_SHORT_SENT, LINK_SHORT_TELL } link_short_t;

/* Sends an upper header of 8 bytes (a little-endian number) and at most LINK_SHORT_MAX bytes of data, which are copied.
 * NO: not possible now, nothing has happened: try link_short_more, or use link_send. TELL: sent, and link_short_tell must
 * follow. Credits are not looked at here: link_short_more opens the ring only for as many packets as there are credits,
 * and whatever takes a credit takes a slot of the ring. */
static ALWAYS_INLINE link_short_t link_send_short(vbn_peer_t *peer, uint64_t header, const void *data, size_t length)
{
    link_peer_head_t *p = (link_peer_head_t *)peer;
    struct shm_ep *ep = p->clear;
    uint64_t numbers = (uint64_t)p->tx_next | (uint64_t)p->rx_next << 32;
    if (UNLIKELY(ep == NULL) || UNLIKELY(os_fork_generation_now() != p->fork_generation) ||
        UNLIKELY(!shm_tx_short(&ep->tx, p->data_word, numbers, header, data, length)))
        return LINK_SHORT_NO;
    p->tx_next++;
    p->rx_acked = p->rx_next;
    return shm_tx_flagged(&ep->tx) ? LINK_SHORT_TELL : LINK_SHORT_SENT;
}

/* Gives link_send_short what room and credits there are. True: try again. */
bool link_short_more(vbn_peer_t *peer);

static inline void link_short_tell(const vbn_peer_t *peer)
{
    shm_ep_tell(((const link_peer_head_t *)peer)->clear);
}

typedef void link_rx_func_t(void *arg, vbn_peer_t *peer, const void *header, uint32_t header_bytes, const void *payload,
                            uint32_t payload_bytes);

/* link_rx.c: any packet, with all checks. */
void link_rx_other(tl_ep_t *ep, const void *header, uint32_t header_bytes, const void *payload, uint32_t payload_bytes);

/* Takes an ack that says something new, when nothing waits for it. */
static ALWAYS_INLINE bool link_ack_plain(link_peer_head_t *p, uint32_t ack)
{
    if (p->clear == NULL || ack - p->tx_acked > p->tx_next - p->tx_acked)
        return false;
    p->tx_acked = ack;
    return true;
}

/* A packet: the next DATA packet of a peer that owes us no ack and for whose ack nothing waits goes straight to `up`. */
static ALWAYS_INLINE void link_rx_with(tl_ep_t *ep, const void *header, uint32_t header_bytes, const void *payload,
                                       uint32_t payload_bytes, link_rx_func_t *up)
{
    const link_lane_head_t *lane = ep->owner;
    const uint8_t *bytes = header;
    uint32_t upper_bytes = header_bytes - LINK_HEADER_BYTES;
    link_peer_head_t *p = (link_peer_head_t *)lane->peer;
    if (UNLIKELY(upper_bytes >= lane->rx_room) || UNLIKELY(le_get_u64(bytes) != lane->rx_word)) {
        link_rx_other(ep, header, header_bytes, payload, payload_bytes);
        return;
    }
    uint64_t numbers = le_get_u64(bytes + 8);
    uint32_t sequence = (uint32_t)numbers;
    uint32_t ack = (uint32_t)(numbers >> 32);
    if (UNLIKELY(sequence != p->rx_next) || UNLIKELY(sequence - p->rx_acked >= p->owed_most) ||
        UNLIKELY(ack != p->tx_acked && !link_ack_plain(p, ack))) {
        link_rx_other(ep, header, header_bytes, payload, payload_bytes);
        return;
    }
    p->rx_next = sequence + 1;
    up(p->upper_engine, (vbn_peer_t *)p, bytes + LINK_HEADER_BYTES, upper_bytes, payload, payload_bytes);
}

#endif
