/* SPDX-License-Identifier: Apache-2.0
 * shm_hot.c - which rings are polled at each turn. iface->rings holds all of them, the hot ones first: those are polled
 * each time, the others only when their bell rings. A ring gets cold when nothing went through it for a while and many
 * are hot; every 100 us a few cold ones are looked at all the same, so that no bell has to be trusted. */
#include "tl/shm/shm_private.h"

#include <stdlib.h>

#define HOT_ALWAYS 4u    /* so many rings are polled whether they are used or not: cheaper than to make them cold */
#define IDLE_LOOKS 16u   /* looks at the sockets (100 us) without a packet, until a ring is cold */
#define AWAKE_LOOKS 100u /* without a sleep, and a packet for each, until a ring's producer fences no more: 10 ms */
#define ROUND 32u        /* cold rings looked at each 100 us */

static void put(shm_iface_t *iface, uint32_t at, shm_ep_t *ep)
{
    iface->rings[at] = ep;
    if (ep != NULL)
        ep->ring_at = at;
}

static void swap(shm_iface_t *iface, uint32_t a, uint32_t b)
{
    shm_ep_t *kept = iface->rings[a];
    put(iface, a, iface->rings[b]);
    put(iface, b, kept);
}

vbn_status_t shm_ring_join(shm_ep_t *ep)
{
    shm_iface_t *iface = shm_ep_iface(ep);
    if (ep->in_rings)
        return VBN_OK;
    if (iface->ring_count == iface->ring_capacity) {
        uint32_t capacity = iface->ring_capacity == 0 ? 16 : iface->ring_capacity * 2;
        shm_ep_t **rings = realloc(iface->rings, capacity * sizeof(shm_ep_t *));
        if (rings == NULL)
            return err_set(VBN_ERR_NO_MEMORY, "no heap for a list of %u rings", capacity);
        iface->rings = rings;
        iface->ring_capacity = capacity;
    }
    ep->in_rings = true;
    put(iface, iface->ring_count++, ep);
    swap(iface, ep->ring_at, iface->hot++);
    return VBN_OK;
}

static void drop(shm_iface_t *iface, uint32_t at)
{
    if (at < iface->hot) { /* the last hot one takes its place, the last one that one's */
        swap(iface, at, --iface->hot);
        at = iface->hot;
    }
    swap(iface, at, --iface->ring_count);
}

void shm_ring_leave(shm_ep_t *ep)
{
    shm_iface_t *iface = shm_ep_iface(ep);
    if (!ep->in_rings)
        return;
    ep->in_rings = false;
    if (iface->in_progress) { /* somebody may walk over them */
        iface->rings[ep->ring_at] = NULL;
        iface->ring_holes = true;
        iface->untidy = true;
    } else {
        drop(iface, ep->ring_at);
    }
}

void shm_rings_close_holes(shm_iface_t *iface)
{
    for (uint32_t i = iface->ring_count; i-- > 0;)
        if (iface->rings[i] == NULL)
            drop(iface, i);
    iface->ring_holes = false;
}

void shm_ring_heat(shm_ep_t *ep)
{
    shm_iface_t *iface = shm_ep_iface(ep);
    if (!ep->in_rings || ep->ring_at < iface->hot)
        return;
    ep->idle_looks = 0;
    if (ep->rx_open)
        atomic_set_relaxed(&ep->rx.control->tell, shm_rx_tell(&ep->rx, 0));
    swap(iface, ep->ring_at, iface->hot++);
}

void shm_rings_ask_bell(shm_iface_t *iface)
{
    for (uint32_t word = 0; word < iface->bell_words; word++) {
        uint64_t bits = shm_bell_take(iface->bell, word);
        for (; bits != 0; bits &= bits - 1) {
            shm_ep_t *ep = iface->bell_rings[word * 64 + (uint32_t)__builtin_ctzll(bits)];
            if (ep != NULL)
                shm_ring_heat(ep);
        }
    }
}

static bool idle(shm_ep_t *ep)
{
    bool used = ep->looked_rx != ep->rx.position || ep->looked_tx != ep->tx.position;
    ep->looked_rx = ep->rx.position;
    ep->looked_tx = ep->tx.position;
    ep->idle_looks = used || !ep->ready || ep->blocked || ep->hup ? 0 : ep->idle_looks + 1;
    return ep->idle_looks >= IDLE_LOOKS && ep->bell_index != SHM_BELL_NONE;
}

/* Idle rings are marked, then the hot end of the list is drawn over those that are still empty. */
static void cool(shm_iface_t *iface)
{
    uint32_t marked = 0;
    bool first = false;
    for (uint32_t i = 0; i < iface->hot; i++) {
        shm_ep_t *ep = iface->rings[i];
        if (ep == NULL || !idle(ep))
            continue;
        first |= shm_rx_fence(&ep->rx);
        atomic_set_seq(&ep->rx.control->tell, shm_rx_tell(&ep->rx, SHM_COLD)); /* pairs with shm_tx_must_tell */
        marked++;
    }
    if (marked == 0)
        return;
    bool ordered = shm_order(iface, first);
    for (uint32_t i = iface->hot; i-- > 0;) {
        shm_ep_t *ep = iface->rings[i];
        if (ep == NULL || ep->idle_looks < IDLE_LOOKS || ep->bell_index == SHM_BELL_NONE)
            continue;
        ep->idle_looks = 0;
        if (!ordered || !shm_rx_empty(&ep->rx)) {
            atomic_set_relaxed(&ep->rx.control->tell, shm_rx_tell(&ep->rx, 0));
            continue;
        }
        if (shm_rx_unpublished(&ep->rx))
            shm_publish(ep);
        swap(iface, i, --iface->hot);
    }
}

/* A worker that has not slept for a while takes the fence from the producers that keep it busy: it costs each of their
 * packets more than the membarrier of the next sleep costs. Clearing needs no order: a fence too many does no harm. */
static void lighten(shm_iface_t *iface)
{
    for (uint32_t i = 0; i < iface->hot; i++) {
        shm_ep_t *ep = iface->rings[i];
        if (ep == NULL || !ep->rx_open || ep->hup)
            continue;
        if (ep->rx.fenced && ep->rx.position - ep->busy_from >= AWAKE_LOOKS && iface->ring_count <= SHM_LIGHT_RINGS) {
            ep->rx.fenced = false;
            atomic_set_relaxed(&ep->rx.control->tell, 0);
        }
        ep->busy_from = ep->rx.position;
    }
}

void shm_rings_look(shm_iface_t *iface)
{
    if (++iface->awake_looks % AWAKE_LOOKS == 0)
        lighten(iface);
    for (uint32_t i = 0; i < iface->hot; i++)
        if (iface->rings[i] != NULL)
            shm_count_short(iface->rings[i]);
    if (iface->hot > HOT_ALWAYS)
        cool(iface);
    uint32_t cold = iface->ring_count - iface->hot;
    for (uint32_t i = 0; i < ROUND && i < cold; i++) {
        uint32_t at = iface->hot + iface->round++ % cold;
        shm_ep_t *ep = iface->rings[at];
        if (ep != NULL && ep->rx_open && !shm_rx_empty(&ep->rx))
            shm_ring_heat(ep); /* one cold ring less from here on: the rest of the round may meet one twice */
        cold = iface->ring_count - iface->hot;
    }
}

/* -------------------------------------------------------------------------------------------------- the bell */

bool shm_bell_join(shm_ep_t *ep)
{
    shm_iface_t *iface = shm_ep_iface(ep);
    uint32_t index = iface->bell_from;
    while (index < iface->bell_words * 64 && iface->bell_rings[index] != NULL)
        index++;
    if (index >= SHM_BELL_RINGS)
        return false;
    if (index == iface->bell_words * 64) {
        shm_ep_t **rings = realloc(iface->bell_rings, (index + 64) * sizeof(shm_ep_t *));
        if (rings == NULL)
            return false;
        iface->bell_rings = rings;
        for (uint32_t i = index; i < index + 64; i++)
            rings[i] = NULL;
        iface->bell_words++;
    }
    iface->bell_rings[index] = ep;
    iface->bell_from = index + 1;
    ep->bell_index = index;
    return true;
}

void shm_bell_leave(shm_ep_t *ep)
{
    shm_iface_t *iface = shm_ep_iface(ep);
    if (ep->bell_index == SHM_BELL_NONE)
        return;
    iface->bell_rings[ep->bell_index] = NULL;
    if (ep->bell_index < iface->bell_from)
        iface->bell_from = ep->bell_index;
    ep->bell_index = SHM_BELL_NONE;
}
