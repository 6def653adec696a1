/* SPDX-License-Identifier: Apache-2.0
 * ud_private.h - interface and endpoint of the transport over UD queue pairs.
 *
 * One queue pair per worker, whatever the number of peers. Endpoints have random ids that are never used again, so a
 * packet to or from one that is gone finds nothing; the first words to an unknown id make an accepted endpoint.
 *
 * U1 an endpoint is in iface->by_id until disconnect, accepted ones also in by_remote. U2 `news` holds endpoints with
 * something to tell, `blocked` those that were told VBN_BUSY. U3 within progress() requests are collected and posted at its
 * end with one doorbell, outside each is posted at once. */
#ifndef VBN_TL_UD_PRIVATE_H
#define VBN_TL_UD_PRIVATE_H

#include "base/list.h"
#include "tl/ud/ud_life.h"
#include "tl/ud/ud_wire.h"
#include "tl/verbs/verbs_group.h"
#include "tl/verbs/verbs_iface.h"

typedef struct ud_group {
    tl_group_t base;
    list_link_t link; /* iface->groups */
    verbs_group_t verbs;
} ud_group_t;

typedef struct ud_iface {
    tl_iface_t base;
    tl_params_t params;
    tl_caps_t caps;
    verbs_iface_t verbs;
    list_link_t eps;
    list_link_t news;
    list_link_t blocked;
    list_link_t dead;   /* freed after progress */
    list_link_t groups; /* ud_group_t */
    map_t by_id, by_remote;
    bool in_progress, told_dead;
    ud_life_t life;
} ud_iface_t;

typedef struct ud_ep {
    tl_ep_t base;
    list_link_t link; /* iface->eps or ->dead */
    list_link_t news; /* iface->news or ->blocked */
    verbs_route_t *route;
    uint64_t id;
    uint64_t remote_id; /* 0: not known yet */
    uint32_t qpn;
    uint32_t life_qpn; /* answers for the peer's process; 0: none */
    ud_life_peer_t vouched;
    const char *failed; /* why it ends: static, or the port's */
    bool tell_ready, tell_room, gone;
} ud_ep_t;

static inline ud_iface_t *ud_iface_of(tl_iface_t *base)
{
    return (ud_iface_t *)base;
}

/* ud_ep.c */
/* NULL: *status_p, which may be NULL, says why. */
ud_ep_t *ud_ep_new(ud_iface_t *iface, void *owner, const verbs_address_t *to, uint64_t remote_id,
                   vbn_status_t *status_p);
void ud_ep_free_dead(list_link_t *list);
void ud_ep_add_news(ud_ep_t *ep);
void ud_ep_tell(ud_ep_t *ep); /* everything it has to tell; it may go in any upcall */
vbn_status_t ud_ep_connect(tl_iface_t *base, const void *address, size_t length, void *owner, tl_ep_t **ep_p);
vbn_status_t ud_ep_trust(tl_ep_t *base);
void ud_ep_disconnect(tl_ep_t *base, vbn_close_mode_t mode, uint64_t timeout_ns);
void ud_ep_probe(tl_ep_t *base);
vbn_status_t ud_ep_send(tl_ep_t *base, const tl_packet_t *packet);

/* ud_group.c */
vbn_status_t ud_group_join(tl_iface_t *base, const uint8_t address[16], void *owner, tl_group_t **group_p);
void ud_group_leave(tl_group_t *base);
vbn_status_t ud_group_cast(tl_group_t *base, const struct iovec *iov, uint32_t iov_count);
bool ud_group_receive(ud_iface_t *iface, const uint8_t *bytes, uint32_t length); /* false: not such a datagram */
void ud_group_close(ud_iface_t *iface);
void ud_group_look(ud_iface_t *iface);
void ud_group_renew(ud_iface_t *iface); /* the port's address has changed */

#endif
