/* SPDX-License-Identifier: Apache-2.0
 * rma_put.c - puts by packets, at the side that issues them: a probe while the link is not ready, segments, their answers. */
#include "proto/rma.h"

/* Before the link is ready its packet size is not known for sure: a large put asks first, which waits for it. */
vbn_status_t put_start(proto_op_t *op)
{
    proto_stream_t *s = &op->stream;
    vbn_peer_t *peer = s->peer;
    s->target = op->handle;
    if (!link_ready(peer) && s->length > proto_small_limit(s->engine, peer)) {
        op->state = OP_PROBING;
        proto_header_t header = {.type = PROTO_PUT,
                                 .code = PROTO_PUT_PROBE,
                                 .op = op->handle,
                                 .key = s->key,
                                 .offset = s->key_offset,
                                 .length = s->length};
        return proto_send_header(peer, &header);
    }
    op->state = OP_RUNNING;
    counter_add(s->engine->counters, COUNTER_PUT_STREAM_BYTES, s->length);
    stream_pump(s);
    return VBN_OK; /* a lost link shows in peer_down */
}

/* Segment refusals come first (not last), then exactly one last answer to the segment that says LAST. */
static void answered(proto_op_t *op, vbn_status_t status, bool last)
{
    proto_stream_t *s = &op->stream;
    bool probe = op->state == OP_PROBING;
    if (op->state == OP_FINISHED || (probe && last) || (!probe && last && !s->last_sent) ||
        (!probe && !last && status == VBN_OK)) {
        proto_blame(s->engine, s->peer, "the peer sent an answer that does not fit the put");
    } else if (probe && status == VBN_OK) {
        op->state = OP_RUNNING;
        counter_add(s->engine->counters, COUNTER_PUT_STREAM_BYTES, s->length);
        stream_pump(s);
    } else if (probe) {
        op_finish(op, status, 0);
    } else if (last) {
        vbn_status_t result = s->status != VBN_OK ? (vbn_status_t)s->status : status;
        op_finish(op, result, result == VBN_OK ? s->length : 0);
    } else {
        if (s->status == VBN_OK)
            s->status = status;
        stream_pump(s);
    }
}

/* Of a segment, of a probe, or of LANE_END: nothing written by a device can come late, so all of it is sent by packets. */
bool put_on_status(proto_op_t *op, vbn_status_t status, const proto_header_t *header)
{
    bool last = header->last == 1;
    if (op->state == OP_WAITING || (op->state == OP_ENDING && (status != VBN_OK || !last)))
        return false;
    if (op->state == OP_ENDING)
        (void)put_start(op); /* a failure means that the peer is lost */
    else
        answered(op, status, last);
    return true;
}

void put_on_end(proto_op_t *op)
{
    vbn_peer_t *peer = op->stream.peer;
    fence_leave(op);
    if (peer != NULL)
        flush_advance(peer);
}
