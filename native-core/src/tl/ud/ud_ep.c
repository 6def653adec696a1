/* SPDX-License-Identifier: Apache-2.0
 * ud_ep.c - life of an endpoint, and sending. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "tl/ud/ud_private.h"

void ud_ep_add_news(ud_ep_t *ep)
{
    list_remove(&ep->news);
    if (!ep->gone)
        list_append(&ud_iface_of(ep->base.iface)->news, &ep->news);
}

ud_ep_t *ud_ep_new(ud_iface_t *iface, void *owner, const verbs_address_t *to, uint64_t remote_id,
                   vbn_status_t *status_p)
{
    ud_ep_t *ep = calloc(1, sizeof(*ep));
    vbn_status_t status = ep == NULL ? err_set(VBN_ERR_NO_MEMORY, "no heap for a ud endpoint") : VBN_OK;
    if (ep == NULL)
        goto failed;
    ep->base.iface = &iface->base;
    ep->base.owner = owner;
    ep->id = os_random_u64();
    ep->remote_id = remote_id;
    ep->qpn = to->qpn;
    ep->life_qpn = to->life;
    list_init(&ep->news);
    status = verbs_route_get(&iface->verbs.datagram, to, &ep->route);
    if (status < 0)
        goto failed;
    status = map_put(&iface->by_id, ep->id, ep);
    if (status >= 0 && remote_id != 0 && (status = map_put(&iface->by_remote, remote_id, ep)) < 0)
        (void)map_remove(&iface->by_id, ep->id);
    if (status < 0) {
        verbs_route_put(&iface->verbs.datagram, ep->route);
        goto failed;
    }
    list_append(&iface->eps, &ep->link);
    return ep;
failed:
    free(ep);
    if (status_p != NULL)
        *status_p = status;
    return NULL;
}

void ud_ep_free_dead(list_link_t *list)
{
    for (list_link_t *link; (link = list_pop(list)) != NULL;)
        free(container_of(link, ud_ep_t, link));
}

vbn_status_t ud_ep_connect(tl_iface_t *base, const void *address, size_t length, void *owner, tl_ep_t **ep_p)
{
    ud_iface_t *iface = ud_iface_of(base);
    verbs_address_t to;
    vbn_status_t status = verbs_iface_target(&iface->verbs, address, length, &to);
    if (status < 0)
        return status;
    ud_ep_t *ep = ud_ep_new(iface, owner, &to, 0, &status);
    if (ep == NULL)
        return status;
    *ep_p = &ep->base;
    return VBN_OK;
}

vbn_status_t ud_ep_trust(tl_ep_t *base)
{
    ud_ep_t *ep = (ud_ep_t *)base;
    ep->tell_ready = true;
    ud_ep_add_news(ep);
    if (ep->vouched.id != 0 || ep->route->ah == NULL)
        return VBN_OK;
    ep->vouched = (ud_life_peer_t){
        .id = ep->id, .remote_id = ep->remote_id, .route = {.ah = ep->route->ah}, .qpn = ep->qpn};
    ud_life_vouch(&ud_iface_of(base->iface)->life, &ep->vouched);
    return VBN_OK;
}

void ud_ep_disconnect(tl_ep_t *base, vbn_close_mode_t mode, uint64_t timeout_ns)
{
    ud_ep_t *ep = (ud_ep_t *)base;
    ud_iface_t *iface = ud_iface_of(base->iface);
    (void)mode; /* packets are copied and posted, or posted at the end of this progress */
    (void)timeout_ns;
    if (ep->gone)
        return;
    ep->gone = true;
    (void)map_remove(&iface->by_id, ep->id);
    if (ep->remote_id != 0 && map_get(&iface->by_remote, ep->remote_id) == ep)
        (void)map_remove(&iface->by_remote, ep->remote_id);
    ud_life_withdraw(&iface->life, &ep->vouched);
    verbs_route_put(&iface->verbs.datagram, ep->route);
    ep->route = NULL;
    list_remove(&ep->news);
    list_remove(&ep->link);
    list_append(&iface->dead, &ep->link);
    if (!iface->in_progress)
        ud_ep_free_dead(&iface->dead);
}

void ud_ep_tell(ud_ep_t *ep)
{
    const tl_upcalls_t *up = &ud_iface_of(ep->base.iface)->params.upcalls;
    if (ep->failed != NULL) {
        char text[512]; /* the route, and its text, go with the endpoint */
        (void)snprintf(text, sizeof(text), "%s", ep->failed);
        up->ep_error(&ep->base, ep->failed == ep->route->problem ? VBN_ERR_UNREACHABLE : VBN_ERR_PEER_LOST, text);
        return;
    }
    if (ep->tell_ready) {
        ep->tell_ready = false;
        up->ready(&ep->base);
    }
    if (ep->gone || !ep->tell_room)
        return;
    ep->tell_room = false;
    up->tx_ready(&ep->base);
}

/* ---------------------------------------------------------------------------------------------- sending */

static vbn_status_t refuse(const ud_iface_t *iface, const tl_packet_t *packet)
{
    return err_set(VBN_ERR_INVALID, "packet of %u + %u bytes, at most %d and %u in all", packet->header_bytes,
                   packet->payload_bytes, TL_HEADER_MAX, iface->caps.packet_max);
}

static vbn_status_t busy(ud_iface_t *iface, ud_ep_t *ep)
{
    if (list_empty(&ep->news))
        list_append(&iface->blocked, &ep->news);
    ep->tell_room = true;
    return VBN_BUSY;
}

static uint32_t write_packet(uint8_t *to, const ud_prefix_t *prefix, const tl_packet_t *packet)
{
    uint32_t at = ud_prefix_encode(prefix, to);
    memcpy(to + at, packet->header, packet->header_bytes);
    if (packet->payload_bytes == 0)
        return at + packet->header_bytes;
    uint32_t end = ud_payload_at(at, packet->header_bytes);
    memset(to + at + packet->header_bytes, 0, end - at - packet->header_bytes);
    for (uint32_t i = 0; i < packet->iov_count; i++) {
        if (packet->iov[i].iov_len > 0)
            memcpy(to + end, packet->iov[i].iov_base, packet->iov[i].iov_len);
        end += (uint32_t)packet->iov[i].iov_len;
    }
    return end;
}

void ud_ep_probe(tl_ep_t *base)
{
    ud_ep_t *ep = (ud_ep_t *)base;
    ud_iface_t *iface = ud_iface_of(base->iface);
    verbs_datagram_t *datagram = &iface->verbs.datagram;
    bool able = ep->failed == NULL && ep->life_qpn != 0 && ep->remote_id != 0 && !datagram->broken &&
                ep->route->ah != NULL;
    verbs_slot_t *slot = able ? verbs_sq_take(&datagram->sq, UD_LIFE_BYTES) : NULL;
    if (slot == NULL)
        return; /* as if it had been lost */
    ud_life_encode(&(ud_life_word_t){.from = ep->id, .to = ep->remote_id}, slot->buffer);
    verbs_datagram_send(datagram, slot, UD_LIFE_BYTES, ep->route, ep->life_qpn);
    if (!iface->in_progress)
        verbs_datagram_flush(datagram);
}

vbn_status_t ud_ep_send(tl_ep_t *base, const tl_packet_t *packet)
{
    ud_ep_t *ep = (ud_ep_t *)base;
    ud_iface_t *iface = ud_iface_of(base->iface);
    verbs_datagram_t *datagram = &iface->verbs.datagram;
    bool first = ep->remote_id == 0;
    if (ep->failed != NULL)
        return err_set(VBN_ERR_PEER_LOST, "%s", ep->failed);
    if (packet->header_bytes > TL_HEADER_MAX || packet->payload_bytes > iface->caps.packet_max - packet->header_bytes ||
        (first && packet->header_bytes + packet->payload_bytes > TL_SIGNAL_MAX))
        return refuse(iface, packet);
    if (datagram->broken || ep->route->ah == NULL)
        return VBN_OK; /* lost, as anything sent while the link is down or the neighbour is being asked for */
    verbs_slot_t *slot = verbs_sq_take(&datagram->sq,
                                       UD_FIRST_BYTES + 16 + packet->header_bytes + packet->payload_bytes);
    if (slot == NULL)
        return busy(iface, ep);
    ud_prefix_t prefix = {.first = first,
                          .header_bytes = packet->header_bytes,
                          .from = ep->id,
                          .to = ep->remote_id,
                          .address = iface->verbs.address};
    uint32_t bytes = write_packet(slot->buffer, &prefix, packet);
    verbs_count_copy(&iface->verbs, packet->payload_bytes);
    verbs_datagram_send(datagram, slot, bytes, ep->route, ep->qpn);
    counter_add(iface->params.counters, COUNTER_UD_TX_PACKETS, 1);
    counter_add(iface->params.counters, COUNTER_UD_TX_BYTES, packet->header_bytes + packet->payload_bytes);
    if (!iface->in_progress)
        verbs_datagram_flush(datagram);
    return VBN_OK;
}
