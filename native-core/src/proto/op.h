/* SPDX-License-Identifier: Apache-2.0
 * op.h - operations: their state inside the caller's vbn_op_t, the table of their kinds, the data that they walk over and
 * send in segments. */
#ifndef VBN_PROTO_OP_H
#define VBN_PROTO_OP_H

#include <string.h>

#include "proto/proto_private.h"

#define PROTO_SEGMENT_IOV 16u          /* pieces of user memory in one packet */
#define PROTO_PUMP_MAX 64u             /* segments of one transfer sent in a row, so that others get their turn */
#define PROTO_BOUNCE_BYTES STAGE_CHUNK /* data that is not a list of buffers, or compressed, is sent through copies */

/* A position in the user's data. */
typedef struct proto_cursor {
    union {
        const struct iovec *iov;
        const vbn_strided_t *strided;
        const vbn_pack_t *pack;
    };
    uint32_t count;                     /* of iov, or one of: */
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

typedef enum stream_kind { STREAM_PULL, STREAM_GET, STREAM_PUT, STREAM_DEVICE, STREAM_LOW_MARK } stream_kind_t;

/* What a get, put or pull that devices carry out needs besides: see ways/device.c. */
typedef struct proto_device {
    uint64_t target;                  /* OP_PULL: the stream's */
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
                           it starts; OP_RECEIVE: in engine->tags.order */
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
    int32_t status;     /* first error */
    uint32_t in_flight; /* segments whose done is outstanding */
    uint8_t kind;
    bool last_sent;
    uint8_t stages; /* OP_LARGE: offered, then those to use; OP_PULL: those to use */
    uint8_t way;    /* of ops, way_t: whose `end` gives back what it holds */
    uint32_t epoch; /* ops: value of engine->fence_epoch when it was issued */
} proto_stream_t;

/* Each has a row in kinds.c. */
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
    OP_IMPORT,
    OP_KINDS
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
    union {
        uint32_t tag;  /* of the claim */
        uint32_t head; /* OP_LARGE that nobody has pulled: bytes that went along with the announcement */
    };
    union {
        uint32_t chunks; /* OP_PULL: next one when copying alone; OP_LARGE: written for the receiver */
        uint32_t more;   /* as head: bytes behind those */
    };
    uint8_t slot;      /* 1 + index of the claim, 0 = copying alone */
    uint8_t turn;      /* chunks copied, see copying_again */
    bool offered : 1;  /* OP_LARGE */
    bool secret : 1;   /* OP_LARGE: the memory of the data is not offered (VBN_SEND_PRIVATE) */
    bool heard : 1;    /* OP_PULL: HELPED came */
    bool unhelped : 1; /* it said that the helper could not write */
    bool alone : 1;    /* OP_PULL: no help is asked for */
    bool failed : 1;   /* OP_PULL: we cannot read; the data is to come by packets */
    bool put : 1;      /* OP_PULL: the sender may put the data to its place and say so; OP_LARGE: does so */
} proto_direct_t;

/* The core's part of a vbn_op_t; lives in its priv[]. */
typedef struct __attribute__((may_alias)) proto_op {
    list_link_t link;  /* in peer->ops; OP_RECEIVE from any source: engine->receives */
    list_link_t order; /* in peer->order: puts, atomics and flushes; OP_RECEIVE: in a chain of engine->tags */
    uint64_t handle;   /* 0 = none */
    int32_t result;    /* when FINISHED */
    uint8_t kind;
    uint8_t state;
    uint8_t
        code; /* OP_ATOMIC: of the packet; OP_PUT with a signal: vbn_atomic_kind_t; OP_GET: counted in peer->gets; OP_LARGE:
                     PROTO_RTS or PROTO_TAG_RTS; OP_PULL: 1 + pick_way_t, 0: not measured */
    bool unsent; /* counted in peer->unsent */
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
            uint32_t in_class; /* while in the table of engine->tags: 1 + index of its class; else 0 */
        } receive;             /* OP_RECEIVE */
        proto_direct_t direct; /* OP_PULL, OP_LARGE */
    };
} proto_op_t;

_Static_assert(sizeof(proto_op_t) <= sizeof(((vbn_op_t *)0)->priv), "an op's state fits in vbn_op_t");

/* One bulk packet in flight; its iov stays put until done. */
typedef struct proto_segment {
    proto_stream_t *stream;
    mem_lease_t lease; /* GET: of the memory that iov lies in; none when its bytes are in bounce */
    void *bounce;      /* PROTO_BOUNCE_BYTES, for data that is not a list of buffers, else NULL */
    uint32_t payload_bytes;
    uint32_t check; /* with STAGE_CHECKSUM */
    uint8_t form;   /* stage_form_t */
    uint32_t iov_count;
    struct iovec iov[PROTO_SEGMENT_IOV];
} proto_segment_t;

typedef struct proto_get_stream {
    list_link_t link;
    proto_stream_t stream;
    uint64_t block; /* of blocks at a distance of stride bytes; 0 = one range */
    uint64_t stride;
} proto_get_stream_t;

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
    bool sends;  /* its data counts as queued towards the peer until it ends (backlog.c) */
} proto_kind_t;

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
/* The same without peer and handle: belongs to no list; defined below. */
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
extern const proto_kind_t PROTO_KINDS[OP_KINDS];

/* ---- cursor.c */
static inline void cursor_init(proto_cursor_t *cursor, const struct iovec *iov, size_t count)
{
    *cursor = (proto_cursor_t){.iov = iov, .count = (uint32_t)count};
}
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
/* In parts for which compilers use plain stores: a string instruction takes longer to begin. */
static inline void op_zero(proto_op_t *op)
{
    _Static_assert(sizeof(*op) >= 128 && sizeof(*op) <= 192, "the parts below");
    memset(op, 0, 64);
    memset((char *)op + 64, 0, 64);
    memset((char *)op + 128, 0, sizeof(*op) - 128);
}
/* The one place where an op gets its first state: users zero a vbn_op_t once, so whatever its last operation has left there goes
 * here (P5). */
static ALWAYS_INLINE proto_op_t *op_prepare_inline(vbn_op_t *user_op, proto_engine_t *engine, op_kind_t kind,
                                                   const struct iovec *iov, size_t count, uint64_t length)
{
    proto_op_t *op = op_of(user_op);
    op_zero(op);
    user_op->complete = 0;
    op->kind = (uint8_t)kind;
    list_init(&op->link);
    list_init(&op->order);
    stream_init(&op->stream, engine, NULL, kind == OP_PUT ? STREAM_PUT : STREAM_PULL);
    op->stream.epoch = engine->fence_epoch;
    op->stream.length = length;
    cursor_init(&op->stream.cursor, iov, count);
    return op;
}
/* Sends what may be sent now. May free a GET stream or complete an op: do not touch it afterwards. */
void stream_pump(proto_stream_t *stream);
/* Most data of a segment of this transfer. */
uint64_t stream_segment_most(const proto_stream_t *s);
/* Ends what has nothing in flight and is finished. As stream_pump. */
void stream_settle(proto_stream_t *stream);

/* ---- stage_send.c */
/* Cuts the next chunk of a stream with stages: at most limit plain bytes. Returns how many. */
uint64_t stage_cut(proto_stream_t *s, proto_segment_t *segment, uint64_t limit);

#endif
