/* SPDX-License-Identifier: Apache-2.0
 * rc_ep.c - an endpoint, what it has to tell, and the timer. Its life: rc_life.c. */
#include <stdlib.h>
#include <sys/timerfd.h>

#include "base/os.h"
#include "tl/rc/rc_private.h"

void rc_ep_add_news(rc_ep_t *ep)
{
    list_remove(&ep->news);
    if (ep->state <= RC_FAILED)
        list_append(&rc_iface_of(ep->base.iface)->news, &ep->news);
}

void rc_tick_soon(rc_iface_t *iface)
{
    struct itimerspec spec = {.it_value = {.tv_nsec = (long)RC_TICK_NS}};
    if (iface->tick_ns != 0)
        return;
    iface->tick_ns = os_now_ns() + RC_TICK_NS;
    (void)timerfd_settime(iface->timer_fd, 0, &spec, NULL);
}

static vbn_status_t enter(rc_iface_t *iface, rc_ep_t *ep)
{
    vbn_status_t status = map_put(&iface->by_id, ep->id, ep);
    if (status >= 0 && ep->remote_id != 0)
        status = map_put(&iface->by_remote, ep->remote_id, ep);
    if (status >= 0 && !iface->verbs.cm)
        status = verbs_route_get(&iface->verbs.datagram, &ep->remote, &ep->route);
    return status;
}

rc_ep_t *rc_ep_new(rc_iface_t *iface, void *owner, const verbs_address_t *to, uint64_t remote_id,
                   vbn_status_t *status_p)
{
    rc_ep_t *ep = calloc(1, sizeof(*ep));
    vbn_status_t status = ep == NULL ? err_set(VBN_ERR_NO_MEMORY, "no heap for an rc endpoint") : VBN_OK;
    if (ep == NULL)
        goto failed;
    ep->base.iface = &iface->base;
    ep->base.owner = owner;
    ep->id = os_random_u64();
    ep->remote_id = remote_id;
    ep->remote = *to;
    ep->accepted = remote_id != 0;
    ep->sent = 1;
    list_init(&ep->news);
    list_init(&ep->opening);
    list_init(&ep->ringing);
    list_init(&ep->signals);
    status = enter(iface, ep);
    if (status < 0) {
        (void)map_remove(&iface->by_id, ep->id);
        if (remote_id != 0)
            (void)map_remove(&iface->by_remote, remote_id);
        goto failed;
    }
    iface->untrusted += ep->accepted;
    list_append(&iface->eps, &ep->link);
    return ep;
failed:
    free(ep);
    if (status_p != NULL)
        *status_p = status;
    return NULL;
}

void rc_ep_fail(rc_ep_t *ep, const char *why)
{
    if (ep->state >= RC_FAILED)
        return;
    ep->failed = why;
    ep->state = RC_FAILED;
    list_remove(&ep->opening);
    rc_ep_add_news(ep);
}

void rc_ep_tell(rc_ep_t *ep)
{
    const rc_iface_t *iface = rc_iface_of(ep->base.iface);
    const tl_upcalls_t *up = &iface->params.upcalls;
    if (ep->state == RC_FAILED) {
        char to[96];
        verbs_address_t remote = ep->remote;
        remote.qpn = iface->verbs.cm ? remote.qpn : ep->remote_qpn;
        verbs_address_text(&remote, to, sizeof(to));
        bool unreached = ep->unreached || (ep->route != NULL && ep->failed == ep->route->problem);
        vbn_status_t status = err_set(unreached ? VBN_ERR_UNREACHABLE : VBN_ERR_PEER_LOST,
                                      "connection over %s to %s: %s", iface->verbs.port.name, to, ep->failed);
        up->ep_error(&ep->base, status, err_text());
        return;
    }
    if (ep->state == RC_READY && !ep->told_ready) {
        ep->told_ready = true;
        up->ready(&ep->base);
    }
    if (ep->state > RC_READY || !ep->tell_room)
        return;
    ep->tell_room = false;
    up->tx_ready(&ep->base);
}
