/* SPDX-License-Identifier: Apache-2.0
 * stream.c - bulk sender: up to proto.stream_depth segments of one transfer are in the link at once; each refers to
 * the source memory directly, nothing is copied here. */
#include "proto/proto_private.h"

void stream_init(proto_stream_t *stream, proto_engine_t *engine, vbn_peer_t *peer, stream_kind_t kind)
{
    stream->engine = engine;
    stream->peer = peer;
    stream->kind = (uint8_t)kind;
    list_init(&stream->active);
}

static bool more_to_send(const proto_stream_t *s)
{
    if (s->peer == NULL)
        return false;
    if (s->kind == STREAM_PUT)
        return !s->last_sent;
    return s->status == VBN_OK && s->moved < s->length;
}

/* Fills the segment with the next bytes; returns how many, or the error of a key that became invalid. */
static vbn_status_t cut_segment(proto_stream_t *s, proto_segment_t *segment, uint64_t *bytes_p)
{
    const tl_caps_t *caps = link_caps(s->peer);
    uint64_t limit = caps->packet_max - LINK_HEADER_BYTES - PROTO_HEADER_MAX;
    if (caps->stream_chunk < limit)
        limit = caps->stream_chunk;
    if (s->length - s->moved < limit)
        limit = s->length - s->moved;
    if (s->kind == STREAM_PUT && s->status != VBN_OK)
        limit = 0; /* the owner refused: only the end follows, so that its last answer can come */
    segment->held = NULL;
    segment->iov_count = 0;
    *bytes_p = limit;
    if (s->kind != STREAM_GET) {
        *bytes_p = cursor_cut(&s->cursor, limit, segment->iov, &segment->iov_count);
        return VBN_OK;
    }
    segment->iov_count = 1;
    segment->iov[0].iov_len = (size_t)limit;
    return mem_key_hold(s->engine->memory, s->key, s->key_offset + s->moved, limit, VBN_ACCESS_READ,
                        &segment->iov[0].iov_base, &segment->held);
}

static void segment_free(proto_engine_t *engine, proto_segment_t *segment)
{
    if (segment->held != NULL)
        mem_unhold(segment->held);
    mpool_put(&engine->segments, segment);
}

static void segment_done(void *arg, vbn_status_t status)
{
    proto_segment_t *segment = arg;
    proto_stream_t *s = segment->stream;
    segment_free(s->engine, segment);
    s->in_flight--;
    if (status < 0 && s->status == VBN_OK)
        s->status = status;
    if (status < 0)
        stream_settle(s); /* the link is lost: peer_down ends the rest */
    else
        stream_pump(s);
}

static uint32_t encode_segment(const proto_stream_t *s, uint64_t bytes, uint8_t *buffer)
{
    proto_header_t header = {.type = PROTO_DATA, .op = s->target, .offset = s->moved};
    if (s->kind == STREAM_PUT) {
        bool last = s->status != VBN_OK || s->moved + bytes == s->length;
        header = (proto_header_t){.type = PROTO_PUT, .code = last ? PROTO_PUT_LAST : 0, .op = s->target, .key = s->key,
                                  .offset = s->key_offset + s->moved, .length = bytes};
        const proto_op_t *op = container_of(s, const proto_op_t, stream);
        if (last && s->status == VBN_OK && op->signal.key != 0) {
            header.type = PROTO_PUT_SIGNAL;
            header.code = op->code;
            header.signal_key = op->signal.key;
            header.signal_offset = op->signal.offset;
            header.signal_value = op->signal.value;
        }
    }
    return proto_encode(&header, buffer);
}

/* Sends one segment; false when nothing more can be sent now. */
static bool send_segment(proto_stream_t *s)
{
    uint8_t frame[LINK_FRAME_MAX];
    uint64_t bytes;
    proto_segment_t *segment = mpool_get(&s->engine->segments);
    if (segment == NULL)
        return false; /* heap exhausted: tried again from proto_progress or the next done */
    segment->stream = s;
    vbn_status_t status = cut_segment(s, segment, &bytes);
    if (status != VBN_OK) {
        s->status = status;
        segment_free(s->engine, segment);
        proto_send_status(s->peer, s->target, status, true, s->moved);
        return false;
    }
    uint32_t header_bytes = encode_segment(s, bytes, frame + LINK_HEADER_BYTES);
    link_packet_t packet = {.frame = frame, .header_bytes = header_bytes, .payload_bytes = (uint32_t)bytes,
                            .iov = segment->iov, .iov_count = segment->iov_count, .done = segment_done,
                            .arg = segment};
    s->moved += bytes;
    s->last_sent = s->kind == STREAM_PUT && (s->status != VBN_OK || s->moved == s->length);
    status = link_send(s->peer, &packet);
    if (status == VBN_INPROGRESS) {
        s->in_flight++;
        return true;
    }
    segment_free(s->engine, segment);
    if (status < 0) {
        s->status = status; /* peer_down follows and ends the op */
        s->last_sent = true;
        return false;
    }
    return true;
}

void stream_pump(proto_stream_t *s)
{
    list_remove(&s->active);
    uint32_t budget = PROTO_PUMP_MAX;
    bool was_sent = s->last_sent;
    while (more_to_send(s) && s->in_flight < s->engine->stream_depth && budget > 0 && send_segment(s))
        budget--;
    if (s->kind == STREAM_PUT && s->last_sent && !was_sent)
        fence_leave(container_of(s, proto_op_t, stream));
    if (more_to_send(s) && s->in_flight == 0)
        list_append(&s->engine->active, &s->active);
    else
        stream_settle(s);
}

void get_stream_free(proto_get_stream_t *get)
{
    proto_engine_t *engine = get->stream.engine;
    if (get->stream.peer != NULL)
        proto_peer_of(get->stream.peer)->stream_count--;
    list_remove(&get->link);
    list_remove(&get->stream.active);
    mpool_put(&engine->get_streams, get);
}

void stream_settle(proto_stream_t *s)
{
    if (s->in_flight > 0)
        return;
    if (s->kind == STREAM_GET) {
        if (!more_to_send(s))
            get_stream_free(container_of(s, proto_get_stream_t, stream));
        return;
    }
    proto_op_t *op = container_of(s, proto_op_t, stream);
    if (op->state == OP_FINISHED)
        op_complete(op, op->result, op->result_length);
}
