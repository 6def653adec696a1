/* SPDX-License-Identifier: Apache-2.0
 * proto_private.h - state of the protocol engine, its peers and operations. All of it belongs to the worker's thread. */
#ifndef VBN_PROTO_PROTO_PRIVATE_H
#define VBN_PROTO_PROTO_PRIVATE_H

#include "base/atomics.h"
#include "base/fork.h"
#include "base/handle.h"
#include "base/hot.h"
#include "base/mpool.h"
#include "mem/reach.h"
#include "proto/keep.h"
#include "proto/proto.h"
#include "proto/proto_wire.h"
#include "proto/stage.h"
#include "proto/tag_match.h"

#define PROTO_SEGMENT_IOV 16u    /* pieces of user memory in one packet */
#define PROTO_PUMP_MAX 64u       /* segments of one transfer sent in a row, so that others get their turn */
#define PROTO_MAX_OPS (1u << 24) /* operations with a handle that may be pending in a worker */

#define PROTO_COPY_CHUNKS 1u        /* of up to 256 KiB, per progress call */
#define PROTO_BOUNCE_BYTES STAGE_CHUNK /* data that is not a list of buffers, or compressed, is sent through copies */

/* A position in the user's data. */
typedef struct proto_cursor {
    union {
        const struct iovec *iov;
        const vbn_strided_t *strided;
        const vbn_pack_t *pack;
    };
    uint32_t count; /* of iov, or one of: */
#define CURSOR_PACK UINT32_MAX          /* VBN_PACK in 32 bits */
#define CURSOR_STRIDED (UINT32_MAX - 1) /* CURSOR_STRIDED_COUNT in 32 bits */
#define CURSOR_STRIDED_COUNT (SIZE_MAX - 1)
    uint32_t index;
    size_t offset; /* in iov[index]; else in the packed bytes */
} proto_cursor_t;

static inline bool cursor_is_list(const proto_cursor_t *cursor)
{
    return cursor->count < CURSOR_STRIDED;
}

/* What an atomic operation needs when it goes by a packet. */
typedef struct proto_amo {
    uint64_t operand;
    uint64_t compare;
    uint64_t *before; /* the user's, NULL when the old value is not wanted */
} proto_amo_t;

typedef enum stream_kind { STREAM_PULL, STREAM_GET, STREAM_PUT, STREAM_DEVICE } stream_kind_t;

/* What a get, put or pull that devices carry out needs besides: see ways/device.c. */
typedef struct proto_device {
    uint64_t target; /* OP_PULL: the stream's */
    uint64_t addresses[LINK_DEVICES]; /* of the first byte, at each of the owner's devices */
    uint32_t keys[LINK_DEVICES];
    uint32_t connections[LINK_DEVICES];
    unsigned count; /* of devices; a put has one, and its connection is the only one that is used */
} proto_device_t;

/* A transfer in segments. Sending: PULL (answers a pull) and PUT are part of an op, GET (answers a get) stands alone.
 * Receiving ops use peer, cursor, length and moved only. */
typedef struct proto_stream {
    proto_engine_t *engine;
    vbn_peer_t *peer;   /* NULL when the peer is down */
    list_link_t active; /* in engine->active when it can go on without an event; in key->waiting or peer->fenced before
                           it starts */
    union {
        proto_cursor_t cursor;
        proto_amo_t amo; /* OP_ATOMIC */
    };
    union {
        struct {
            uint64_t key;        /* GET: source, PUT: destination; the owner's handle */
            uint64_t key_offset; /* of the first byte in the key's range */
            union {
                uint64_t target;        /* handle of the op at the other side; PUT: our own */
                proto_device_t *device; /* DEVICE */
            };
        };
        struct { /* OP_RECEIVE */
            uint64_t tag;
            uint64_t mask;
            uint64_t sequence; /* of posting */
        };
    };
    uint64_t length;
    uint64_t moved;
    int32_t status; /* first error */
    uint32_t in_flight; /* segments whose done is outstanding */
    uint8_t kind;
    bool last_sent;
    uint8_t stages; /* OP_LARGE: offered, then those to use; OP_PULL: those to use */
    uint8_t way;    /* of ops, way_t: whose `end` gives back what it holds */
    uint32_t epoch; /* ops: value of engine->fence_epoch when it was issued */
} proto_stream_t;

typedef enum op_kind {
    OP_SMALL,
    OP_LARGE,
    OP_PULL,
    OP_GET,
    OP_PUT,
    OP_FLUSH,
    OP_ATOMIC,
    OP_RECEIVE,
    OP_SYNC,
    OP_KEY,
    OP_IMPORT
} op_kind_t;
/* COPYING: ways/process_copy.c. WRITING: ways/mapped_write.c. DEVICE: by devices, ENDING: that failed, see ways/device.c. */
typedef enum op_state {
    OP_WAITING,
    OP_PROBING,
    OP_RUNNING,
    OP_COPYING,
    OP_WRITING,
    OP_DEVICE,
    OP_ENDING,
    OP_FINISHED
} op_state_t;

/* What a pull, or the message that is pulled, needs when it is copied without packets. The stream's key is then the address
 * of the data in the other process, key_offset in our mapping of its memory. */
typedef struct proto_direct {
    union {
        mem_import_t *import; /* OP_PULL, or put: held, or NULL */
        vbn_mem_t *held;      /* OP_LARGE else: what the announcement offers to map, or NULL */
    };
    uint32_t tag;    /* of the claim */
    uint32_t chunks; /* OP_PULL: next one when copying alone; OP_LARGE: written for the receiver */
    uint8_t slot;    /* 1 + index of the claim, 0 = copying alone; a put always has one */
    uint8_t turn;    /* chunks copied, see copying_again */
    bool offered;    /* OP_LARGE */
    bool heard;      /* OP_PULL: HELPED came */
    bool unhelped;   /* it said that the helper could not write */
    bool failed;     /* OP_PULL: we cannot read; the data is to come by packets */
    bool put;        /* OP_PULL: the sender may put the data to its place and say so; OP_LARGE: does so */
} proto_direct_t;

/* The core's part of a vbn_op_t; lives in its priv[]. */
typedef struct __attribute__((may_alias)) proto_op {
    list_link_t link;  /* in peer->ops; OP_RECEIVE from any source: engine->receives */
    list_link_t order; /* in peer->order: puts, atomics and flushes; OP_RECEIVE: in a chain of engine->tags */
    uint64_t handle;   /* 0 = none */
    int32_t result;    /* when FINISHED */
    uint8_t kind;
    uint8_t state;
    uint8_t code; /* OP_ATOMIC: of the packet; OP_PUT with a signal: vbn_atomic_kind_t; OP_GET: counted in peer->gets */
    bool unsent;  /* counted in peer->unsent */
    uint64_t result_length;
    proto_stream_t stream;
    union {
        struct {
            uint64_t key; /* the owner's handle, 0 = none */
            uint64_t offset;
            uint64_t value;
        } signal; /* OP_PUT */
        struct {
            uint64_t source; /* uid, 0 = any */
            vbn_tag_info_t *info;
        } receive; /* OP_RECEIVE */
        proto_direct_t direct; /* OP_PULL, OP_LARGE */
    };
} proto_op_t;

_Static_assert(sizeof(proto_op_t) <= sizeof(((vbn_op_t *)0)->priv), "an op's state fits in vbn_op_t");

/* One bulk packet in flight; its iov stays put until done. */
typedef struct proto_segment {
    proto_stream_t *stream;
    mem_lease_t lease; /* GET: of the memory that iov lies in; none when its bytes are in bounce */
    void *bounce;    /* PROTO_BOUNCE_BYTES, for data that is not a list of buffers, else NULL */
    uint32_t payload_bytes;
    uint32_t check; /* with STAGE_CHECKSUM */
    uint8_t form;   /* stage_form_t */
    uint32_t iov_count;
    struct iovec iov[PROTO_SEGMENT_IOV];
} proto_segment_t;

/* A small message of many pieces, copied together. */
typedef struct proto_gathered {
    proto_engine_t *engine;
    struct iovec iov;
    uint8_t data[];
} proto_gathered_t;

/* Per peer, inside the link's peer object; zero until proto_peer_of was called once. */
typedef struct proto_peer {
    list_link_t link;    /* in engine->peers */
    vbn_peer_t *peer;
    list_link_t ops;     /* proto_op_t.link, pending and known only here */
    list_link_t order;   /* proto_op_t.order */
    list_link_t streams; /* proto_get_stream_t.link */
    list_link_t remotes; /* vbn_am_remote.link */
    list_link_t keys;    /* vbn_key.link */
    list_link_t tagged;  /* vbn_tag_message.link */
    list_link_t fenced;  /* proto_stream_t.active of ops that wait for the ones before a fence */
    list_link_t crowd;   /* the same of gets that wait for others to end: the owner answers so many at a time */
    list_link_t unflushed; /* in engine->unflushed (P6) */
    vbn_mem_t *sink_mem; /* referenced: of a put segment that the transport is writing, a step at a time, else NULL */
    void *sink_address;
    uint32_t incoming;  /* announced by the peer and not yet pulled or dropped */
    uint32_t announced; /* by us: OP_LARGE not complete */
    uint32_t stream_count;
    uint32_t gets; /* of ours that the owner is answering, by packets */
    uint32_t claim_tag;    /* of the last transfer that both sides copied */
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

/* One peer's flush of a flush of all. */
typedef struct flush_part {
    vbn_op_t op;
    proto_op_t *whole;
    vbn_peer_t *peer;
} flush_part_t;

typedef struct proto_get_stream {
    list_link_t link;
    proto_stream_t stream;
    uint64_t block; /* of blocks at a distance of stride bytes; 0 = one range */
    uint64_t stride;
} proto_get_stream_t;

struct vbn_am_remote {
    list_link_t link;
    proto_engine_t *engine;
    vbn_peer_t *peer; /* NULL when down */
    uint64_t sender_op;
    uint64_t length;
    uint8_t stages; /* offered */
    proto_place_t place;
};

#define TAG_SMALL_BYTES 120u /* with the rest four cache lines */
_Static_assert(sizeof(proto_place_t) <= TAG_SMALL_BYTES, "announced messages keep it in place of data");

/* A tagged message that no receive has taken yet. Kept in engine->tags, or given out by a probe. */
struct vbn_tag_message {
    list_link_t in[TAG_TABLES];
    list_link_t all;  /* in engine->tags.all or engine->tag_probed */
    list_link_t link; /* in peer->tagged */
    proto_engine_t *engine;
    vbn_peer_t *peer; /* NULL when lost */
    uint64_t source;
    uint64_t tag;
    uint64_t length;
    uint64_t sender_op; /* to be answered, 0 = not */
    uint8_t stages;     /* offered by the announcement */
    bool announced;     /* the data is still at the sender: data holds a proto_place_t */
    bool kept;          /* in engine->tags */
    bool orphan;        /* counted in engine->orphan_bytes */
    bool small;         /* from engine->tag_messages, else from the heap */
    uint8_t data[];
};

typedef struct key_ask key_ask_t; /* ways/device.c */

/* A running link_import. Outlives its key, because its answer may come late or never. */
typedef struct key_request {
    list_link_t link; /* engine->requests */
    vbn_key_t *key;   /* NULL when nobody waits any more */
} key_request_t;

struct vbn_key {
    list_link_t link; /* peer->keys */
    proto_engine_t *engine;
    vbn_peer_t *peer; /* NULL when down */
    mem_key_info_t info;
    key_request_t *request; /* while the import is running */
    proto_op_t *decision;   /* OP_IMPORT: waits for its end, else NULL */
    mem_import_t *import;   /* mapped here, else NULL */
    uint8_t *address;       /* of the range */
    key_ask_t *ask;         /* while the owner is being asked how its device serves it, else NULL */
    struct {
        uint64_t address; /* of the range's first byte, at the owner */
        uint32_t key;
        uint32_t connection; /* for which the rest holds; 0: not asked yet */
        bool known;
    } device[LINK_DEVICES];
    bool *released_p;       /* set while waiting ops are started: told when a callback releases the key */
    list_link_t waiting;    /* proto_stream_t.active of ops issued while the import runs */
};

typedef struct proto_handler {
    vbn_am_func_t func;
    void *arg;
} proto_handler_t;

#define COST_LIMITS 4u            /* kinds of transports whose limit is remembered */
#define COST_WHOLE_LEAST 4096u    /* the model lets at least this go whole, so that users can count on it */
#define COST_WHOLE_MOST 16384u    /* and at most this */

#define COST_DIRECT_LEAST (8u << 10) /* shorter messages never go past the packets: finding their memory takes as long */
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

typedef struct proto_way proto_way_t; /* ways/way.h */

/* What is particular to a kind of operation; all rows stand in kinds.c. The files below reach what they do not call through
 * here. NULL: nothing to do. */
typedef struct proto_kind {
    /* Sends the first packets of an op that has its handle: see op_start. */
    vbn_status_t (*start)(proto_op_t *op);
    /* Carries it out on memory that is mapped here. */
    void (*copy)(vbn_key_t *key, proto_op_t *op);
    /* The peer's answer. False, also when NULL: it does not fit, and the peer is blamed. */
    bool (*on_status)(proto_op_t *op, vbn_status_t status, const proto_header_t *header);
    /* All of its data has come in packets, or passed by: ends the op. NULL: takes no DATA. */
    void (*on_data)(proto_op_t *op, vbn_status_t status);
    /* All of its data is in the link. */
    void (*on_sent)(proto_op_t *op);
    /* The op ends and is in no list any more: gives back what it holds. The peer is NULL when it is down. */
    void (*on_end)(proto_op_t *op);
    bool quiet;  /* a peer that closes need not wait for its end */
    bool writes; /* changes the owner's memory: fences and flushes are about it */
} proto_kind_t;

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
    uint64_t tag_budget;   /* proto.tag_unexpected */
    uint64_t tag_extra;    /* sum of the peers' */
    uint64_t orphan_bytes; /* cost of whole messages whose senders are gone */
    uint32_t peer_count;   /* in peers */
    bool closing;
    list_link_t peers; /* proto_peer_t.link, all that are not down */
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

/* ---- op.c */
static inline proto_op_t *op_of(vbn_op_t *op)
{
    return (proto_op_t *)op->priv;
}
/* Checks op and iov and adds up the lengths. */
vbn_status_t op_check_list(const vbn_op_t *op, const struct iovec *iov, size_t count, uint64_t *total_p);
/* The same, at once for one buffer, which nearly every call has. */
static inline vbn_status_t op_check(const vbn_op_t *op, const struct iovec *iov, size_t count, uint64_t *total_p)
{
    if (__builtin_expect(op == NULL || count != 1 || iov == NULL || iov->iov_base == NULL, 0) ||
        __builtin_expect(iov->iov_len > UINT64_MAX / 2, 0))
        return op_check_list(op, iov, count, total_p);
    *total_p = iov->iov_len;
    return VBN_OK;
}
/* Prepares a pending op and lists it with its peer. with_handle: the other side will name it. */
vbn_status_t op_begin(vbn_op_t *user_op, vbn_peer_t *peer, op_kind_t kind, const struct iovec *iov, size_t count,
                      uint64_t length, bool with_handle);
/* The same without peer and handle: belongs to no list. The one place where an op gets its first state: users zero a
 * vbn_op_t once, so whatever its last operation has left there goes here (P5). */
proto_op_t *op_prepare(vbn_op_t *user_op, proto_engine_t *engine, op_kind_t kind, const struct iovec *iov, size_t count,
                       uint64_t length);
/* Takes it off all lists and tables, without completing it. */
void op_detach(proto_op_t *op);
/* Sets the user's fields, for calls that return VBN_OK. */
static inline vbn_status_t op_set_done(vbn_op_t *user_op, vbn_status_t status, uint64_t length)
{
    user_op->status = status;
    user_op->length = length;
    user_op->complete = 1;
    return status;
}
/* Detaches, sets the user's fields and calls done. The op's memory belongs to the user afterwards. */
void op_complete(proto_op_t *op, vbn_status_t status, uint64_t length);
/* The result is known; completes as soon as no segment is in flight (P1). */
void op_finish(proto_op_t *op, vbn_status_t status, uint64_t length);
static inline const proto_kind_t *op_kind(const proto_op_t *op)
{
    return &op->stream.engine->kinds[op->kind];
}
/* Gives it a handle and sends its first packets: a kind with `start`. */
vbn_status_t op_start(proto_op_t *op);
/* The pending op of this peer with this handle (P2), else NULL. */
proto_op_t *op_find(proto_engine_t *engine, const vbn_peer_t *peer, uint64_t handle);

/* ---- kinds.c */
extern const proto_kind_t PROTO_KINDS[];

/* ---- cursor.c */
void cursor_init(proto_cursor_t *cursor, const struct iovec *iov, size_t count);
/* Cuts at most `limit` bytes and PROTO_SEGMENT_IOV pieces off; returns the bytes. */
uint64_t cursor_cut(proto_cursor_t *cursor, uint64_t limit, struct iovec *pieces, uint32_t *count_p);
/* Address of the next `length` bytes when they lie in one piece, else NULL. */
void *cursor_contiguous(const proto_cursor_t *cursor, uint64_t length);
/* The same for what lies `skip` bytes further on. */
void *cursor_contiguous_at(const proto_cursor_t *cursor, uint64_t skip, uint64_t length);
/* Copies to (scatter) or from (gather) the buffers and moves on; data NULL: only moves on. */
void cursor_scatter(proto_cursor_t *cursor, const void *data, uint64_t length);
void cursor_gather(proto_cursor_t *cursor, void *data, uint64_t length);

/* ---- stream.c */
static inline void stream_init(proto_stream_t *stream, proto_engine_t *engine, vbn_peer_t *peer, stream_kind_t kind)
{
    stream->engine = engine;
    stream->peer = peer;
    stream->kind = (uint8_t)kind;
    list_init(&stream->active);
}
/* Sends what may be sent now. May free a GET stream or complete an op: do not touch it afterwards. */
void stream_pump(proto_stream_t *stream);
/* Ends what has nothing in flight and is finished. As stream_pump. */
void stream_settle(proto_stream_t *stream);
void get_stream_free(proto_get_stream_t *get);

/* ---- stage_send.c */
/* Cuts the next chunk of a stream with stages: at most limit plain bytes. Returns how many. */
uint64_t stage_cut(proto_stream_t *s, proto_segment_t *segment, uint64_t limit);

/* ---- am.c: also used by tag_send.c */
/* The stages that the flags of a call and the settings ask for. VBN_ERR_INVALID for two compressors. */
vbn_status_t am_stages(const proto_engine_t *engine, unsigned flags, unsigned *stages_p);
/* Sends header and data as one packet; done as in link_packet_t. */
vbn_status_t am_send_packet(vbn_peer_t *peer, const proto_header_t *header, const struct iovec *iov, size_t count,
                            link_done_func_t done, void *arg);
/* The same for an op that ends when the data has left. */
vbn_status_t am_send_whole(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header,
                           const struct iovec *iov, size_t count, vbn_op_t *user_op);
/* Sends header, of an RTS type, for data that the receiver will pull. */
vbn_status_t am_announce(vbn_peer_t *peer, const proto_header_t *header, const struct iovec *iov, size_t count,
                         vbn_op_t *user_op);
/* Checks an announcement against what a peer may do; blames it. */
bool am_may_announce(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);

/* ---- pull.c: announced messages */
/* Gets the data of an announced message, one way or the other. The op is set up, but for its state. */
vbn_status_t pull_start(proto_op_t *op, const proto_place_t *place, unsigned stages);
/* Rows of kinds.c. */
bool large_on_status(proto_op_t *op, vbn_status_t status, const proto_header_t *header);
void large_on_end(proto_op_t *op);
bool pull_on_status(proto_op_t *op, vbn_status_t status, const proto_header_t *header);
void pull_on_data(proto_op_t *op, vbn_status_t status);

/* ---- tag_send.c: a row of kinds.c */
bool sync_on_status(proto_op_t *op, vbn_status_t status, const proto_header_t *header);

/* ---- tag_credit.c */
void tag_credit_end(proto_engine_t *engine, proto_peer_t *p); /* the peer is down */
/* Messages of a lost peer that cost so much more may wait for their receives. */
bool tag_may_stay(const proto_engine_t *engine, uint64_t bytes);
/* A whole message of so many bytes has come; false: the peer had no credit for it, and is blamed. */
bool tag_credit_use(proto_engine_t *engine, vbn_peer_t *peer, uint32_t bytes);
/* A receive has taken it. */
void tag_credit_taken(vbn_peer_t *peer, uint64_t bytes);
/* The peer announced a message for want of credit. */
void tag_credit_starved(vbn_peer_t *peer);
void tag_rx_credit(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);

/* ---- tag_recv.c */
void tag_rx_message(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);
void tag_rx_announced(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);
void tag_peer_down(proto_engine_t *engine, proto_peer_t *p);
void tag_open(proto_engine_t *engine);
void tag_close(proto_engine_t *engine);

/* ---- am.c, rma*.c, flush.c, key.c: packets and events of each */
void am_rx_rts(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);
void rma_rx_get(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);
void rma_rx_put_blocks(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);
void rma_rx_put(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);
void *rma_sink_put(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);
/* The put segment that was being written is over, one way or the other. */
void rma_sink_end(proto_peer_t *p);
/* Checks a range and rights of an imported key, and that its owner lives. */
vbn_status_t rma_check(const vbn_key_t *key, uint64_t offset, uint64_t length, unsigned access);
/* Sends, or queues behind the key's import or a fence, an op that op_begin has set up: VBN_INPROGRESS, or the error after
 * which the op is detached. */
vbn_status_t rma_submit(vbn_key_t *key, proto_op_t *op);
/* Starts an op that waited for its key. */
void rma_start(vbn_key_t *key, proto_op_t *op);
/* Rows of kinds.c. */
vbn_status_t put_start(proto_op_t *op); /* by packets */
bool put_on_status(proto_op_t *op, vbn_status_t status, const proto_header_t *header);
void put_on_end(proto_op_t *op);
vbn_status_t get_start(proto_op_t *op);
bool get_on_status(proto_op_t *op, vbn_status_t status, const proto_header_t *header);
void get_on_data(proto_op_t *op, vbn_status_t status);
void get_on_end(proto_op_t *op);
void rma_copy(vbn_key_t *key, proto_op_t *op);
/* Starts flushes whose puts are done. */
void flush_advance(vbn_peer_t *peer);
/* ---- fence.c */
/* The op must not be sent yet: ops before a fence are not wholly sent. */
bool fence_blocks(const proto_peer_t *p, const proto_op_t *op);
/* Copies to mapped memory by an op of this epoch would not overtake packets from before a fence. */
static inline bool fence_allows_copy(const proto_peer_t *p, uint32_t epoch)
{
    return list_empty(&p->order) || container_of(p->order.next, proto_op_t, order)->stream.epoch == epoch;
}
/* True when an operation issued now may work on the mapped memory directly. */
static inline bool rma_mapped(const vbn_key_t *key)
{
    return key->address != NULL && fence_allows_copy(proto_peer_of(key->peer), key->engine->fence_epoch);
}
/* A put or atomic is going to be sent; fence_leave follows when all of it is in the link, or when it ends. */
void fence_enter(proto_op_t *op);
void fence_leave(proto_op_t *op);
/* ---- amo.c */
/* Updates the word at address; returns its value before. code as in a PROTO_ATOMIC packet. */
uint64_t amo_apply(void *address, unsigned code, uint64_t operand, uint64_t compare);
/* rma_check for a word of `width` bytes, and its alignment. */
vbn_status_t amo_check(const vbn_key_t *key, uint64_t offset, unsigned width, unsigned access);
/* Owner: updates the word that the header names. */
vbn_status_t amo_execute(proto_engine_t *engine, const proto_header_t *header, uint64_t *before_p);
/* Rows of kinds.c. */
void amo_copy(vbn_key_t *key, proto_op_t *op);
vbn_status_t amo_start(proto_op_t *op);
bool amo_on_status(proto_op_t *op, vbn_status_t status, const proto_header_t *header);
void amo_on_end(proto_op_t *op);
void amo_rx(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);
void key_peer_down(vbn_key_t *key);

#endif
