/* SPDX-License-Identifier: Apache-2.0
 * traffic.h - counts what the user issues: by transport, class and size, on the statistics page. One operation of about
 * TRAFFIC_SAMPLE is timed from the call to its completion; at most one of an engine is under way at a time. */
#ifndef VBN_PROTO_TRAFFIC_H
#define VBN_PROTO_TRAFFIC_H

#include "proto/op.h"

#define TRAFFIC_SAMPLE 256u /* a power of two */

/* False: the operation is to be timed, which only the ways with traffic_begin can. */
static inline bool traffic_untimed(const proto_engine_t *engine)
{
    return engine->short_end != 0;
}

static inline void traffic_add(proto_engine_t *engine, traffic_cell_t *cell, uint64_t bytes)
{
    if (UNLIKELY(traffic_count(cell, bytes) % TRAFFIC_SAMPLE == 0))
        engine->short_end = 0;
}

/* The short ways; at: tl_caps_t.traffic. */
static inline void traffic_short(proto_engine_t *engine, uint32_t at, traffic_class_t class, uint64_t bytes)
{
    traffic_cell_t *cell = traffic_cell(engine->counters, at, class, 0);
    if (UNLIKELY(bytes > 64))
        cell += traffic_bucket(bytes);
    traffic_add(engine, cell, bytes);
}

void traffic_start(proto_engine_t *engine);
void traffic_timed(proto_engine_t *engine, traffic_cell_t *cell, vbn_op_t *op, vbn_status_t status);
void traffic_finish(proto_engine_t *engine, vbn_status_t status);

/* Around the part of a call that moves something; traffic_end returns the call's status. */
static inline void traffic_begin(proto_engine_t *engine)
{
    if (UNLIKELY(!traffic_untimed(engine)))
        traffic_start(engine);
}

static inline vbn_status_t traffic_end(proto_engine_t *engine, const vbn_peer_t *peer, traffic_class_t class,
                                       uint64_t bytes, vbn_op_t *op, vbn_status_t status)
{
    traffic_cell_t *cell = traffic_cell(engine->counters, link_caps(peer)->traffic, class, traffic_bucket(bytes));
    if (status >= 0)
        traffic_add(engine, cell, bytes);
    if (UNLIKELY(engine->timing.in_call))
        traffic_timed(engine, cell, op, status);
    return status;
}

/* An operation ends. */
static inline void traffic_done(const proto_op_t *op, vbn_status_t status)
{
    if (UNLIKELY(op->stream.engine->timing.op == op))
        traffic_finish(op->stream.engine, status);
}

#endif
