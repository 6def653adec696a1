/* SPDX-License-Identifier: Apache-2.0
 * backlog.h - bytes queued towards a peer, and the low-mark call-back of the user. See backlog.c. */
#ifndef VBN_PROTO_BACKLOG_H
#define VBN_PROTO_BACKLOG_H

#include "proto/op.h"

/* The low-mark call-back of a peer. */
struct proto_low_mark {
    proto_stream_t stream; /* STREAM_LOW_MARK, in engine->active when the call-back is due */
    uint64_t bytes;
    vbn_low_mark_func_t func;
    void *arg;
    bool above; /* more than that was queued since the user was told */
};

/* p->low is there and p->queued has changed. */
void backlog_crossed(proto_peer_t *p);
static inline void backlog_add(proto_peer_t *p, uint64_t bytes)
{
    p->queued += bytes;
    if (UNLIKELY(p->low != NULL))
        backlog_crossed(p);
}
/* After backlog_peer_down nothing is counted any more. */
static inline void backlog_sub(proto_peer_t *p, uint64_t bytes)
{
    p->queued -= bytes < p->queued ? bytes : p->queued;
    if (UNLIKELY(p->low != NULL))
        backlog_crossed(p);
}
void backlog_tell(proto_stream_t *s); /* from engine->active */
void backlog_peer_down(proto_peer_t *p);

#endif
