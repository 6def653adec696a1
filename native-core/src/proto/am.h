/* SPDX-License-Identifier: Apache-2.0
 * am.h - messages: eager, announced and pulled. */
#ifndef VBN_PROTO_AM_H
#define VBN_PROTO_AM_H

#include "proto/op.h"

/* A small message of many pieces, copied together. */
typedef struct proto_gathered {
    vbn_peer_t *peer;
    struct iovec iov;
    uint8_t data[];
} proto_gathered_t;

struct vbn_am_remote {
    list_link_t link;
    proto_engine_t *engine;
    vbn_peer_t *peer; /* NULL when down */
    uint64_t sender_op;
    uint64_t length;
    uint8_t stages; /* offered */
    proto_place_t place;
};

/* ---- am.c: also used by tag_send.c */
void am_rx_rts(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);
/* The stages that the flags of a call and the settings ask for. VBN_ERR_INVALID for two compressors. */
vbn_status_t am_stages(const proto_engine_t *engine, unsigned flags, unsigned *stages_p);
/* Sends header and data as one packet; done as in link_packet_t. */
vbn_status_t am_send_packet(vbn_peer_t *peer, const proto_header_t *header, const struct iovec *iov, size_t count,
                            link_done_func_t done, void *arg);
/* The same for an op that ends when the data has left. */
vbn_status_t am_send_whole(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header,
                           const struct iovec *iov, size_t count, vbn_op_t *user_op);
/* Sends header, of an RTS type, for data that the receiver will pull. flags: of the call; VBN_SEND_PRIVATE counts. */
vbn_status_t am_announce(vbn_peer_t *peer, const proto_header_t *header, const struct iovec *iov, size_t count,
                         unsigned flags, vbn_op_t *user_op);
/* Checks an announcement against what a peer may do; blames it. */
bool am_may_announce(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);

/* ---- pull.c: announced messages */
/* Gets the data of an announced message, one way or the other. The op is set up, but for its state. */
vbn_status_t pull_start(proto_op_t *op, const proto_place_t *place, unsigned stages);
/* How the pull goes whose data lies at stream.key of the sender's process (0: we may not read it), or in direct.import (NULL: we
 * have not mapped it): as the pair has measured, else as the costs say. */
pick_way_t pull_pick(proto_op_t *op);
/* It did not go as that said. */
void pull_strayed(proto_op_t *op);
/* Rows of kinds.c. */
bool large_on_status(proto_op_t *op, vbn_status_t status, const proto_header_t *header);
void large_on_end(proto_op_t *op);
bool pull_on_status(proto_op_t *op, vbn_status_t status, const proto_header_t *header);
void pull_on_data(proto_op_t *op, vbn_status_t status);
void pull_on_end(proto_op_t *op);

#endif
