/* SPDX-License-Identifier: Apache-2.0
 * shm_fast.h - what every short packet passes, to be compiled into the layers above: putting one into the ring, and a turn
 * of progress with the receiver of packets built in. The rare parts are calls into shm_progress.c. */
#ifndef VBN_TL_SHM_FAST_H
#define VBN_TL_SHM_FAST_H

#include "tl/shm/shm_private.h"

#define SHM_SHORT_HEADER 24u /* three words */
#define SHM_SHORT_MAX (SHM_SLOT_DATA - SHM_SHORT_HEADER)

/* At most SHM_SHORT_MAX bytes, in words as far as possible; never a call. */
static ALWAYS_INLINE void shm_short_copy(uint8_t *to, const uint8_t *from, size_t length)
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

/* Puts a packet with a header of three words and `length` bytes into its slot. False: not now, nothing has happened;
 * shm_short_open may help. The caller goes on with shm_tx_flagged. */
static ALWAYS_INLINE bool shm_tx_short(shm_tx_t *tx, uint64_t first, uint64_t second, uint64_t third, const void *data,
                                       size_t length)
{
    uint32_t position = tx->position;
    if (UNLIKELY(position == tx->limit))
        return false;
    shm_slot_t *slot = &tx->slots[position & tx->mask];
    le_put_u64(slot->data, first);
    le_put_u64(slot->data + 8, second);
    le_put_u64(slot->data + 16, third);
    shm_short_copy(slot->data + SHM_SHORT_HEADER, data, length);
    tx->position = ++position;
    tx->short_bytes += length;
    /* Release pairs with the acquire in shm_rx_slot; shm_short_open sees to it that no stronger order is needed. */
    atomic_set_release(&slot->word, shm_slot_word(position, SHM_SHORT_HEADER, length, SHM_INLINE));
    return true;
}

/* After shm_tx_short: must the consumer be told? Then shm_ep_tell follows. */
static ALWAYS_INLINE bool shm_tx_flagged(shm_tx_t *tx)
{
    atomic_signal_fence(memory_order_seq_cst); /* compiler only; the consumer's membarrier does the rest */
    return UNLIKELY(atomic_get_relaxed(&tx->control->tell) != 0);
}

typedef void shm_rx_func_t(tl_ep_t *ep, const void *header, uint32_t header_bytes, const void *payload,
                           uint32_t payload_bytes);

/* Frames that lie in their slot: copied, stepped over, handed up; returns how many. *rest: there is more to look at. */
static ALWAYS_INLINE unsigned shm_take_slots(shm_ep_t *ep, bool *rest, shm_rx_func_t *up)
{
    _Alignas(16) uint8_t copy[SHM_SLOT_DATA];
    shm_rx_t *rx = &ep->rx;
    unsigned count = 0;
    uint32_t bytes = 0;
    int found = 1;
    while (LIKELY(ep->rx_quick)) {
        uint32_t header_bytes, payload_bytes;
        if (UNLIKELY(rx->position == rx->due)) {
            shm_publish(ep);
            if (count >= SHM_FRAMES_PER_POLL)
                break;
        }
        found = shm_rx_slot(rx, copy, &header_bytes, &payload_bytes);
        if (found != 0)
            break;
        count++;
        bytes += header_bytes + payload_bytes;
        up(&ep->super, copy, header_bytes, copy + header_bytes, payload_bytes);
    }
    if (count > 0) {
        counters_t *counters = shm_ep_iface(ep)->params.counters;
        counter_add(counters, COUNTER_SHM_RX_PACKETS, count);
        counter_add(counters, COUNTER_SHM_RX_BYTES, bytes);
    }
    *rest = found >= 0;
    return count;
}

static ALWAYS_INLINE unsigned shm_poll_ring(shm_ep_t *ep, shm_rx_func_t *up)
{
    bool rest;
    unsigned count = shm_take_slots(ep, &rest, up);
    if (UNLIKELY(rest || ep->blocked))
        count = shm_poll_rest(ep, count);
    return count;
}

/* The transport's progress with `up` in place of upcalls.rx. */
static ALWAYS_INLINE unsigned shm_progress_with(shm_iface_t *iface, shm_rx_func_t *up)
{
    unsigned count = 0;
    if (UNLIKELY(iface->in_progress))
        return 0; /* called from an upcall */
    iface->in_progress = true;
    if (UNLIKELY(iface->armed))
        shm_wake_up(iface);
    if (UNLIKELY(iface->hot != iface->ring_count))
        shm_rings_ask_bell(iface);
    for (uint32_t i = 0; i < iface->hot; i++)
        if (LIKELY(iface->rings[i] != NULL))
            count += shm_poll_ring(iface->rings[i], up);
    if (UNLIKELY(iface->clock_in == 0))
        count += shm_poll_sockets(iface);
    else
        iface->clock_in--;
    iface->in_progress = false;
    if (UNLIKELY(iface->untidy))
        count += shm_tidy(iface);
    return count;
}

#endif
