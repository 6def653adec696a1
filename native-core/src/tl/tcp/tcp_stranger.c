/* SPDX-License-Identifier: Apache-2.0
 * tcp_stranger.c - accepted connections that have not proved the job key: each holds a place (tcp_places.c), and counts for
 * its source host. */
#include "tl/tcp/tcp_private.h"

void tcp_stranger_enter(tcp_ep_t *ep)
{
    tcp_iface_t *iface = ep->iface;
    list_append(&iface->untrusted, &ep->untrusted);
    iface->untrusted_count++;
    ep->source = tcp_source_of(&iface->sources, &ep->peer_ip); /* NULL without memory: it counts for nobody */
    if (ep->source != NULL)
        ep->source->held++;
}

void tcp_stranger_leave(tcp_ep_t *ep)
{
    if (list_empty(&ep->untrusted))
        return;
    list_remove(&ep->untrusted);
    tcp_ep_clear_deadline(ep);
    ep->iface->untrusted_count--;
    if (ep->source == NULL)
        return;
    ep->source->held--;
    tcp_source_left(&ep->iface->sources, ep->source);
    ep->source = NULL;
}

void tcp_stranger_proved(tcp_ep_t *ep)
{
    tcp_source_t *source = tcp_source_of(&ep->iface->sources, &ep->peer_ip);
    if (source != NULL)
        tcp_source_proved(&ep->iface->sources, source);
}
