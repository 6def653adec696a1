/* SPDX-License-Identifier: Apache-2.0
 * tag.h - tagged messages that wait, their credit, and their packets. */
#ifndef VBN_PROTO_TAG_H
#define VBN_PROTO_TAG_H

#include "proto/op.h"

#define TAG_SMALL_BYTES 104u /* with the rest four cache lines */
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

/* ---- tag_match.c
 * A receive with source, tag (within mask) and mask set; from here on messages find it. */
static inline void tag_post(tag_match_t *match, proto_op_t *op)
{
    op->receive.in_class = 0;
    if (match->fresh == &match->order)
        match->fresh = &op->stream.active;
    list_append(&match->order, &op->stream.active);
}
static inline void tag_unpost(tag_match_t *match, proto_op_t *op)
{
    if (UNLIKELY(op->receive.in_class != 0))
        tag_unlist(match, op);
    if (match->fresh == &op->stream.active)
        match->fresh = op->stream.active.next;
    list_remove(&op->stream.active);
}
static inline bool tag_suits(const proto_op_t *op, uint64_t source, uint64_t tag)
{
    return (op->receive.source == source || op->receive.source == 0) && ((op->stream.tag ^ tag) & op->stream.mask) == 0;
}

/* ---- tag_send.c; sync_on_status: a row of kinds.c */
/* Asks the receiver to forget the message. VBN_INPROGRESS; VBN_ERR_INVALID: not a tagged send. */
vbn_status_t tag_withdraw(proto_op_t *op);
bool sync_on_status(proto_op_t *op, vbn_status_t status, const proto_header_t *header);

/* ---- tag_credit.c */
void tag_credit_end(proto_engine_t *engine, proto_peer_t *p); /* the peer is down */
/* Messages of a lost peer that cost so much more may wait for their receives. */
bool tag_may_stay(const proto_engine_t *engine, uint64_t bytes);
/* A whole message of so many bytes has come; false: the peer had no credit for it, and is blamed. */
bool tag_credit_use(proto_engine_t *engine, vbn_peer_t *peer, uint32_t bytes);
static inline bool tag_credit_covers(const proto_peer_t *p, uint32_t bytes)
{
    return bytes <= PROTO_TAG_WHOLE_MAX && bytes + PROTO_TAG_COST <= p->tag_open;
}
/* Gives back what receives have taken, more or less. starved: the peer announced a message for want of credit. */
void tag_credit_give_back(vbn_peer_t *peer, bool starved);
/* A receive has taken it. */
static inline void tag_credit_taken(vbn_peer_t *peer, proto_peer_t *p, uint64_t bytes)
{
    p->tag_taken += (uint32_t)bytes + PROTO_TAG_COST;
    if (UNLIKELY(p->tag_taken >= (PROTO_TAG_FIRST + p->tag_extra) / 4))
        tag_credit_give_back(peer, false);
}
void tag_rx_credit(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);

/* ---- tag_recv.c */
void tag_rx_message(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);
void tag_rx_announced(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);
void tag_rx_withdrawn(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header);
void tag_peer_down(proto_engine_t *engine, proto_peer_t *p);
void tag_open(proto_engine_t *engine);
void tag_close(proto_engine_t *engine);

#endif
