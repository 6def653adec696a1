/* SPDX-License-Identifier: Apache-2.0
 * shm_send.c - sending: through the peer's ring, or over the socket while the pair is opening. No allocation; a system
 * call only while opening and when the peer sleeps. */
#include "tl/shm/shm_private.h"

#include <errno.h>
#include <sys/socket.h>

#define SIGNAL_IOV_MAX 16u

bool shm_short_open(shm_ep_t *ep, uint32_t most)
{
    shm_tx_t *tx = &ep->tx;
    shm_count_short(ep);
    if (!ep->tx_open || !tx->light || (tx->small && !shm_small_open(ep)))
        return false;
    if (shm_tx_refresh(tx) != VBN_OK) /* wrong: shm_send will find it, too */
        return false;
    uint32_t room = tx->geometry.slots - (tx->position - tx->consumed);
    tx->limit = tx->position + (room < most ? room : most);
    return tx->limit != tx->position;
}

static vbn_status_t refuse(shm_ep_t *ep)
{
    return err_set(ep->error, "%s", ep->error_text != NULL ? ep->error_text : "same-host peer failed");
}

static vbn_status_t send_by_socket(shm_ep_t *ep, const tl_packet_t *packet)
{
    if (ep->broken)
        return refuse(ep);
    if (packet->header_bytes + packet->payload_bytes > TL_SIGNAL_MAX || packet->iov_count > SIGNAL_IOV_MAX)
        return err_set(VBN_ERR_INVALID, "packet of %u + %u bytes in %u parts before the peer is ready, at most %d",
                       packet->header_bytes, packet->payload_bytes, packet->iov_count, TL_SIGNAL_MAX);
    if (ep->dialing || !list_empty(&ep->outbox)) {
        ep->blocked = true;
        return VBN_BUSY;
    }
    shm_note_t note = {.type = SHM_PACKET, .header_bytes = (uint16_t)packet->header_bytes};
    struct iovec iov[2 + SIGNAL_IOV_MAX] = {{&note, sizeof(note)},
                                            {(void *)(uintptr_t)packet->header, packet->header_bytes}};
    for (uint32_t i = 0; i < packet->iov_count; i++)
        iov[2 + i] = packet->iov[i];
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2 + packet->iov_count};
    if (sendmsg(ep->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return VBN_OK;
    if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS) {
        ep->blocked = true;
        shm_ep_want_out(ep, true);
        return VBN_BUSY;
    }
    int error = errno;
    shm_attend(shm_ep_iface(ep)); /* what the peer sent before it went is read first, then ep_error comes */
    if (error == EPIPE || error == ECONNRESET)
        return err_set(VBN_ERR_PEER_LOST, "same-host peer closed its socket");
    vbn_status_t status = err_sys(error, "cannot send to a same-host peer");
    shm_ep_fail(ep, status, err_text());
    return status;
}

static vbn_status_t not_sent(shm_ep_t *ep, vbn_status_t status)
{
    if (status == VBN_BUSY) {
        ep->blocked = true;
        shm_ring_heat(ep); /* room is looked for where packets are */
        counter_add(shm_ep_iface(ep)->params.counters, COUNTER_SHM_RING_FULL, 1);
    } else {
        shm_ep_fail(ep, status, err_text());
    }
    return status;
}

vbn_status_t shm_send(tl_ep_t *tl_ep, const tl_packet_t *packet)
{
    shm_ep_t *ep = (shm_ep_t *)tl_ep;
    shm_iface_t *iface = shm_ep_iface(ep);
    if (__builtin_expect(packet->header_bytes > TL_HEADER_MAX, 0) ||
        __builtin_expect(packet->payload_bytes > iface->caps.packet_max - packet->header_bytes, 0))
        return err_set(VBN_ERR_INVALID, "packet of %u + %u bytes, at most %d and %u in all", packet->header_bytes,
                       packet->payload_bytes, TL_HEADER_MAX, iface->caps.packet_max);
    if (__builtin_expect(!ep->tx_open, 0))
        return send_by_socket(ep, packet);
    vbn_status_t status = UNLIKELY(ep->tx.small) ? shm_small_send(ep, packet)
                                                 : shm_tx_put(&ep->tx, packet->header, packet->header_bytes,
                                                              packet->iov, packet->iov_count, packet->payload_bytes);
    if (__builtin_expect(status != VBN_OK, 0))
        return not_sent(ep, status);
    shm_ep_tell(ep);
    counter_add(iface->params.counters, COUNTER_SHM_TX_PACKETS, 1);
    counter_add(iface->params.counters, COUNTER_SHM_TX_BYTES, packet->header_bytes + packet->payload_bytes);
    return VBN_OK;
}
