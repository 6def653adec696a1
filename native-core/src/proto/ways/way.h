/* SPDX-License-Identifier: Apache-2.0
 * way.h - the ways to move the data of announced messages. Each is a file of this folder and a row of the table in ways.c,
 * whose order is that in which they are offered and tried. */
#ifndef VBN_PROTO_WAYS_WAY_H
#define VBN_PROTO_WAYS_WAY_H

#include "proto/op.h"

typedef enum way {
    WAY_NONE,
    WAY_PROCESS_COPY, /* process_copy.c: both sides copy, between processes of one host */
    WAY_DEVICE, /* device_read.c: the receiver's device reads; device.c: also gets and puts, which nobody announces */
    WAY_MAPPED_WRITE, /* mapped_write.c: the sender copies into memory that the receiver has exported */
    WAY_PACKETS,      /* packets.c: always possible, and the only way for data with stages */
    WAYS
} way_t;

/* NULL: the way has nothing to do there. Only WAY_PACKETS is offered or begun for data with stages. */
struct proto_way {
    /* Sender: adds to an announcement, of type PROTO_RTS or PROTO_TAG_RTS, what the receiver needs. True: did so, and no
     * other way is offered. */
    bool (*offer)(proto_op_t *op, proto_header_t *header);
    /* Receiver: starts to get the data of an announced message. VBN_ERR_UNSUPPORTED: not so, the next way is tried; another
     * error ends the op. */
    vbn_status_t (*begin)(proto_op_t *op, const proto_place_t *place);
    /* Either side: a part of it, when the op's turn comes in engine->copying, or in engine->active with STREAM_DEVICE. May
     * complete the op. */
    void (*run)(proto_op_t *op);
    /* The op ends, or goes another way: gives back what it holds. */
    void (*end)(proto_op_t *op);
};

extern const proto_way_t PROTO_WAYS[WAYS];

static inline void way_run(proto_op_t *op)
{
    op->stream.engine->ways[op->stream.way].run(op);
}

/* The op goes this way from now on, or none. */
static inline void way_set(proto_op_t *op, way_t way)
{
    const proto_way_t *before = &op->stream.engine->ways[op->stream.way];
    if (before->end != NULL)
        before->end(op);
    op->stream.way = (uint8_t)way;
}

/* ---- process_copy.c */
bool process_copy_offer(proto_op_t *op, proto_header_t *header);
vbn_status_t process_copy_begin(proto_op_t *op, const proto_place_t *place);
void process_copy_run(proto_op_t *op);
void process_copy_end(proto_op_t *op);
void process_copy_rx_pull(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);
void process_copy_rx_helped(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);

/* ---- mapped_write.c */
vbn_status_t mapped_write_begin(proto_op_t *op, const proto_place_t *place);
void mapped_write_run(proto_op_t *op);
void mapped_write_end(proto_op_t *op);
void mapped_write_rx_pull(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);

/* ---- copying.c: what both of these need */
/* The op's connection to a process of this host; false: it has none any more. */
bool copying_reach(const proto_op_t *op, tl_direct_t *direct_p);
/* Hands out a claim of ours for the op, a pull: as the header says it. False: none is free. */
bool copying_claim(proto_op_t *op, const tl_direct_t *direct, uint64_t *claim_p);
/* Gives it back. */
void copying_unclaim(proto_op_t *op);
/* The op has more to copy: it goes on next, but lets others go first from time to time. */
void copying_again(proto_op_t *op);

/* ---- device_read.c */
bool device_read_offer(proto_op_t *op, proto_header_t *header);
vbn_status_t device_read_begin(proto_op_t *op, const proto_place_t *place);
/* RTS_DEVICE has come. */
void device_read_told(vbn_peer_t *peer, const proto_header_t *header);

/* ---- device.c */
/* Lets the devices carry out a get or put; false: it has to go by packets. */
bool device_start(vbn_key_t *key, proto_op_t *op);
/* The same for any op, with what the owner has told; false: there is no heap. */
bool device_begin(proto_op_t *op, const proto_device_t *device);
void device_run(proto_op_t *op);
void device_end(proto_op_t *op);
void device_forget(vbn_key_t *key);                                                    /* the key goes */
bool key_on_status(proto_op_t *op, vbn_status_t status, const proto_header_t *header); /* a row of kinds.c */
void device_rx_ask(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);
void device_rx_tell(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);
void device_rx_lane_end(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);

/* ---- packets.c */
vbn_status_t packets_begin(proto_op_t *op, const proto_place_t *place);
/* The same after another way has failed: from the first byte on. */
vbn_status_t packets_instead(proto_op_t *op);
void packets_rx_pull(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);
void packets_rx_data(proto_engine_t *engine, vbn_peer_t *peer, const proto_data_t *data, const void *payload,
                     uint32_t bytes);
void packets_rx_more(proto_engine_t *engine, vbn_peer_t *peer, const proto_data_t *data, const void *payload,
                     uint32_t bytes);
void packets_rx_staged(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);
/* Where a segment's data may be received to; NULL: anywhere else. */
void *packets_sink(proto_engine_t *engine, const vbn_peer_t *peer, const proto_data_t *data, uint32_t bytes);
void *packets_sink_staged(proto_engine_t *engine, const vbn_peer_t *peer, const proto_header_t *header);
/* The same for a segment before which others are missing. */
void *packets_sink_early(proto_engine_t *engine, const vbn_peer_t *peer, const proto_data_t *data, uint32_t bytes);

#endif
