/* SPDX-License-Identifier: Apache-2.0
 * tcp_rx.c - receiving: packets are handed up from the buffer in place; a large payload that is not buffered yet goes
 * straight to the place that sink() names.
 *
 *   rx: [ ... handed up ... | head  prefix header payload prefix hea | tail        free        ]
 *   with a large payload:  [ header | head = tail   room for TCP_RX_AHEAD_BYTES ... ] and the payload in `large` */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tl/tcp/tcp_private.h"

static void hand_up(tcp_ep_t *ep, const uint8_t *header, uint32_t header_bytes, const uint8_t *payload,
                    uint32_t payload_bytes)
{
    tcp_iface_t *iface = ep->iface;
    counter_add(iface->params.counters, COUNTER_TCP_RX_PACKETS, 1);
    counter_add(iface->params.counters, COUNTER_TCP_RX_BYTES, header_bytes + (uint64_t)payload_bytes);
    iface->params.upcalls.rx(&ep->base, header, header_bytes, payload, payload_bytes);
}

static bool may_deliver(const tcp_ep_t *ep)
{
    return ep->state == TCP_OPENING || ep->state == TCP_READY;
}

static uint8_t *assembly_for(tcp_ep_t *ep, uint32_t bytes)
{
    if (ep->assembly_bytes < bytes) {
        free(ep->assembly);
        ep->assembly = malloc(bytes);
        ep->assembly_bytes = ep->assembly ? bytes : 0;
    }
    return ep->assembly;
}

static uint8_t *ask_for_place(tcp_ep_t *ep, const uint8_t *header, uint32_t header_bytes, uint32_t payload_bytes)
{
    const tl_upcalls_t *up = &ep->iface->params.upcalls;
    return up->sink != NULL ? up->sink(&ep->base, header, header_bytes, payload_bytes) : NULL;
}

/* The rest of the payload goes to our own memory. False: there is none. */
static bool turn_away(tcp_ep_t *ep)
{
    ep->large = assembly_for(ep, ep->large_bytes);
    if (ep->large == NULL)
        tcp_ep_fail(ep, VBN_ERR_NO_MEMORY, "no memory for an incoming packet of %u bytes", ep->large_bytes);
    return ep->large != NULL;
}

void tcp_resink(tl_ep_t *base)
{
    tcp_ep_t *ep = (tcp_ep_t *)base;
    if (ep->large != NULL && ep->large != ep->assembly &&
        ask_for_place(ep, ep->rx, ep->large_header, ep->large_bytes) != ep->large)
        (void)turn_away(ep);
}

/* Before something is written to `large`, which may have to move for it. False: there is no memory. */
static bool write_begin(tcp_ep_t *ep)
{
    const tl_upcalls_t *up = &ep->iface->params.upcalls;
    return ep->large == ep->assembly || tl_write_begin(up, &ep->base, ep->large) || turn_away(ep);
}

static void write_end(tcp_ep_t *ep)
{
    if (ep->large != ep->assembly)
        tl_write_end(&ep->iface->params.upcalls, &ep->base, ep->large);
}

/* The header of a large packet is complete, its payload is not: finds a place for it and moves there what came. */
static void begin_large(tcp_ep_t *ep, const tcp_frame_t *frame)
{
    uint8_t *header = ep->rx + ep->rx_head + TCP_PREFIX_BYTES;
    uint32_t have = ep->rx_tail - ep->rx_head - TCP_PREFIX_BYTES - frame->header_bytes;
    uint8_t *place = ask_for_place(ep, header, frame->header_bytes, frame->payload_bytes);
    if (!may_deliver(ep))
        return;
    if (!place && (place = assembly_for(ep, frame->payload_bytes)) == NULL) {
        tcp_ep_fail(ep, VBN_ERR_NO_MEMORY, "no memory for an incoming packet of %u bytes", frame->payload_bytes);
        return;
    }
    ep->large = place;
    ep->large_bytes = frame->payload_bytes;
    ep->large_have = have;
    ep->large_header = frame->header_bytes;
    if (!write_begin(ep))
        return;
    memcpy(ep->large, header + frame->header_bytes, have);
    write_end(ep);
    memmove(ep->rx, header, frame->header_bytes);
    ep->rx_head = frame->header_bytes;
    ep->rx_tail = frame->header_bytes;
}

static void bad_frame(tcp_ep_t *ep, tcp_frame_result_t result)
{
    char text[TCP_ENDPOINT_TEXT];
    tcp_ep_peer_text(ep, text);
    counter_add(ep->iface->params.counters, COUNTER_BAD_FRAMES, 1);
    tcp_ep_fail(ep, VBN_ERR_PROTOCOL, "dropped %s connection with %s: %s", ep->trusted ? "the" : "an unauthenticated",
                text, tcp_frame_reason(result));
}

/* Hands up one packet of the buffer. false: none is complete, or the endpoint ended. */
static bool deliver_one(tcp_ep_t *ep)
{
    if (ep->large) {
        if (ep->large_have < ep->large_bytes)
            return false;
        const uint8_t *payload = ep->large;
        ep->large = NULL;
        if (payload != ep->assembly)
            counter_add(ep->iface->params.counters, COUNTER_TCP_PLACED_BYTES, ep->large_bytes);
        hand_up(ep, ep->rx, ep->large_header, payload, ep->large_bytes);
        return true;
    }
    tcp_frame_t frame;
    uint32_t available = ep->rx_tail - ep->rx_head;
    if (available == 0)
        return false; /* perhaps without a buffer */
    const uint8_t *at = ep->rx + ep->rx_head;
    tcp_frame_result_t result = tcp_frame_decode(at, available, ep->trusted ? TCP_BODY_MAX : TL_SIGNAL_MAX, &frame);
    if (result == TCP_FRAME_MORE)
        return false;
    if (result != TCP_FRAME_OK) {
        bad_frame(ep, result);
        return false;
    }
    available -= TCP_PREFIX_BYTES;
    if (available >= frame.body_bytes) {
        ep->rx_head += TCP_PREFIX_BYTES + frame.body_bytes;
        at += TCP_PREFIX_BYTES;
        hand_up(ep, at, frame.header_bytes, at + frame.header_bytes, frame.payload_bytes);
        return true;
    }
    if (available >= frame.header_bytes && frame.payload_bytes >= TCP_DIRECT_MIN)
        begin_large(ep, &frame);
    return false;
}

/* A trusted endpoint borrows its buffer, and what it has so far moves there. */
static bool borrow_buffer(tcp_ep_t *ep)
{
    if (!ep->trusted || ep->rx_capacity == TCP_RX_BYTES)
        return true;
    uint8_t *rx = ep->iface->rx_spare != NULL ? ep->iface->rx_spare : malloc(TCP_RX_BYTES);
    if (rx == NULL) {
        tcp_ep_fail(ep, VBN_ERR_NO_MEMORY, "no memory for a receive buffer of %u bytes", TCP_RX_BYTES);
        return false;
    }
    ep->iface->rx_spare = NULL;
    if (ep->rx_tail > 0)
        memcpy(rx, ep->rx, ep->rx_tail);
    free(ep->rx);
    ep->rx = rx;
    ep->rx_capacity = TCP_RX_BYTES;
    return true;
}

/* When nothing is left in it, the next endpoint may use it. */
static void return_buffer(tcp_ep_t *ep)
{
    if (!ep->trusted || ep->large != NULL || ep->rx_head != ep->rx_tail)
        return;
    if (ep->iface->rx_spare == NULL && ep->rx_capacity == TCP_RX_BYTES)
        ep->iface->rx_spare = ep->rx;
    else
        free(ep->rx);
    ep->rx = NULL;
    ep->rx_capacity = ep->rx_head = ep->rx_tail = 0;
}

/* Room for the next read. A packet that is not large fits half of a trusted buffer, and an untrusted one whole. */
static bool make_room(tcp_ep_t *ep)
{
    if (!borrow_buffer(ep))
        return false;
    if (ep->large)
        return true;
    if (ep->rx_head == ep->rx_tail) {
        ep->rx_head = 0;
        ep->rx_tail = 0;
    } else if (ep->rx_capacity - ep->rx_tail < ep->rx_capacity / 2) {
        memmove(ep->rx, ep->rx + ep->rx_head, ep->rx_tail - ep->rx_head);
        ep->rx_tail -= ep->rx_head;
        ep->rx_head = 0;
    }
    return true;
}

static ssize_t read_pieces(const tcp_ep_t *ep, struct iovec *pieces, size_t count)
{
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = count};
    if (ep->tls != NULL)
        return tcp_tls_read(ep->tls, pieces);
    return count == 1 ? recv(ep->fd, pieces->iov_base, pieces->iov_len, MSG_DONTWAIT)
                      : recvmsg(ep->fd, &message, MSG_DONTWAIT);
}

/* Reads to the open end of the large payload (write_begin was called) and a little beyond, or to the buffer. *full_p:
 * all room was used. */
static ssize_t read_socket(tcp_ep_t *ep, bool *full_p)
{
    struct iovec pieces[2];
    size_t count = 0;
    size_t room = ep->rx_capacity - ep->rx_tail;
    if (ep->large) {
        pieces[count].iov_base = ep->large + ep->large_have;
        pieces[count++].iov_len = ep->large_bytes - ep->large_have;
        room = room < TCP_RX_AHEAD_BYTES ? room : TCP_RX_AHEAD_BYTES;
    }
    pieces[count].iov_base = ep->rx + ep->rx_tail;
    pieces[count++].iov_len = room;
    ssize_t n = read_pieces(ep, pieces, count);
    if (ep->large)
        write_end(ep);
    if (n <= 0)
        return n;
    size_t rest = (size_t)n;
    if (ep->large) {
        size_t step = rest < pieces[0].iov_len ? rest : pieces[0].iov_len;
        ep->large_have += (uint32_t)step;
        rest -= step;
    }
    ep->rx_tail += (uint32_t)rest;
    *full_p = rest == room || ep->tls != NULL; /* TLS gives a record at a time */
    return n;
}

static void lost(tcp_ep_t *ep, int error)
{
    char text[TCP_ENDPOINT_TEXT];
    bool midway = ep->large || ep->rx_head < ep->rx_tail;
    tcp_ep_peer_text(ep, text);
    if (error == EPROTO && ep->tls != NULL)
        tcp_ep_fail(ep, VBN_ERR_AUTH, "connection with %s: %s", text, tcp_tls_reason(ep->tls));
    else if (error)
        tcp_ep_fail(ep, VBN_ERR_PEER_LOST, "connection with %s broke: %s%s", text, strerror(error),
                    midway ? ", in the middle of a packet" : "");
    else
        tcp_ep_fail(ep, VBN_ERR_PEER_LOST, "%s closed the connection%s (its process ended, or it disconnected)", text,
                    midway ? " in the middle of a packet" : "");
}

/* Flushing: what still comes is read and dropped until the peer's end. */
static bool discard(tcp_ep_t *ep)
{
    struct iovec all = {ep->rx, ep->rx_capacity};
    ssize_t n = read_pieces(ep, &all, 1);
    if (n > 0 || (n < 0 && errno == EINTR))
        return true;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return false;
    if (n < 0) {
        tcp_ep_retire(ep);
        return false;
    }
    ep->read_ended = true;
    (void)tcp_ep_watch(ep); /* the deadline ends the endpoint in any case */
    tcp_ep_flush_step(ep);
    return false;
}

/* One read. false: there is nothing more for now, or the endpoint ended. */
static bool read_some(tcp_ep_t *ep)
{
    if (ep->state == TCP_FLUSHING)
        return !ep->read_ended && borrow_buffer(ep) && discard(ep);
    if (!make_room(ep))
        return false;
    bool full = false;
    if (ep->large && !write_begin(ep))
        return false;
    ssize_t n = read_socket(ep, &full);
    if (n > 0)
        return full || ep->broken;
    if (n < 0 && errno == EINTR)
        return true;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        if (ep->broken)
            lost(ep, ep->broken); /* everything that came before is delivered */
        return false;
    }
    lost(ep, n < 0 ? errno : 0);
    return false;
}

/* Hands up what is in the buffer; what is sent meanwhile leaves with few system calls. */
static unsigned deliver_all(tcp_ep_t *ep, unsigned most)
{
    unsigned packets = 0;
    ep->delivering = true;
    while (packets < most && may_deliver(ep) && deliver_one(ep)) {
        packets++;
        if (ep->gathering && ep->tx_count >= TCP_TX_QUEUE && tcp_ep_is_open(ep))
            (void)tcp_tx_progress(ep);
    }
    ep->delivering = false;
    if ((ep->gathering || !list_empty(&ep->written)) && tcp_ep_is_open(ep))
        (void)tcp_tx_progress(ep);
    return packets;
}

unsigned tcp_rx_progress(tcp_ep_t *ep)
{
    unsigned packets = 0;
    bool more = true;
    for (unsigned reads = 0;; reads++) {
        packets += deliver_all(ep, TCP_RX_PACKETS - packets);
        if (!tcp_ep_is_open(ep) || (!more && packets < TCP_RX_PACKETS))
            break;
        if (packets >= TCP_RX_PACKETS || reads >= TCP_RX_READS) {
            tcp_ep_pend(ep); /* T4: complete packets may be left in the buffer */
            break;
        }
        more = read_some(ep);
    }
    return_buffer(ep);
    return packets;
}
