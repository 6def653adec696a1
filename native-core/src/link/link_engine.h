/* SPDX-License-Identifier: Apache-2.0
 * link_engine.h - the engine's record, and the table of events that a room raises for the rooms above it.
 *
 *   engine --map by uid--> peer --> lane --> transport endpoint        a lane is one connection with its wire-up state;
 *          --lanes-------> lanes without a peer (accepted, unproved)   a peer has one lane, replaced when both dial;
 *                                                                      peers that keep packets may have more (flow/rails.c)
 *
 * Ownership: the engine owns peers and lanes. All of it belongs to the worker's thread, except `wakes` and the wake
 * descriptor. */
#ifndef VBN_LINK_ENGINE_H
#define VBN_LINK_ENGINE_H

#include "base/map.h"
#include "base/mpool.h"
#include "base/wheel.h"
#include "link/link.h"
#include "link/link_address.h"
#include "link/link_wait.h"

#define LINK_TRANSPORTS LINK_ADDRESS_SECTIONS /* interfaces of a worker */

typedef struct link_lane link_lane_t;

typedef struct link_transport {
    const tl_ops_t *ops;
    tl_iface_t *iface;
    char name[LINK_TRANSPORT_NAME + 1];      /* as in addresses: of the transport; of its further devices "rc.1" ... */
    unsigned (*progress)(tl_iface_t *iface); /* ops->progress, or the fast lane's */
    bool fast;                               /* the layers above have a fast lane over it */
    bool self;                               /* TL_CAP_SELF */
    tl_caps_t opening; /* its capabilities, with packets that every transport takes: another one may win (P5) */
} link_transport_t;

typedef enum link_ready {
    LINK_READY_FIRST,   /* the peer's first lane: it is READY */
    LINK_READY_RESUMED, /* the lane in the place of those that broke; peer->arq->resume_ack is set */
    LINK_READY_ADDED    /* one lane more */
} link_ready_t;

/* lane and flow call the rooms above them by this table (peer/events.c) and by nothing else. */
typedef struct link_events {
    /* Both sides have proved the key, and packets are to be kept until acknowledged from here on. */
    vbn_status_t (*lane_proved)(vbn_peer_t *peer, uint64_t session);
    /* A proved lane of the other side asks to join those of the session's peer: joined, its peer; NULL: refused. */
    vbn_peer_t *(*lane_joins)(link_lane_t *lane, uint64_t session);
    void (*lane_ready)(link_lane_t *lane, link_ready_t how); /* last call of its caller: the peer may have ended */
    /* The lane is out of its peer's chain (NULL: all are). Operations may complete, so the peer may have ended afterwards. */
    void (*lane_lost)(vbn_peer_t *peer, const link_lane_t *lane);
    void (*peer_dead)(vbn_peer_t *peer, vbn_status_t status, const char *text, bool counted); /* as link_peer_end */
} link_events_t;

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
    const link_events_t *events;
};

#endif
