/* SPDX-License-Identifier: Apache-2.0
 * rc_private.h - interface and endpoint of the transport over reliable connections (RC queue pairs).
 *
 *   OPENING   packets go as signals over the interface's datagram queue pair: numbered, one at a time, repeated until
 *             acknowledged. No queue pair of its own yet: a stranger costs no device resource.
 *             With rdma_cm (verbs.cm) they wait for the connection instead and go over it: rc_cm.c.
 *   trust()   makes the queue pair and tells its number. When the peer's is known, too, it is connected (`armed`).
 *   READY     both are armed and every signal has arrived, so that nothing overtakes: packets go over the connection.
 *   FAILED    a request or the device failed; the link disconnects.
 *   CLOSING   after disconnect(FLUSH): the queue pair lives until the peer's device has everything, at most the given time.
 *
 * Receives come from one queue (SRQ) for all connections: rc_receives.c.
 *
 * R1 iface->by_id holds endpoints until disconnect, by_qp those with a queue pair until it is destroyed. R2 `opening` holds
 * endpoints whose signals may have to be repeated; only then the timer runs. R3 within progress() requests are collected
 * per endpoint (`ringing`) and posted at its end with one doorbell each, outside each is posted at once. R4 no packet is
 * handed to a queue pair before all signals are acknowledged. R5 after disconnect the device reads no memory of the caller:
 * a queue
 * pair with payload in place under way is destroyed there and then. */
#ifndef VBN_TL_RC_PRIVATE_H
#define VBN_TL_RC_PRIVATE_H

#include "base/list.h"
#include "tl/rc/rc_wire.h"
#include "tl/verbs/verbs_cm.h"
#include "tl/verbs/verbs_iface.h"
#include "tl/verbs/verbs_places.h"

#define RC_PAYLOAD 8192u /* of a packet */
#define RC_STRIDE 8576u  /* of a receive: prefix, header, payload, multiple of 64 */
#define RC_BLOCK 224u    /* receives of a block, multiple of VERBS_REPOST: less than 2 MiB, a huge page */
#define RC_BLOCKS 64u
#define RC_RECEIVES (2 * RC_BLOCK) /* at first */
#define RC_PER_PEER 16u            /* that each connection brings, up to link.promoted_max */
#define RC_IN_PLACE 1024u          /* payload from here on is not copied when it lies in registered memory */
#define RC_SIGNALS 4u              /* packets that wait as signals */
#define RC_TICK_NS UINT64_C(20000000)
#define RC_REPEAT_NS UINT64_C(40000000)
#define RC_UNTRUSTED 64u /* accepted endpoints that may wait for trust */

/* Connections by rdma_cm; all NULL where they are made by signals. */
typedef struct rc_cm {
    const verbs_cm_t *api;
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener;
    bool parted; /* some endpoint's peer has left */
} rc_cm_t;

/* Receives of all connections, see rc_receives.c. */
typedef struct rc_receives {
    struct ibv_srq *srq;
    verbs_block_t blocks[RC_BLOCKS]; /* of RC_BLOCK each, but for the last one */
    uint32_t count;                  /* that there are */
    uint32_t most;                   /* that there may be */
    uint32_t connections;
    uint32_t used[VERBS_REPOST];
    uint32_t used_count;
    bool watched; /* the device will tell when few are left */
} rc_receives_t;

typedef struct rc_iface {
    tl_iface_t base;
    tl_params_t params;
    tl_caps_t caps;
    verbs_iface_t verbs;
    verbs_places_t places;
    rc_cm_t cm;
    mem_device_t device; /* what peers reach through it */
    rc_receives_t receives;
    list_link_t eps, news, blocked, opening, ringing, closing, dead;
    list_link_t draining; /* rc_drain_t */
    map_t by_id, by_remote, by_qp;
    unsigned untrusted;
    int timer_fd;
    uint64_t tick_ns; /* next look at opening and closing endpoints; 0: none */
    bool in_progress, told_dead;
} rc_iface_t;

/* A packet that goes as a signal. */
typedef struct rc_queued {
    list_link_t link;
    void *cookie;
    uint32_t header_bytes, payload_bytes;
    uint8_t bytes[TL_SIGNAL_MAX];
} rc_queued_t;

/* A queue pair whose endpoint is gone. One that is destroyed with a receive of the SRQ in hand would take it along, so it
 * stays, failed, until the device says that it has none (LAST_WQE_REACHED) and what came is taken off, or for a while. */
typedef struct rc_drain {
    list_link_t link;
    struct ibv_qp *qp;
    uint64_t until_ns;
} rc_drain_t;

typedef enum rc_state { RC_OPENING, RC_READY, RC_FAILED, RC_CLOSING, RC_GONE } rc_state_t;

typedef struct rc_ep {
    tl_ep_t base;
    list_link_t link; /* iface->eps, ->closing or ->dead */
    list_link_t news; /* iface->news or ->blocked */
    list_link_t opening;
    list_link_t ringing;
    list_link_t signals;  /* rc_queued_t, the first is on its way */
    verbs_sq_t sq;        /* sq.qp NULL before trust() */
    verbs_route_t *route; /* of signals */
    struct rdma_cm_id *cm;
    verbs_address_t remote;
    uint64_t id, remote_id;
    uint64_t repeat_ns, deadline_ns;
    uint32_t signal_count;
    uint32_t sent, received; /* numbers of signals: of the first queued, of the last delivered */
    uint32_t remote_qpn, remote_psn, psn;
    uint8_t remote_reads, reads_most; /* at a time: that the peer serves; that we may have under way */
    uint8_t reads, accesses;          /* under way: reads, and all one-sided requests */
    const char *failed;
    uint8_t state; /* rc_state_t */
    uint8_t repeats;
    bool accepted, trusted, armed, remote_armed;
    bool told_ready, tell_room;
    bool parted, leaving; /* rdma_cm: the peer has left; we have said that we do */
    bool unreached;       /* rdma_cm: there was no connection, and another try will find no other answer */
} rc_ep_t;

static inline rc_iface_t *rc_iface_of(const tl_iface_t *base)
{
    return (rc_iface_t *)base;
}
static inline rc_ep_t *rc_ep_of_sq(verbs_sq_t *sq)
{
    return sq->owner;
}

/* rc_ep.c */
/* NULL: *status_p, which may be NULL, says why. */
rc_ep_t *rc_ep_new(rc_iface_t *iface, void *owner, const verbs_address_t *to, uint64_t remote_id,
                   vbn_status_t *status_p);
void rc_ep_add_news(rc_ep_t *ep);
void rc_ep_fail(rc_ep_t *ep,
                const char *why); /* why is copied into the thread's error text when told: static or the port's */
void rc_ep_tell(rc_ep_t *ep);
void rc_tick_soon(rc_iface_t *iface);

/* rc_life.c */
void rc_ep_free(rc_ep_t *ep);
void rc_ep_closing_look(rc_ep_t *ep, uint64_t now);
vbn_status_t rc_ep_connect(tl_iface_t *base, const void *address, size_t length, void *owner, tl_ep_t **ep_p);
vbn_status_t rc_ep_trust(tl_ep_t *base);
void rc_ep_disconnect(tl_ep_t *base, vbn_close_mode_t mode, uint64_t timeout_ns);

/* rc_cm.c */
vbn_status_t rc_cm_call(rc_ep_t *ep);
unsigned rc_cm_look(rc_iface_t *iface); /* takes events; their number */
void rc_cm_parted(rc_iface_t *iface);
bool rc_cm_ending(rc_ep_t *ep); /* all is sent: true while the peer has yet to take it (iWARP) */
void rc_cm_close(rc_ep_t *ep);

/* rc_cm_listen.c */
vbn_status_t rc_cm_open(rc_iface_t *iface);
vbn_status_t rc_cm_listen(rc_iface_t *iface); /* also again, when the port's address has changed */
void rc_cm_shut(rc_iface_t *iface);
void rc_cm_to_socket(const verbs_address_t *address, struct sockaddr_storage *at);
void rc_cm_from_socket(const struct sockaddr *at, verbs_address_t *address);

/* rc_qp.c: states of a connection's queue pair. */
vbn_status_t rc_qp_open(rc_ep_t *ep);
vbn_status_t rc_qp_arm(rc_ep_t *ep);
void rc_qp_close(rc_ep_t *ep);
void rc_qp_limit_reads(rc_ep_t *ep); /* sets reads_most from remote_reads */
/* As rdma_cm says, with the time-outs, rights and limits of our own. */
vbn_status_t rc_qp_by_cm(rc_ep_t *ep, enum ibv_qp_state state);
unsigned rc_qp_serves(const rc_iface_t *iface);                      /* reads of a peer at a time */
void rc_qp_last_receive(rc_iface_t *iface, const struct ibv_qp *qp); /* the device's word that it holds none any more */
void rc_qp_drained_look(rc_iface_t *iface, uint64_t now);

/* rc_signal.c */
void rc_signal_send(rc_ep_t *ep, unsigned flags);
void rc_signal_drop(rc_ep_t *ep);
vbn_status_t rc_signal_queue(rc_ep_t *ep, const tl_packet_t *packet);
/* The peer's queue pair is known: connects, becomes READY when nothing is missing. */
void rc_signal_step(rc_ep_t *ep);

/* rc_hear.c */
void rc_signal_receive(rc_iface_t *iface, const uint8_t *bytes, uint32_t length);
void rc_signal_look(rc_ep_t *ep, uint64_t now); /* repeats, if it is time */

/* rc_send.c */
vbn_status_t rc_send(tl_ep_t *base, const tl_packet_t *packet);
void rc_send_waiting(rc_ep_t *ep); /* packets that waited for the connection */
void rc_probe(tl_ep_t *base);
void rc_send_nothing(rc_ep_t *ep); /* a message whose completion says that all before it arrived */
void rc_ring(rc_ep_t *ep);
void rc_ring_soon(rc_ep_t *ep); /* at once, or at the end of progress */
void rc_sent(rc_iface_t *iface, const struct ibv_wc *wc);

/* rc_native.c */
void rc_native_open(rc_iface_t *iface);
vbn_status_t rc_native_expose(tl_ep_t *base, uint64_t key_handle, mem_exposed_t *exposed_p);
vbn_status_t rc_native_access(tl_ep_t *base, const tl_access_t *access, uint32_t *taken_p);
void rc_native_ring(tl_ep_t *base);

/* rc_receives.c */
vbn_status_t rc_receives_open(rc_iface_t *iface);
void rc_receives_close(rc_iface_t *iface);
void rc_receives_join(rc_iface_t *iface);  /* one more connection may send soon */
void rc_receives_leave(rc_iface_t *iface); /* one less */
void rc_receives_low(rc_iface_t *iface);   /* the device says that few are left */
const uint8_t *rc_receives_bytes(const rc_iface_t *iface, uint32_t index);
void rc_receives_again(rc_iface_t *iface, uint32_t index); /* the packet in it has been handled */

#endif
