/* SPDX-License-Identifier: Apache-2.0
 * shm_progress.c - the polling loop, and going to sleep.
 *
 * Rings are polled at every call, sockets only when something says so (an opening pair, a KICK, a wake-up) and every
 * 100 us: a look at the sockets costs a system call, a look at an empty ring one cached load. */
#include "tl/shm/shm_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/os.h"

#define EVENTS_PER_POLL 32

/* The header, and an inline payload with it, is copied first: the upper layers parse it, and the peer could change it
 * under them. A payload in the data area is user data and stays where it is, unless the upper layer names a place. */
static void deliver(shm_ep_t *ep, const shm_frame_t *frame)
{
    const tl_upcalls_t *up = &shm_ep_iface(ep)->params.upcalls;
    _Alignas(16) uint8_t copy[SHM_HEADER_MAX];
    bool in_slot = frame->kind == SHM_INLINE;
    bytes_copy(copy, frame->header, frame->header_bytes + (in_slot ? frame->payload_bytes : 0));
    const void *payload = in_slot ? copy + frame->header_bytes : frame->payload;
    void *place = NULL;
    counter_add(shm_ep_iface(ep)->params.counters, COUNTER_SHM_RX_PACKETS, 1);
    counter_add(shm_ep_iface(ep)->params.counters, COUNTER_SHM_RX_BYTES, frame->header_bytes + frame->payload_bytes);
    if (up->sink != NULL && !in_slot)
        place = up->sink(&ep->base, copy, frame->header_bytes, frame->payload_bytes);
    if (place != NULL && !ep->gone && tl_write_begin(up, &ep->base, place)) {
        bytes_copy_seen(place, frame->payload, frame->payload_bytes, place);
        tl_write_end(up, &ep->base, place);
        payload = place;
    }
    if (!ep->gone)
        up->rx(&ep->base, copy, frame->header_bytes, payload, frame->payload_bytes);
}

/* A frame of a small ring, which may complete a packet. */
static void take_small_frame(shm_ep_t *ep, shm_frame_t *frame)
{
    shm_frame_t whole;
    uint8_t *packet = shm_small_frame(ep, frame, &whole);
    if (packet != NULL)
        deliver(ep, &whole);
    free(packet);
}

/* The next frame. False: there is none, or the endpoint is no longer readable. */
static COLD bool take_frame(shm_ep_t *ep)
{
    shm_frame_t frame;
    int found = shm_rx_peek(&ep->rx, &frame);
    if (found == 0)
        return false;
    if (found < 0) {
        shm_ep_fail(ep, VBN_ERR_PROTOCOL, "same-host peer wrote a malformed frame into the ring");
        return false;
    }
    if (frame.kind == SHM_KICK) {
        shm_attend(shm_ep_iface(ep));
    } else if (frame.kind == SHM_INLINE || frame.kind == SHM_CHUNK) {
        deliver(ep, &frame);
    } else {
        take_small_frame(ep, &frame);
    }
    bool owed = shm_rx_consume(&ep->rx, &frame); /* the mapping outlives a disconnect in the upcall (S3) */
    owed |= frame.kind == SHM_GROW;              /* its sender waits for the answer */
    if (ep->hup && ++ep->frames_after_hup > ep->rx.geometry.slots) {
        shm_ep_fail(ep, VBN_ERR_PROTOCOL, "same-host peer writes into the ring after it closed its socket");
        return false;
    }
    if (owed && ep->rx_open)
        shm_publish(ep);
    return ep->rx_open;
}

/* There is room again? What waited goes out in the upcall, and operations may complete: an event. */
static bool unblock(shm_ep_t *ep)
{
    vbn_status_t status = shm_tx_refresh(&ep->tx);
    if (status != VBN_OK) {
        shm_ep_fail(ep, status, err_text());
        return false;
    }
    if (ep->tx.small && !shm_small_unblock(ep))
        return false;
    if (!shm_tx_slot_free(&ep->tx) || !shm_tx_data_free(&ep->tx))
        return false;
    ep->blocked = false;
    shm_ep_iface(ep)->params.upcalls.tx_ready(&ep->base);
    return true;
}

COLD unsigned shm_poll_rest(shm_ep_t *ep, unsigned count)
{
    if (ep->rx_open && count < SHM_FRAMES_PER_POLL && take_frame(ep))
        return count + 1;
    if (ep->hup && ep->rx_open && count < SHM_FRAMES_PER_POLL) /* found empty */
        shm_ep_fail(ep, VBN_ERR_PEER_LOST, "same-host peer closed its socket: it ended or disconnected");
    if (ep->blocked && ep->tx_open && unblock(ep))
        count++;
    return count;
}

static void redial(shm_iface_t *iface)
{
    list_link_t *next;
    for (list_link_t *link = iface->eps.next; link != &iface->eps && iface->dialing > 0; link = next) {
        shm_ep_t *ep = container_of(link, shm_ep_t, link);
        if (ep->dialing)
            shm_ep_redial(ep);
        next = ep->gone ? iface->eps.next : link->next; /* an upcall disconnected it: start over */
    }
}

static bool clock_due(shm_iface_t *iface)
{
    uint64_t now = os_now_ns();
    seldom_asked(&iface->clock, now);
    return now - iface->polled_ns >= SHM_SOCKET_POLL_NS;
}

COLD unsigned shm_poll_sockets(shm_iface_t *iface)
{
    struct epoll_event events[EVENTS_PER_POLL];
    if (!iface->attention && iface->opening == 0 && !clock_due(iface))
        return 0;
    iface->attention = false;
    iface->polled_ns = os_now_ns();
    if (iface->polled_ns - iface->looked_ns >= SHM_SOCKET_POLL_NS) {
        iface->looked_ns = iface->polled_ns;
        shm_rings_look(iface);
    }
    int found = epoll_wait(iface->epoll_fd, events, EVENTS_PER_POLL, 0);
    unsigned count = 0;
    for (int i = 0; i < found; i++) {
        shm_ep_t *ep = events[i].data.ptr;
        if (ep == NULL) {
            shm_listen_accept(iface);
            count++;
            continue;
        }
        if (ep->gone || ep->broken) /* freed after progress only, so looking is safe */
            continue;
        if ((events[i].events & ~(uint32_t)EPOLLOUT) != 0)
            count += shm_socket_read(ep);
        if ((events[i].events & EPOLLOUT) != 0 && !ep->gone && !ep->broken && !ep->hup)
            shm_outbox_flush(ep);
    }
    if (iface->dialing > 0)
        redial(iface);
    if (found == EVENTS_PER_POLL)
        shm_attend(iface);
    if (iface->opening > 0)
        iface->clock.in = 0;
    return count;
}

static unsigned report_failed(shm_iface_t *iface)
{
    unsigned count = 0;
    list_link_t *link;
    while ((link = list_pop(&iface->failed)) != NULL) {
        shm_ep_t *ep = container_of(link, shm_ep_t, failed_link);
        const char *text = ep->error_text != NULL ? ep->error_text : "same-host peer failed";
        count++;
        (void)err_set(ep->error, "%s", text);
        shm_import_end(ep, ep->error, true);
        if (!ep->gone)
            iface->params.upcalls.ep_error(&ep->base, ep->error, text);
    }
    return count;
}

/* Tells the owners of what failed, and frees what has gone: outside of everything that looks at endpoints (S3). */
COLD unsigned shm_tidy(shm_iface_t *iface)
{
    list_link_t *link;
    iface->in_progress = true;
    unsigned count = report_failed(iface);
    iface->in_progress = false;
    if (iface->ring_holes)
        shm_rings_close_holes(iface);
    while ((link = list_pop(&iface->dead)) != NULL)
        shm_ep_free(container_of(link, shm_ep_t, link));
    iface->untidy = false;
    return count;
}

/* Takes back the flags that arm() set. */
static void disarm(shm_iface_t *iface)
{
    atomic_set_relaxed(&iface->bell->asleep, 0);
    for (uint32_t i = 0; i < iface->hot; i++) {
        shm_ep_t *ep = iface->rings[i];
        if (ep->rx_open)
            atomic_set_relaxed(&ep->rx.control->tell, shm_rx_tell(&ep->rx, 0));
        if (ep->tx_open)
            atomic_set_relaxed(&ep->tx.control->waiting, 0);
    }
    iface->armed = false;
}

COLD void shm_wake_up(shm_iface_t *iface)
{
    disarm(iface);
    shm_attend(iface);
}

static unsigned poll_ring(shm_ep_t *ep)
{
    unsigned count = 0, before;
    do {
        before = count;
        count = shm_poll_rest(ep, count);
    } while (count != before && before < SHM_FRAMES_PER_POLL); /* of what is blocked once beyond it */
    return count;
}

unsigned shm_progress(tl_iface_t *tl_iface)
{
    shm_iface_t *iface = (shm_iface_t *)tl_iface;
    unsigned count = 0;
    if (!shm_turn_begin(iface))
        return 0;
    for (uint32_t i = 0; i < iface->hot; i++)
        if (iface->rings[i] != NULL)
            count += poll_ring(iface->rings[i]);
    return shm_turn_end(iface, count);
}

/* True when this endpoint has something to do after its flags were set. */
static bool busy(shm_ep_t *ep)
{
    if (ep->rx_open && (ep->hup || !shm_rx_empty(&ep->rx)))
        return true;
    if (!ep->tx_open || !ep->blocked)
        return false;
    if (shm_tx_refresh(&ep->tx) != VBN_OK)
        return true;
    return ep->tx.small ? shm_small_room(ep) : shm_tx_slot_free(&ep->tx) && shm_tx_data_free(&ep->tx);
}

bool shm_waiting(tl_iface_t *tl_iface)
{
    shm_iface_t *iface = (shm_iface_t *)tl_iface;
    bool found = iface->attention || !list_empty(&iface->failed) || !shm_bell_quiet(iface->bell, iface->bell_words);
    for (uint32_t i = 0; i < iface->hot && !found; i++)
        found = iface->rings[i] != NULL && busy(iface->rings[i]);
    return found;
}

vbn_status_t shm_arm(tl_iface_t *tl_iface)
{
    shm_iface_t *iface = (shm_iface_t *)tl_iface;
    if (iface->attention || iface->dialing > 0 || !list_empty(&iface->failed) || iface->in_progress)
        return VBN_BUSY;
    bool first = false;
    for (uint32_t i = 0; i < iface->hot; i++) {
        shm_ep_t *ep = iface->rings[i];
        if (ep->rx_open && shm_rx_unpublished(&ep->rx))
            shm_publish(ep);
        if (ep->rx_open) {
            first |= shm_rx_fence(&ep->rx);
            atomic_set_seq(&ep->rx.control->tell, shm_rx_tell(&ep->rx, SHM_ASLEEP)); /* pairs with shm_tx_must_tell */
        }
        if (ep->tx_open && ep->blocked)
            atomic_set_seq(&ep->tx.control->waiting, 1); /* pairs with shm_rx_publish */
    }
    atomic_set_seq(&iface->bell->asleep, 1); /* for the cold ones; pairs with shm_bell_set */
    iface->armed = true;
    iface->awake_looks = 0;
    bool quiet = shm_order(iface, first) && shm_bell_quiet(iface->bell, iface->bell_words);
    for (uint32_t i = 0; i < iface->hot && quiet; i++)
        quiet = !busy(iface->rings[i]);
    if (!quiet)
        disarm(iface);
    return quiet ? VBN_OK : VBN_BUSY;
}
