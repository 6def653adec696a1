/* SPDX-License-Identifier: Apache-2.0
 * rma.h - keys, and what is done with them: put, get, atomics, fence, flush. */
#ifndef VBN_PROTO_RMA_H
#define VBN_PROTO_RMA_H

#include "proto/op.h"

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
    struct {
        uint64_t address; /* of the range's first byte, in the owner's process */
        uint64_t consent; /* of the record that allows it there; 0: not looked up yet */
        bool refused;     /* the kernel has refused, or the owner: packets */
    } kernel;             /* rma_kernel.c */
    key_ask_t *ask;       /* while the owner is being asked how its device serves it, else NULL */
    struct {
        uint64_t address; /* of the range's first byte, at the owner */
        uint32_t key;
        uint32_t connection; /* for which the rest holds; 0: not asked yet */
        bool known;
    } device[LINK_DEVICES];
    bool *released_p;    /* set while waiting ops are started: told when a callback releases the key */
    list_link_t waiting; /* proto_stream_t.active of ops issued while the import runs */
};

/* One peer's flush of a flush of all. */
typedef struct flush_part {
    vbn_op_t op;
    proto_op_t *whole;
    vbn_peer_t *peer;
} flush_part_t;

/* ---- rma*.c */
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

/* ---- rma_kernel.c */
/* Worth a try: a range of user memory that its owner lets the kernel copy, and nothing before it has to come first. */
bool rma_kernel_may(const vbn_key_t *key, uint64_t length, size_t count);
/* VBN_OK: done. VBN_ERR_STALE: the owner has ended it. VBN_ERR_UNSUPPORTED: it has to go by packets, whatever was moved. */
vbn_status_t rma_kernel_copy(vbn_key_t *key, op_kind_t kind, uint64_t offset, const struct iovec *iov, size_t count,
                             uint64_t length);

/* ---- flush.c */
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

/* ---- key.c */
void key_peer_down(vbn_key_t *key);

#endif
