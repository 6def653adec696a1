/* SPDX-License-Identifier: Apache-2.0
 * rc_ep.c - life of an endpoint: opened, trusted, ready, failed, closed. */
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "tl/rc/rc_private.h"

void rc_ep_add_news(rc_ep_t *ep)
{
    list_remove(&ep->news);
    if (ep->state <= RC_FAILED)
        list_append(&rc_iface_of(ep->base.iface)->news, &ep->news);
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

/* After the upcalls that may still look at it. */
void rc_ep_free(rc_ep_t *ep)
{
    rc_qp_close(ep);
    rc_cm_close(ep);
    rc_signal_drop(ep);
    free(ep);
}

vbn_status_t rc_ep_connect(tl_iface_t *base, const void *address, size_t length, void *owner, tl_ep_t **ep_p)
{
    rc_iface_t *iface = rc_iface_of(base);
    verbs_address_t to;
    vbn_status_t status = verbs_iface_target(&iface->verbs, address, length, &to);
    if (status < 0)
        return status;
    rc_ep_t *ep = rc_ep_new(iface, owner, &to, 0, &status);
    if (ep == NULL)
        return status;
    if (iface->verbs.cm && (status = rc_cm_call(ep)) < 0) {
        rc_ep_disconnect(&ep->base, VBN_CLOSE_NOW, 0);
        return status;
    }
    *ep_p = &ep->base;
    return VBN_OK;
}

/* ---------------------------------------------------------------------------------------------- states */

vbn_status_t rc_ep_trust(tl_ep_t *base)
{
    rc_ep_t *ep = (rc_ep_t *)base;
    rc_iface_t *iface = rc_iface_of(base->iface);
    if (ep->trusted || ep->state != RC_OPENING)
        return VBN_OK;
    vbn_status_t status = iface->verbs.cm ? VBN_OK : rc_qp_open(ep);
    if (status < 0)
        return status;
    ep->trusted = true;
    iface->untrusted -= ep->accepted;
    rc_ep_step(ep);
    rc_signal_send(ep, RC_SIGNAL_ASK);
    return VBN_OK;
}

void rc_ep_step(rc_ep_t *ep)
{
    if (ep->state != RC_OPENING)
        return;
    if (ep->trusted && !ep->armed && ep->remote_qpn != 0) {
        if (rc_qp_arm(ep) < 0) {
            rc_ep_fail(ep, "its queue pair cannot be connected");
            return;
        }
        ep->armed = true;
        rc_signal_send(ep, 0);
    }
    if (!ep->trusted || !ep->armed || !ep->remote_armed || !list_empty(&ep->signals))
        return;
    ep->state = RC_READY;
    list_remove(&ep->opening);
    rc_ep_add_news(ep);
    ep->tell_room = true; /* with ready() */
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

/* --------------------------------------------------------------------------------------------- closing */

/* No endpoint is found by the peer's words any more. */
static void leave(rc_iface_t *iface, rc_ep_t *ep)
{
    (void)map_remove(&iface->by_id, ep->id);
    if (ep->remote_id != 0 && map_get(&iface->by_remote, ep->remote_id) == ep)
        (void)map_remove(&iface->by_remote, ep->remote_id);
    if (ep->route != NULL)
        verbs_route_put(&iface->verbs.datagram, ep->route);
    ep->route = NULL;
    iface->untrusted -= ep->accepted && !ep->trusted;
    list_remove(&ep->news);
    list_remove(&ep->opening);
    list_remove(&ep->link);
}

/* Something is still to be sent, and can be. */
static bool unsent(const rc_ep_t *ep)
{
    if (ep->state == RC_READY)
        return ep->sq.used > 0;
    return ep->state == RC_OPENING && ep->cm != NULL && ep->sq.qp != NULL &&
           (ep->sq.used > 0 || !list_empty(&ep->signals));
}

void rc_ep_disconnect(tl_ep_t *base, vbn_close_mode_t mode, uint64_t timeout_ns)
{
    rc_ep_t *ep = (rc_ep_t *)base;
    rc_iface_t *iface = rc_iface_of(base->iface);
    if (ep->state >= RC_CLOSING)
        return;
    bool flush = mode == VBN_CLOSE_FLUSH && unsent(ep) && !verbs_sq_waited(&ep->sq);
    if (!flush)
        rc_signal_send(ep, RC_SIGNAL_GONE);
    leave(iface, ep);
    if (flush) {
        ep->state = RC_CLOSING;
        ep->deadline_ns = os_now_ns() + timeout_ns;
        list_append(&iface->closing, &ep->link);
        if (ep->armed)
            rc_send_nothing(ep);
        rc_tick_soon(iface);
        return;
    }
    ep->state = RC_GONE;
    rc_qp_close(ep);
    list_append(&iface->dead, &ep->link);
    if (iface->in_progress)
        return;
    list_remove(&ep->link);
    rc_ep_free(ep);
}

void rc_ep_closing_look(rc_ep_t *ep, uint64_t now)
{
    if (now < ep->deadline_ns && (ep->sq.used > 0 || !list_empty(&ep->signals) || rc_cm_ending(ep)))
        return;
    list_remove(&ep->link);
    rc_ep_free(ep);
}
