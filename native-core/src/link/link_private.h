/* SPDX-License-Identifier: Apache-2.0
 * link_private.h - the link layer's own structures: engine, peer, lane.
 *
 *   engine --map by uid--> peer --> lane --> transport endpoint        a lane is one connection with its wire-up state;
 *          --lanes-------> lanes without a peer (accepted, unproved)   a peer has one lane, replaced when both dial;
 *                                                                      peers that keep packets may have more (flow/rails.c)
 *
 * Ownership: the engine owns peers and lanes. A peer ends in link_peer_end() exactly once and is freed when no reference
 * is left, at the end of a progress call (never while upcalls run). All of it belongs to the worker's thread, except
 * `wakes` and the wake descriptor.
 *
 * Invariants: P0 peer->clear is NULL unless link_send would send at once
 * (credits and room aside) and no flush waits. P1 a peer in the map is not
 * LOST. P2 lane->hs exists until the lane is ready. P3 a node is in exactly one
 * of: the pool, peer->queue, peer->inflight, peer->flushes. P4 tx_acked <= tx_next <= tx_acked + window (mod 2^32).
 * P5 what is queued before READY fits every transport: peers that dial show capabilities with the smallest packets.
 * P6 a dormant peer has neither lane nor node, and nothing of it can break: link_connect_now, the peer's own connection
 * (link_lane_bind) and its end are the only ways out. */
#ifndef VBN_LINK_PRIVATE_H
#define VBN_LINK_PRIVATE_H

#include "base/fifo.h"
#include "base/fork.h"
#include "base/hot.h"
#include "base/map.h"
#include "base/mpool.h"
#include "base/os.h"
#include "link/link.h"
#include "link/link_address.h"
#include "link/link_arq.h"
#include "link/link_auth.h"
#include "link/link_select.h"
#include "link/link_wait.h"

#define LINK_TRANSPORTS LINK_ADDRESS_SECTIONS /* interfaces of a worker */
#define LINK_LANES_MAX 8u                     /* of one peer */
#define LINK_BULK_BYTES (64u << 10) /* or half a packet: payloads from here on are spread over a peer's lanes */

typedef struct link_blob {
    const uint8_t *bytes;
    size_t length;
} link_blob_t;

typedef struct link_transport {
    const tl_ops_t *ops;
    tl_iface_t *iface;
    char name[LINK_TRANSPORT_NAME + 1];      /* as in addresses: of the transport; of its further devices "rc.1" ... */
    unsigned (*progress)(tl_iface_t *iface); /* ops->progress, or the fast lane's */
    bool fast;                               /* the layers above have a fast lane over it */
    bool self;                               /* TL_CAP_SELF */
    tl_caps_t opening; /* its capabilities, with packets that every transport takes: another one may win (P5) */
} link_transport_t;

typedef enum link_lane_state {
    LANE_WAIT_HELLO,     /* accepted */
    LANE_WAIT_CHALLENGE, /* initiator */
    LANE_WAIT_PROOF,     /* accepted */
    LANE_WAIT_WELCOME,   /* initiator */
    LANE_WAIT_OTHER,     /* initiator: refused because the peer's own connection is used; no endpoint */
    LANE_WAIT_AGAIN,     /* initiator: the connection ended before WELCOME, it is dialled again soon; no endpoint */
    LANE_REJECTED,       /* accepted: REJECT waits for room, or is repeated to a peer that may not have got it */
    LANE_LINGERS,        /* datagrams: closed by the peer; repeats the ack of its CLOSE for a while */
    LANE_PROVED          /* both proved the key; ready once the transport is */
} link_lane_state_t;

typedef struct link_lane link_lane_t;

/* Wire-up state, freed when the lane is ready. */
typedef struct link_handshake {
    link_lane_t *lane;
    wheel_timer_t timer;
    wheel_timer_t retry; /* initiator: over datagrams sends `control` again; in WAIT_AGAIN dials */
    uint8_t *address;    /* initiator, for a new peer: where to dial again; owned */
    uint16_t address_bytes;
    uint16_t nobody;       /* transports over which nobody answered, by index */
    uint8_t redials, next; /* so many; the transport of the next one */
    link_transcript_t transcript;
    link_offer_t remote;
    uint16_t control_bytes; /* the last packet sent */
    uint8_t tries;
    bool control_waits;   /* it found the transport busy */
    bool adds;            /* the lane joins those of a peer */
    bool extended;        /* the time-out began again, as the program was away */
    bool resumes;         /* an attempt to resume: the time-out is its part of link.resume_timeout */
    uint64_t away_before; /* the engine's away_ns when the timer was added */
    uint8_t control[16 + LINK_CHALLENGE_BYTES];
    uint64_t session; /* the epoch of this lane's WELCOME */
} link_handshake_t;

struct link_lane {
    union {
        link_lane_head_t head;
        struct {
            LINK_LANE_HEAD
        };
    };
    link_engine_t *engine;
    tl_ep_t *ep; /* NULL in LANE_WAIT_OTHER */
    link_handshake_t *hs;
    link_handshake_t *welcome; /* datagrams, accepted: repeats WELCOME until the peer has shown that it got it */
    list_link_t link;          /* in engine->lanes while without a peer, in engine->costly if it is that */
    link_lane_t *next;         /* of the same peer, see flow/rails.c */
    uint32_t remote_connection;
    uint32_t under_way, under_way_bytes; /* kept packets: sent over it, neither arrived nor lost; their payload. And
                                            transfers of devices */
    uint32_t order, top;                 /* packets it took; the last of them known to have arrived */
    uint8_t silent;                      /* time-outs since something sent over it arrived */
    uint8_t transport : 4;
    uint8_t state : 4; /* link_lane_state_t */
    bool initiator : 1;
    bool datagram : 1; /* the transport may lose, double and swap packets */
    bool kept : 1;     /* packets are kept until acknowledged: datagrams, or both sides want to resume */
    bool stranger : 1; /* datagrams: counted in engine->strangers */
    bool costly : 1;   /* its transport has TL_CAP_COSTLY */
    bool native : 1;   /* and TL_CAP_NATIVE */
    bool counted : 1;  /* in engine->costly */
    bool tl_ready : 1;
    bool dropping : 1, drop_sent : 1, drop_heard : 1; /* on its way to an orderly end, LANE_DROP sent and received */
    bool placing : 1; /* kept packets: the one that is coming goes straight to its place; counted in arq->placing */
    bool blocked : 1; /* transport said VBN_BUSY, tx_ready will come */
};

_Static_assert(LINK_TRANSPORTS <= 16 && LANE_PROVED < 16, "both fit into four bits of a lane");
_Static_assert(sizeof(struct link_lane) <= 104, "docs/scaling.md: every peer has at least one");

typedef enum link_peer_state { PEER_OPENING, PEER_READY, PEER_CLOSING, PEER_ENDING, PEER_LOST } link_peer_state_t;

/* What few peers need, or for a short time only; made by link_extra(). */
typedef struct link_extra {
    vbn_peer_t *peer;
    wheel_timer_t closing; /* CLOSING: waits for the last acks */
    fifo_t imports;        /* link_import calls that wait for READY */
    char *lost_text;
} link_extra_t;

struct vbn_peer {
    union {
        link_peer_head_t head;
        struct {
            LINK_PEER_HEAD
        };
    };
    link_engine_t *engine;
    link_lane_t *lane;     /* the first and best; NULL when LOST, and while resuming */
    link_arq_t *arq;       /* on lanes that keep packets until acknowledged, else NULL */
    uint64_t remote_epoch; /* of the HELLO or WELCOME that made the lane */
    list_link_t queue;     /* nodes that wait for ready, credits or room */
    list_link_t inflight;  /* nodes whose payload the transport uses */
    fifo_t flushes;        /* nodes that wait for an ack */
    list_link_t work;      /* in engine->closing, ->ending or ->dead */
    link_extra_t *extra;   /* mostly NULL */
    vbn_peer_error_func_t error_func;
    void *error_arg;
    void *user;
    uint32_t refs; /* link_connect calls not yet disconnected */
    uint32_t queued;
    uint16_t
        why_bytes; /* of the sentence behind upper_state that says why the transport was chosen; 0: there is none */
    int8_t lost_status;
    uint8_t transport;
    uint8_t state; /* link_peer_state_t */
    bool
        dormant : 1; /* OPENING without a lane: dialled by the first packet, or taken by the peer's own connection (P6) */
    bool accepted : 1; /* the lane in use was opened by the other side */
    bool
        seen : 1; /* the upper layer got a packet of it, or its connection became ready and it was the one to open it */
    bool left : 1;        /* the last reference was dropped by VBN_CLOSE_FLUSH */
    bool one_sided : 1;   /* link_promote was called */
    bool ack_due : 1;     /* an ACK found the transport busy */
    bool ask_ack : 1;     /* an ACK_NOW request has to be sent when the queue is empty */
    bool close_asked : 1; /* closing: the last acks have been asked for */
    bool moved : 1; /* over another transport than the sentence says: that one's connection ended before WELCOME */
    bool dials : 1; /* behind the sentence there is the address, to be dialled again: resuming, further lanes */
    _Alignas(16) unsigned char upper_state[];
};

_Static_assert(sizeof(struct vbn_peer) == LINK_PEER_BYTES, "link_peer_upper(); docs/scaling.md");

/* A packet that waits or is in use, a flush. */
typedef struct link_node {
    list_link_t link;
    vbn_peer_t *peer;
    link_done_func_t done;
    void *arg;
    const struct iovec *iov;
    mem_lease_t *lease; /* of link_packet_t */
    uint32_t iov_count;
    uint32_t payload_bytes;
    uint32_t header_bytes; /* upper header, from header[16] on */
    uint32_t sequence;     /* flush: done when acked up to here */
    uint8_t header[TL_HEADER_MAX];
    link_resend_t resend; /* while unacknowledged and peer->arq */
} link_node_t;

struct link_engine {
    link_params_t params;
    uint8_t job_key[32];
    const uint8_t *key; /* job_key, or NULL with security.auth=none */
    uint64_t uid;
    uint64_t host_id;
    uint64_t epoch;
    uint64_t fork_generation;
    link_transport_t transports[LINK_TRANSPORTS];
    unsigned transport_count;
    unsigned rails; /* lanes that a peer with bulk data gets: link.rails, or more because of several devices */
    map_t peers;
    list_link_t lanes;
    list_link_t closing;      /* VBN_CLOSE_FLUSH: waiting for acks; to be looked at in this round (peer/close.c) */
    list_link_t closing_seen; /* looked at, nothing can be done before something happens */
    list_link_t ending;       /* to be ended in the next progress, or as soon as its process copies nothing any more */
    list_link_t dead;         /* to be freed after this progress */
    list_link_t kept;         /* LOST but referenced */
    list_link_t dead_lanes;
    list_link_t costly;  /* lanes of peers over transports with TL_CAP_COSTLY */
    list_link_t natives; /* link_node_t.link of transfers of devices under way */
    list_link_t groups;  /* struct vbn_group.link */
    mpool_t nodes;
    wheel_t wheel;
    vbn_peer_error_func_t lost_func;
    void *lost_arg;
    uint64_t last_auth_log_ns;
    uint64_t armed_ms; /* deadline the timer descriptor is set to, 0 = none */
    int epoll_fd, wake_fd, timer_fd;
    unsigned strangers; /* lanes of datagram transports whose peer has not proved the key */
    unsigned depth;     /* > 0: upcalls run, nothing may be freed */
    unsigned costly_count;
    bool has_costly;                  /* a transport has TL_CAP_COSTLY */
    bool closes;                      /* closing or closing_seen may hold something */
    bool shut;                        /* link_engine_close: peers end at once */
    unsigned clock_skip, clock_every; /* turns since the last look at the clock; idle ones until the next */
    uint64_t looked_ns;               /* at the clock, in the last turn that did, or when the only timer was added */
    uint64_t away_ns;                 /* all time in which the program neither made progress nor slept armed */
    bool slept;                       /* armed since the last look at the clock */
    link_wait_t wait;
    _Atomic uint32_t wakes;
    uint32_t wakes_seen;
    uint32_t wakes_read; /* taken out of wake_fd */
};

/* ------------------------------------------------------------------------------------ link_engine.c */

/* As link_engine_open with these transports (tests bring their own). */
vbn_status_t link_engine_open_with(const link_params_t *params, const tl_ops_t *const *table, unsigned table_count,
                                   link_engine_t **engine_p);
static inline uint64_t link_now_ns(const link_engine_t *engine)
{
    return os_clock_ns(engine->params.clock);
}

/* ------------------------------------------------------------------------------------- link_clock.c */

vbn_status_t link_fork_check(const link_engine_t *engine);
/* Arms the peer's timer if `due_ns` is before what it is armed for. */
void link_arq_wake_at(link_arq_t *arq, uint64_t due_ns);

/* --------------------------------------------------------------------------------- link_abilities.c */

bool link_is_costly(const link_engine_t *engine, unsigned transport);
bool link_promotes(const link_engine_t *engine); /* peers may get lanes over a costly transport */
/* Whether packets over this transport, a reliable one, are to be kept until acknowledged. */
bool link_keeps_wanted(const link_engine_t *engine, unsigned transport);

/* ------------------------------------------------------------------------------------- link_group.c */

void link_group_rx(tl_group_t *group, uint64_t source, const void *payload, uint32_t bytes);
void link_group_close(link_engine_t *engine); /* the transports are closed */

/* -------------------------------------------------------------------------------------- link_wait.c */

/* Looks on for a moment if that pays; true: there is something to do. */
bool link_wait_look(link_engine_t *engine);

/* ------------------------------------------------------------------------------- link_peer_record.c */

/* why: the sentence that says why the transport was chosen, NULL: none. address: kept for link_peer_address(); NULL: not. */
vbn_status_t link_peer_new(link_engine_t *engine, uint64_t uid, const char *why, const link_blob_t *address,
                           vbn_peer_t **peer_p);
/* What link_peer_new was given, decoded: where to dial again. Only if peer->dials. */
vbn_status_t link_peer_address(const vbn_peer_t *peer, link_address_t *address);
link_blob_t link_peer_blob(const vbn_peer_t *peer); /* the same, not decoded */
link_extra_t *link_extra(vbn_peer_t *peer);         /* NULL: no memory */
/* Why the peer was lost, or why its connection broke that is being resumed; `otherwise` when nothing is known. */
const char *link_lost_text(const vbn_peer_t *peer, const char *otherwise);
void link_set_lost_text(vbn_peer_t *peer, const char *text); /* copied; NULL: nothing */
/* Why it uses the transport that it uses. */
void link_peer_why(const vbn_peer_t *peer, char *text, size_t capacity);
void link_closing_stop(vbn_peer_t *peer); /* the time-out of its close */
/* The peer's next packet is checked in full, because its state or its owner has changed. */
static inline void link_peer_listen(vbn_peer_t *peer)
{
    if (peer->lane != NULL)
        peer->lane->rx_room = 0;
}

/* -------------------------------------------------------------------------------- link_peer_later.c */

void link_peer_to_ending(vbn_peer_t *peer); /* out of the map; it ends in the next progress */
void link_peer_end_later(vbn_peer_t *peer, vbn_status_t status, const char *text);

/* -------------------------------------------------------------------------------------- peer/peer.c */

/* Ends a peer: everything pending completes with status, upper layer and user are told, the lane goes. Only within
 * progress. counted: a loss, not an orderly end. */
void link_peer_end(vbn_peer_t *peer, vbn_status_t status, const char *text, bool counted);
/* Asked of a peer that ends now: its process writes into memory of operations here. Then link_peer_end only makes it
 * ENDING, and it ends in the progress that finds this over (after a second at most). */
bool link_still_copied(const vbn_peer_t *peer);
vbn_status_t link_closing_start(vbn_peer_t *peer);
void link_peer_kill(vbn_peer_t *peer); /* a peer that nobody has seen: no upcalls */
void link_peer_reap(link_engine_t *engine);
void link_peer_run_imports(vbn_peer_t *peer); /* READY: starts the imports that waited */

/* -------------------------------------------------------------------------------------- lane/lane.c */

static inline const tl_ops_t *link_lane_ops(const link_lane_t *lane)
{
    return lane->engine->transports[lane->transport].ops;
}
static inline const tl_caps_t *link_lane_caps(const link_lane_t *lane) /* of the transport, not of its endpoint */
{
    return link_lane_ops(lane)->caps(lane->engine->transports[lane->transport].iface);
}
static inline const char *link_lane_name(const link_lane_t *lane)
{
    return lane->engine->transports[lane->transport].name;
}

vbn_status_t link_lane_new(link_engine_t *engine, unsigned transport, bool initiator, link_lane_t **lane_p);
void link_lane_free(link_lane_t *lane, vbn_close_mode_t mode);
void link_lane_drop_endpoint(link_lane_t *lane, vbn_close_mode_t mode);
/* Without its endpoint; the lane itself goes too unless a peer has it. */
void link_lane_drop(link_lane_t *lane, vbn_close_mode_t mode);
void link_lane_stop_timers(link_lane_t *lane);
/* The capabilities that the layer above sees for its peer while this lane carries it. */
const tl_caps_t *link_lane_shown_caps(const link_lane_t *lane);
void link_lane_take_transport(link_lane_t *lane, unsigned transport);
void link_handshake_free(link_handshake_t *hs); /* NULL: nothing */
void link_lane_stranger_gone(link_lane_t *lane);
/* A lane broke: its peer resumes over another one if it may, else it is lost. */
void link_lane_broke(link_lane_t *lane, vbn_status_t status, const char *text);
/* Ends a lane that cannot go on; its peer, if it has one, is lost. */
void link_lane_fail(link_lane_t *lane, vbn_status_t status, const char *text);
void link_lane_bind(link_lane_t *lane, vbn_peer_t *peer, uint64_t epoch);
/* Bound to its peer it counts for link.promoted_max. */
void link_lane_count_costly(link_lane_t *lane);
void link_lane_uncount_costly(link_lane_t *lane);
/* No lane works: the peer resumes, or is lost. */
void link_peer_broke(vbn_peer_t *peer, vbn_status_t status, const char *text);

/* ----------------------------------------------------------------------------------- lane/control.c */

void link_control_send(link_lane_t *lane, link_type_t type, const void *body, size_t body_bytes);
void link_control_retry(wheel_timer_t *timer);
/* Tells the peer why and closes; the lane's own peer, if any, is handled by the caller. */
void link_control_reject(link_lane_t *lane, link_reason_t reason);
void link_control_count(link_lane_t *lane, vbn_status_t status, const char *text);
/* This side finds the other's packet wrong (err_text() says why): counts, tells, ends. */
void link_control_refuse(link_lane_t *lane, vbn_status_t status, link_reason_t reason);
void link_wireup_resume(link_lane_t *lane); /* the transport has room again */
/* Datagrams: a wire-up packet that repeats an earlier one is answered as that was, one that fits nothing is ignored. */
bool link_wireup_repeated(link_lane_t *lane, const link_header_t *header, const uint8_t *body, size_t body_bytes);

/* ------------------------------------------------------------------------------------ lane/wireup.c */

vbn_status_t link_wireup_start(link_lane_t *lane, uint64_t target_uid);
void link_wireup_rx(link_lane_t *lane, const link_header_t *header, const uint8_t *body, size_t body_bytes);
void link_lane_check_ready(link_lane_t *lane);

/* ----------------------------------------------------------------------------------- peer/connect.c */

vbn_status_t link_dial(link_engine_t *engine, const link_address_t *address, unsigned transport, vbn_peer_t *peer);
/* Dials a dormant peer. A failure ends it, not before the next progress. */
void link_connect_now(vbn_peer_t *peer);
/* One lane more to a peer that is ready. */
vbn_status_t link_dial_more(vbn_peer_t *peer, const link_address_t *address, unsigned transport);
/* The transport self has two endpoints per connection: what arrives at the second belongs to the same peer. */
void link_self_accept(link_lane_t *lane);
void link_self_end(vbn_peer_t *peer);

/* ------------------------------------------------------------------------------------ lane/redial.c */

/* The address of a new peer, in case its connection has to be dialled again. */
vbn_status_t link_redial_keep(link_lane_t *lane, const link_blob_t *address);
/* The lane's connection has ended. false: it is not dialled again. */
bool link_redial_begin(link_lane_t *lane, vbn_status_t status, const char *text);
void link_redial(link_lane_t *lane); /* the timer; the peer may have ended afterwards */

/* ------------------------------------------------------------------------------------- flow/rails.c */

/* The lane for a packet; NULL: none can take it now. The peer has at least one. */
link_lane_t *link_rails_choose(const vbn_peer_t *peer, const link_node_t *node);
link_lane_t *link_rails_first(const vbn_peer_t *peer);  /* the best one that can send, else NULL */
link_lane_t *link_rails_answer(const vbn_peer_t *peer); /* that by which the peer was heard, if it can send */
void link_rails_ask(vbn_peer_t *peer);                  /* asks for an ACK over every lane */
bool link_rails_others(const vbn_peer_t *peer, const link_lane_t *lane); /* a ready lane besides this one? */
unsigned link_rails_count(const vbn_peer_t *peer, int transport);        /* -1: all */
void link_rails_add(link_lane_t *lane, vbn_peer_t *peer);                /* a lane in wire-up joins the peer's */
void link_rails_ready(link_lane_t *lane);
void link_rails_unlink(link_lane_t *lane);
/* The lane is gone, others are there: what it had taken goes over them. The peer may have ended afterwards. */
void link_rails_lose(link_lane_t *lane, const char *text);
void link_rails_later(vbn_peer_t *peer);                       /* the next attempt to open a lane waits */
void link_rails_free(vbn_peer_t *peer, vbn_close_mode_t mode); /* all lanes */
/* An orderly end, when another lane is ready; else nothing happens. */
void link_rails_drop(link_lane_t *lane);
void link_rails_drop_step(vbn_peer_t *peer);
void link_rails_rx_drop(link_lane_t *lane);

/* ----------------------------------------------------------------------------------- flow/promote.c */

void link_promote_look(vbn_peer_t *peer); /* opens a lane if the peer is worth it; only within progress */
/* The answer to a proved PROOF that adds a lane: the peer, with the lane; NULL: refused. */
vbn_peer_t *link_rails_accept(link_lane_t *lane, uint64_t session);

/* ------------------------------------------------------------------------------------ flow/native.c */

void link_native_done(tl_ep_t *ep, void *cookie);
void link_native_lost(const link_lane_t *lane); /* its endpoint is gone */

/* ------------------------------------------------------------------------------------ lane/resume.c */

/* The lane is gone. false: the peer cannot resume. Operations may complete, so it may have ended afterwards. */
bool link_resume_begin(vbn_peer_t *peer, const char *text);
void link_resume_look(vbn_peer_t *peer, uint64_t now); /* the timer, while resuming */
/* The time of one attempt. */
uint64_t link_resume_part(const link_engine_t *engine);
uint64_t link_resume_next(const link_arq_t *arq);
vbn_peer_t *link_resume_accept(link_lane_t *lane, uint64_t session, uint32_t ack);
void link_resume_done(vbn_peer_t *peer); /* the new lane is ready */

/* --------------------------------------------------------------- flow/send.c, flow/rx.c, peer/close.c */

/* A transport took a packet neither now nor for later: too large for it, the peer ends; else ep_error follows. */
void link_refused(vbn_peer_t *peer, vbn_status_t status);
void link_node_fill(link_node_t *node, vbn_peer_t *peer, const link_packet_t *packet);
/* tl_ops_t.send inside the packet's lease; when that is lost, so is the peer, and the packet is not taken. */
vbn_status_t link_send_leased(vbn_peer_t *peer, const link_lane_t *lane, const tl_packet_t *packet);
bool link_may_send(const vbn_peer_t *peer); /* the lane is ready and has room */

void link_drain(vbn_peer_t *peer); /* sends what can be sent; only within progress */
vbn_status_t link_send_ack(vbn_peer_t *peer, unsigned flags);
vbn_status_t link_send_ack_over(vbn_peer_t *peer, link_lane_t *lane, unsigned flags); /* lane NULL: VBN_BUSY */
void link_credit_apply(vbn_peer_t *peer, uint32_t ack);
static inline bool link_credit_ack_valid(const vbn_peer_t *peer, uint32_t ack)
{
    return ack - peer->tx_acked <= peer->tx_next - peer->tx_acked;
}
static inline void link_set_window(vbn_peer_t *peer, uint32_t window)
{
    peer->window = window;
    peer->owed_most = window / 4;
}
void link_flush_complete(vbn_peer_t *peer);
void link_fill_upcalls(tl_upcalls_t *upcalls, link_engine_t *engine);
/* The worker is destroyed: sends CLOSE to a peer that was closed gracefully before and has been sent everything. Best effort. */
void link_close_announced(vbn_peer_t *peer);
unsigned link_close_progress(link_engine_t *engine, bool happened); /* happened: a new round over the closing peers */

#endif
