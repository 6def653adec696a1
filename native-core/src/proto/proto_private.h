/* SPDX-License-Identifier: Apache-2.0
 * proto_private.h - state of the protocol engine and its peers, and what every file of this layer may call (peer.c). All of it
 * belongs to the worker's thread. Operations are in op.h, what is made of them in am.h, tag.h, rma.h, ways/way.h. */
#ifndef VBN_PROTO_PROTO_PRIVATE_H
#define VBN_PROTO_PROTO_PRIVATE_H

#include "base/atomics.h"
#include "base/fork.h"
#include "base/handle.h"
#include "base/hot.h"
#include "base/mpool.h"
#include "mem/reach.h"
#include "proto/keep.h"
#include "proto/pick.h"
#include "proto/proto.h"
#include "proto/proto_wire.h"
#include "proto/stage.h"
#include "proto/tag_match.h"

#define PROTO_MAX_OPS (1u << 24) /* operations with a handle that may be pending in a worker */
#define PROTO_COPY_CHUNKS 1u     /* of up to 256 KiB, per progress call */

typedef struct proto_op proto_op_t;             /* op.h */
typedef struct proto_kind proto_kind_t;         /* op.h */
typedef struct proto_way proto_way_t;           /* ways/way.h */
typedef struct proto_low_mark proto_low_mark_t; /* backlog.h */

/* Per peer, inside the link's peer object; zero until proto_peer_of was called once. */
typedef struct proto_peer {
    list_link_t link; /* in engine->peers */
    vbn_peer_t *peer;
    list_link_t ops;       /* proto_op_t.link, pending and known only here */
    list_link_t order;     /* proto_op_t.order */
    list_link_t streams;   /* proto_get_stream_t.link */
    list_link_t remotes;   /* vbn_am_remote.link */
    list_link_t keys;      /* vbn_key.link */
    list_link_t tagged;    /* vbn_tag_message.link */
    list_link_t fenced;    /* proto_stream_t.active of ops that wait for the ones before a fence */
    list_link_t crowd;     /* the same of gets that wait for others to end: the owner answers so many at a time */
    list_link_t unflushed; /* in engine->unflushed (P6) */
    vbn_mem_t *sink_mem;   /* referenced: of a put segment that the transport is writing, a step at a time, else NULL */
    void *sink_address;
    uint64_t queued;       /* bytes of operations that send, from op_begin to their end (backlog.c) */
    proto_low_mark_t *low; /* NULL: nobody wants to know */
    uint32_t incoming;     /* announced by the peer and not yet pulled or dropped */
    uint32_t announced;    /* by us: OP_LARGE not complete */
    uint32_t stream_count;
    uint32_t gets;         /* of ours that the owner is answering, by packets */
    uint32_t claim_tag;    /* of the last transfer that both sides copied */
    pick_t *pick;          /* how its large messages are pulled, measured; NULL: none came yet (pull.c) */
    uint64_t heading;      /* our op that has taken the head of the peer's last message */
    uint8_t head_pause;    /* announcements without a head (head.h) after the last one that was of no use, */
    uint8_t head_wait;     /* and those that are still to come */
    bool no_direct;        /* a way without packets failed once: packets */
    uint32_t unsent;       /* puts and atomics not wholly handed to the link; all of one epoch */
    uint32_t unsent_epoch; /* that epoch */
    uint32_t tag_credit;   /* bytes of whole tagged messages that we may still send */
    uint32_t tag_open;     /* the same of the peer, when all that it sent has arrived and all that we gave */
    uint32_t tag_taken;    /* of its messages that receives have taken: not given back yet */
    uint32_t tag_extra;    /* of all its credit (open, taken, or in messages that wait): beyond PROTO_TAG_FIRST */
    bool releasing;        /* fence_release runs */
    bool asking;           /* next_get runs */
    bool initialised;
    bool down;
    bool bad;  /* lied */
    bool deaf; /* down or bad: further packets are ignored */
} proto_peer_t;

typedef struct proto_handler {
    vbn_am_func_t func;
    void *arg;
} proto_handler_t;

#define COST_LIMITS 4u         /* kinds of transports whose limit is remembered */
#define COST_WHOLE_LEAST 4096u /* the model lets at least this go whole, so that users can count on it */
#define COST_WHOLE_MOST 65536u /* and at most this */

/* shorter messages never go past the packets: finding their memory takes as long */
#define COST_DIRECT_LEAST (8u << 10)
#define COST_HELP_LEAST (64u << 10) /* two chunks (ways/process_copy.c) */

/* What the model says of transports with these caps, in bytes of data. */
typedef struct cost_limit {
    tl_caps_t caps;
    uint64_t limit;       /* most that goes whole */
    uint64_t direct_from; /* least that is copied past the packets, where both sides' memory allows it */
    uint64_t help_from;   /* and by both sides together */
    uint64_t native_from; /* least that makes a connection for devices worth its price */
    bool packing_pays;
} cost_limit_t;

/* The operation that is being timed (traffic.h). */
typedef struct proto_timing {
    const proto_op_t *op; /* pending; NULL: none */
    bool in_call;         /* its call has not returned */
    traffic_cell_t *cell;
    uint64_t start_ns;
} proto_timing_t;

struct proto_engine {
    link_engine_t *link;
    const proto_kind_t *kinds; /* by op_kind_t */
    const proto_way_t *ways;   /* by way_t */
    uint64_t fork_generation;
    _Atomic uintptr_t user; /* debug builds: the thread inside a call; 0 = none (proto_use) */
    const log_sink_t *log;
    counters_t *counters;
    mem_registry_t *memory;
    mem_reach_t reach;
    model_host_t host;
    bool measures;         /* pairs measure their ways, the model only says what is possible (pick.h) */
    uint64_t am_small_max; /* the setting; 0: the cost model chooses */
    cost_limit_t limits[COST_LIMITS];
    uint64_t short_max; /* data that the fast lane takes */
    uint64_t short_end; /* short_max + 1; 0 = the next operation is to be timed, and is not for the fast lane */
    proto_timing_t timing;
    uint32_t stream_depth;
    uint32_t max_incoming;
    uint32_t fence_epoch; /* number of fences so far */
    handle_table_t ops;
    mpool_t segments;
    mpool_t get_streams;
    mpool_t devices; /* proto_device_t */
    mpool_t picks;   /* pick_t */
    mpool_t remotes;
    mpool_t gathered; /* small messages of many pieces, copied together */
    mpool_t flush_parts;
    mpool_t bounces;
    stage_box_t box;
    unsigned stages; /* offered for announced messages by the settings */
    bool packing;    /* and LZ4 where the model says that it pays */
    tag_match_t tags;
    mpool_t tag_messages;
    list_link_t tag_probed; /* vbn_tag_message.all */
    list_link_t receives;   /* proto_op_t.link, from any source */
    uint64_t tag_budget;    /* proto.tag_unexpected */
    uint64_t tag_extra;     /* sum of the peers' */
    uint64_t orphan_bytes;  /* cost of whole messages whose senders are gone */
    uint32_t peer_count;    /* in peers */
    bool closing;
    list_link_t peers;     /* proto_peer_t.link, all that are not down */
    list_link_t unflushed; /* proto_peer_t.unflushed: what a flush of all looks at (P6) */
    list_link_t active;
    list_link_t copying; /* proto_stream_t.active of transfers without packets that have something to copy */
    keep_t keep;
    list_link_t requests;
    proto_handler_t handlers[VBN_AM_IDS];
};

/* ---- peer.c */
void proto_peer_init(const vbn_peer_t *peer, proto_peer_t *p);
vbn_status_t proto_refuse_peer(const vbn_peer_t *peer);
vbn_status_t proto_refuse_fork(void); /* records and returns VBN_ERR_FORKED */

static inline proto_engine_t *proto_engine_of(const vbn_peer_t *peer)
{
    return link_peer_upper_engine(peer);
}

static inline proto_peer_t *proto_peer_of(const vbn_peer_t *peer)
{
    proto_peer_t *p = link_peer_upper(peer);
    if (__builtin_expect(!p->initialised, 0))
        proto_peer_init(peer, p);
    return p;
}

/* In a child after fork() every call is refused. */
static inline bool proto_forked(const proto_engine_t *engine)
{
    return UNLIKELY(os_fork_generation_now() != engine->fork_generation);
}

/* VBN_OK, or VBN_ERR_PEER_LOST for a peer that is down. */
static inline vbn_status_t proto_check_peer(const vbn_peer_t *peer)
{
    return UNLIKELY(peer == NULL || proto_peer_of(peer)->down || proto_forked(proto_engine_of(peer)))
               ? proto_refuse_peer(peer)
               : VBN_OK;
}

/* Something is going to the peer (P6). */
static inline void proto_unflushed(const vbn_peer_t *peer)
{
    proto_peer_t *p = proto_peer_of(peer);
    if (UNLIKELY(list_empty(&p->unflushed)))
        list_append(&proto_engine_of(peer)->unflushed, &p->unflushed);
}
/* Every packet but those of the fast lane, which is open only when one has passed here (link_flush_idle). */
static inline vbn_status_t proto_link_send(vbn_peer_t *peer, const link_packet_t *packet)
{
    proto_unflushed(peer);
    return link_send(peer, packet);
}
/* The peer broke the rules: counts it and fails it once. */
void proto_blame(proto_engine_t *engine, vbn_peer_t *peer, const char *what);
/* Sends a header without payload. */
vbn_status_t proto_send_header(vbn_peer_t *peer, const proto_header_t *header);
void proto_send_status(vbn_peer_t *peer, uint64_t op, vbn_status_t status, bool last, uint64_t length);

/* ---- cost.c */
/* What the model is told of a transport. */
model_path_t cost_path(const proto_engine_t *engine, const tl_caps_t *caps);
/* Makes limits[0] the one of these caps. */
const cost_limit_t *cost_find(proto_engine_t *engine, const tl_caps_t *caps);
static inline const cost_limit_t *cost_limits(proto_engine_t *engine, const vbn_peer_t *peer)
{
    const tl_caps_t *caps = link_caps(peer);
    if (LIKELY(memcmp(&engine->limits[0].caps, caps, sizeof(*caps)) == 0))
        return &engine->limits[0];
    return cost_find(engine, caps);
}
/* Most data that goes whole in one packet to this peer. */
static inline uint64_t proto_small_limit(proto_engine_t *engine, const vbn_peer_t *peer)
{
    return cost_limits(engine, peer)->limit;
}

#endif
