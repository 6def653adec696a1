/* SPDX-License-Identifier: Apache-2.0
 * shm_small.c - rings that begin small: packets that such a ring takes in parts only, and how it grows when its traffic
 * has earned that (shm_ring.h has the layout and R4).
 *
 *   producer                                           consumer
 *   EARNED packets, or a few times full or cut         ...
 *   frame GROW; sends are VBN_BUSY until the answer -> within its budget: brings the memory, lays out anew, grown = 1
 *   consumed behind GROW, grown? lays out anew      <- publishes
 *
 * Nothing else is exchanged, and no state is half: a side that dies leaves the other with a small ring or a large one. */
#include "tl/shm/shm_private.h"

#include <stdlib.h>

#include "base/os.h"
#include "base/os_watch.h"

#define EARNED 256u /* packets until a ring is worth its memory; */
#define STRAIN 64u  /* a time that it was full, or cut a packet, counts as so many */
#define EARNED_MOST (1u << 20)
#define RINGS_GROWN 20u /* a worker's rings take at most the memory of so many large ones, or are small */

/* ------------------------------------------------------------------------------------------------ the producer */

/* Publishes what there is room for. True: all parts are in the ring. */
static bool put_parts(shm_ep_t *ep)
{
    shm_tx_t *tx = &ep->tx;
    shm_cut_t *cut = &ep->cut;
    while (cut->sent < cut->bytes) {
        uint32_t lines = shm_tx_lines_free(tx);
        if (lines > tx->lines - tx->data_at)
            lines = tx->lines - tx->data_at;
        if (!shm_tx_slot_free(tx) || lines == 0)
            return false;
        uint32_t bytes = cut->bytes - cut->sent;
        bool last = bytes <= lines * SHM_LINE;
        bytes = last ? bytes : lines * SHM_LINE;
        lines = shm_align64(bytes) / SHM_LINE;
        bytes_copy(tx->data + (size_t)tx->data_at * SHM_LINE, cut->packet + cut->sent, bytes);
        tx->data_at = shm_line_behind(tx->lines, tx->data_at, lines);
        tx->data_position += lines;
        cut->sent += bytes;
        shm_tx_publish(tx, last ? cut->header_bytes : 0, bytes, last ? SHM_LAST : SHM_PART);
    }
    free(cut->packet);
    *cut = (shm_cut_t){.packet = NULL};
    return true;
}

/* The packet is copied; what the ring does not take now goes in progress, with all other sends behind it. */
static vbn_status_t cut(shm_ep_t *ep, const tl_packet_t *packet)
{
    uint32_t bytes = packet->header_bytes + packet->payload_bytes;
    vbn_status_t status = shm_tx_refresh(&ep->tx);
    uint8_t *copy = status == VBN_OK ? malloc(bytes) : NULL;
    if (copy == NULL)
        return status != VBN_OK ? status : err_set(VBN_ERR_NO_MEMORY, "no heap for a packet of %u bytes", bytes);
    bytes_copy(copy, packet->header, packet->header_bytes);
    shm_gather(copy + packet->header_bytes, packet->iov, packet->iov_count);
    ep->cut = (shm_cut_t){.packet = copy, .bytes = bytes, .header_bytes = packet->header_bytes};
    ep->strain++;
    ep->tx.limit = ep->tx.position; /* short packets wait behind it */
    if (!put_parts(ep)) {
        ep->blocked = true; /* so that progress goes on with it */
        shm_ring_heat(ep);
    }
    return VBN_OK;
}

/* True: GROW is under way, and nothing can be sent until it is answered. */
static bool ask(shm_ep_t *ep)
{
    shm_tx_t *tx = &ep->tx;
    if (tx->position - ep->asked_at + STRAIN * ep->strain < ep->earn || ep->cut.packet != NULL)
        return false;
    if (!shm_tx_slot_free(tx) && (shm_tx_refresh(tx) != VBN_OK || !shm_tx_slot_free(tx)))
        return false; /* when there is room */
    shm_tx_publish(tx, 0, 0, SHM_GROW);
    tx->limit = tx->position;
    ep->asked_at = tx->position;
    ep->strain = 0;
    ep->growing = true;
    ep->blocked = true;
    shm_ring_heat(ep);
    shm_ep_tell(ep);
    return true;
}

vbn_status_t shm_small_send(shm_ep_t *ep, const tl_packet_t *packet)
{
    if (!shm_small_open(ep))
        return VBN_BUSY;
    bool in_slot = packet->header_bytes + packet->payload_bytes <= SHM_SLOT_DATA;
    if (!in_slot && shm_lines_of(packet->header_bytes, packet->payload_bytes) > ep->tx.whole)
        return cut(ep, packet);
    vbn_status_t status = shm_tx_put(&ep->tx, packet->header, packet->header_bytes, packet->iov, packet->iov_count,
                                     packet->payload_bytes);
    ep->strain += status == VBN_BUSY;
    return status;
}

bool shm_small_open(shm_ep_t *ep)
{
    return !ep->growing && ep->cut.packet == NULL && !ask(ep);
}

bool shm_small_room(const shm_ep_t *ep)
{
    const shm_tx_t *tx = &ep->tx;
    if (ep->growing)
        return tx->position == tx->consumed;
    return shm_tx_slot_free(tx) && (ep->cut.packet != NULL ? shm_tx_lines_free(tx) > 0 : shm_tx_data_free(tx));
}

bool shm_small_unblock(shm_ep_t *ep)
{
    if (!shm_small_room(ep))
        return false;
    if (ep->growing) {
        ep->growing = false;
        ep->asked_at = ep->tx.position;
        if (shm_tx_answer(&ep->tx))
            return true;
        ep->earn = ep->earn < EARNED_MOST ? ep->earn * 4 : EARNED_MOST;
    }
    if (ep->cut.packet != NULL) {
        bool done = put_parts(ep);
        shm_ep_tell(ep);
        if (!done)
            return false;
    }
    return !ask(ep);
}

/* ------------------------------------------------------------------------------------------------ the consumer */

void shm_small_begin(shm_ep_t *ep, size_t committed)
{
    ep->earn = EARNED;
    ep->rx_committed = committed;
    shm_ep_iface(ep)->ring_memory += committed;
}

void shm_small_end(shm_ep_t *ep)
{
    shm_ep_iface(ep)->ring_memory -= ep->rx_committed;
    ep->rx_committed = 0;
    free(ep->cut.packet);
    free(ep->parts);
}

/* The memory behind a small ring, as far as this worker's budget and the host have it. */
static bool bring_memory(shm_ep_t *ep)
{
    shm_iface_t *iface = shm_ep_iface(ep);
    size_t more = ep->rx_bytes - ep->rx_committed;
    if (ep->hup || iface->ring_memory + more > RINGS_GROWN * ep->rx_bytes)
        return false;
    uintptr_t start = (uintptr_t)ep->rx.control;
    if (os_populate(start + ep->rx_committed, start + ep->rx_bytes, true) == VBN_OK) {
        iface->ring_memory += more;
        ep->rx_committed = ep->rx_bytes;
        return true;
    }
    if (!iface->no_ring_logged)
        LOG_WARN(iface->params.log,
                 "ring of a same-host peer stays small: %s; free memory, or raise the container's limit", err_text());
    iface->no_ring_logged = true;
    return false;
}

static void grow(shm_ep_t *ep, shm_frame_t *frame)
{
    counters_t *counters = shm_ep_iface(ep)->params.counters;
    if (!ep->rx.small) {
        shm_ep_fail(ep, VBN_ERR_PROTOCOL, "same-host peer wants to grow a ring of full size");
    } else if (bring_memory(ep)) {
        counter_add(counters, COUNTER_SHM_RINGS_GROWN, 1);
        shm_rx_grow(&ep->rx);
        frame->data_at = ep->rx.data_at;
    } else {
        counter_add(counters, COUNTER_SHM_RINGS_KEPT, 1);
    }
}

/* Puts it behind the parts before it. False: the endpoint has failed. */
static bool collect(shm_ep_t *ep, const shm_frame_t *frame)
{
    if (ep->parts == NULL && (ep->parts = malloc(ep->peer_packet_max)) == NULL) {
        shm_ep_fail(ep, VBN_ERR_NO_MEMORY, "no heap for a packet in parts");
        return false;
    }
    if (frame->payload_bytes > ep->peer_packet_max - ep->parts_bytes) {
        shm_ep_fail(ep, VBN_ERR_PROTOCOL, "same-host peer sent a packet in parts that exceeds its largest packet");
        return false;
    }
    bytes_copy(ep->parts + ep->parts_bytes, frame->payload, frame->payload_bytes);
    ep->parts_bytes += frame->payload_bytes;
    return true;
}

uint8_t *shm_small_frame(shm_ep_t *ep, shm_frame_t *frame, shm_frame_t *whole_p)
{
    if (frame->kind == SHM_GROW) {
        grow(ep, frame);
        return NULL;
    }
    if (!collect(ep, frame) || frame->kind == SHM_PART)
        return NULL;
    if (frame->header_bytes > ep->parts_bytes) {
        shm_ep_fail(ep, VBN_ERR_PROTOCOL, "same-host peer sent a packet in parts that is shorter than its header");
        return NULL;
    }
    uint8_t *packet = ep->parts;
    *whole_p = (shm_frame_t){.kind = SHM_LAST,
                             .header = packet,
                             .header_bytes = frame->header_bytes,
                             .payload = packet + frame->header_bytes,
                             .payload_bytes = ep->parts_bytes - frame->header_bytes};
    ep->parts = NULL;
    ep->parts_bytes = 0;
    return packet;
}
