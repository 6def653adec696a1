/* SPDX-License-Identifier: Apache-2.0
 * rc_life.c - life of an endpoint: opened, trusted, closed. */
#include <stdlib.h>

#include "base/os.h"
#include "tl/rc/rc_private.h"

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
    rc_signal_step(ep);
    rc_signal_send(ep, RC_SIGNAL_ASK);
    return VBN_OK;
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
