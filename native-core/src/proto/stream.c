/* SPDX-License-Identifier: Apache-2.0
 * stream.c - bulk sender: up to proto.stream_depth segments of one transfer are in the link at once; each refers to
 * the source memory directly; only data that is not a list of buffers is copied (packed) on its way. */
#include <string.h>

#include "proto/op.h"

#define SEGMENTS_WANTED 4u
#define SEGMENT_LEAST (UINT64_C(16) << 10)
#define GET_COPIED_MOST 4096u /* answers up to here are copied at once: less than a lease costs, which takes a lock */

static bool more_to_send(const proto_stream_t *s)
{
    if (s->peer == NULL)
        return false;
    if (s->kind == STREAM_PUT)
        return !s->last_sent;
    return s->status == VBN_OK && s->moved < s->length;
}

/* The source is not a list of buffers: its bytes go through a copy. */
static bool needs_bounce(const proto_stream_t *s)
{
    if (s->kind == STREAM_GET)
        return s->length <= GET_COPIED_MOST || container_of(s, const proto_get_stream_t, stream)->block != 0;
    if ((s->stages & STAGE_COMPRESS) != 0)
        return true;
    return !cursor_is_list(&s->cursor);
}

/* Where packed byte `moved` of blocks lies, relative to the first one. */
static uint64_t place_of(uint64_t moved, uint64_t block, uint64_t stride)
{
    return moved / block * stride + moved % block;
}

/* Bytes of a segment of blocks: whole ones, or a part of one when it is larger than a segment. */
static uint64_t limit_blocks(uint64_t moved, uint64_t block, uint64_t limit)
{
    uint64_t inside = moved % block;
    if (inside == 0 && block <= limit)
        return limit - limit % block;
    return block - inside < limit ? block - inside : limit;
}

/* Owner's side of a short get. */
static vbn_status_t gather_range(proto_stream_t *s, const proto_segment_t *segment, uint64_t bytes)
{
    void *from;
    vbn_mem_t *mem;
    vbn_status_t status = mem_reach(&s->engine->reach, s->key, s->key_offset + s->moved, bytes, VBN_ACCESS_READ, &from,
                                    &mem);
    if (status != VBN_OK)
        return status;
    bytes_copy_seen(segment->bounce, from, (size_t)bytes, from);
    mem_leave(mem);
    return VBN_OK;
}

/* Owner's side of a get of blocks. */
static vbn_status_t gather_blocks(proto_stream_t *s, proto_segment_t *segment, uint64_t bytes)
{
    const proto_get_stream_t *get = container_of(s, const proto_get_stream_t, stream);
    uint64_t first = place_of(s->moved, get->block, get->stride);
    uint64_t span = place_of(s->moved + bytes - 1, get->block, get->stride) + 1 - first;
    void *from;
    vbn_mem_t *mem;
    vbn_status_t status = mem_reach(&s->engine->reach, s->key, s->key_offset + first, span, VBN_ACCESS_READ, &from,
                                    &mem);
    if (status != VBN_OK)
        return status;
    for (uint64_t done = 0; done < bytes; done += get->block) {
        uint64_t take = get->block < bytes - done ? get->block : bytes - done;
        const char *at = (const char *)from + done / get->block * get->stride;
        bytes_copy_seen((char *)segment->bounce + done, at, (size_t)take, at);
    }
    mem_leave(mem);
    return VBN_OK;
}

static vbn_status_t cut_bounced(proto_stream_t *s, proto_segment_t *segment, uint64_t limit, uint64_t *bytes_p)
{
    uint64_t bytes = limit < PROTO_BOUNCE_BYTES ? limit : PROTO_BOUNCE_BYTES;
    uint64_t block = s->kind == STREAM_GET ? container_of(s, const proto_get_stream_t, stream)->block : 0;
    if (block != 0)
        bytes = limit_blocks(s->moved, block, bytes);
    else if (s->cursor.count == CURSOR_STRIDED && bytes > 0)
        bytes = limit_blocks(s->moved, s->cursor.strided->block, bytes);
    *bytes_p = bytes;
    segment->iov_count = 1;
    segment->iov[0] = (struct iovec){segment->bounce, (size_t)bytes};
    if (s->kind == STREAM_GET)
        return block != 0 ? gather_blocks(s, segment, bytes) : gather_range(s, segment, bytes);
    cursor_gather(&s->cursor, segment->bounce, bytes);
    return VBN_OK;
}

/* Most data of a segment. Over shared memory both sides copy at the same time, one the segment behind the other's, so a
 * transfer that is alone has several. Below SEGMENT_LEAST the beginning of a copy counts. */
uint64_t stream_segment_most(const proto_stream_t *s)
{
    const tl_caps_t *caps = link_caps(s->peer);
    uint64_t most = caps->packet_max - LINK_HEADER_BYTES - PROTO_HEADER_MAX, part = s->length / SEGMENTS_WANTED;
    if (caps->stream_chunk < most)
        most = caps->stream_chunk;
    part = part < SEGMENT_LEAST ? SEGMENT_LEAST : part & ~UINT64_C(4095);
    const bool alone = proto_peer_of(s->peer)->announced <= 1 && s->stages == 0;
    return (caps->flags & TL_CAP_MAP) != 0 && alone && part < most ? part : most;
}

/* Fills the segment with the next bytes; returns how many, or the error of a key that became invalid. */
static vbn_status_t cut_segment(proto_stream_t *s, proto_segment_t *segment, uint64_t *bytes_p)
{
    uint64_t limit = stream_segment_most(s);
    if (s->length - s->moved < limit)
        limit = s->length - s->moved;
    if (s->kind == STREAM_PUT && s->status != VBN_OK)
        limit = 0; /* the owner refused: only the end follows, so that its last answer can come */
    segment->iov_count = 0;
    *bytes_p = limit;
    if (s->stages != 0) {
        *bytes_p = stage_cut(s, segment, limit);
        return VBN_OK;
    }
    if (segment->bounce != NULL)
        return cut_bounced(s, segment, limit, bytes_p);
    if (s->kind != STREAM_GET) {
        *bytes_p = cursor_cut(&s->cursor, limit, segment->iov, &segment->iov_count);
        return VBN_OK;
    }
    vbn_mem_t *mem;
    segment->iov_count = 1;
    segment->iov[0].iov_len = (size_t)limit;
    vbn_status_t status = mem_reach(&s->engine->reach, s->key, s->key_offset + s->moved, limit, VBN_ACCESS_READ,
                                    &segment->iov[0].iov_base, &mem);
    if (status == VBN_OK)
        mem_lease_open(&segment->lease, mem, &segment->iov[0]);
    return status;
}

static void segment_free(proto_engine_t *engine, proto_segment_t *segment)
{
    mem_lease_close(&segment->lease);
    if (segment->bounce != NULL)
        mpool_put(&engine->bounces, segment->bounce);
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

/* A put's segment of blocks: several whole ones, or (a part of) one. */
static void place_blocks(const proto_stream_t *s, proto_header_t *header)
{
    const vbn_strided_t *blocks = s->cursor.strided;
    header->offset = s->key_offset + place_of(s->moved, blocks->block, blocks->remote_stride);
    if (header->length <= blocks->block)
        return;
    header->type = PROTO_PUT_BLOCKS;
    header->block = blocks->block;
    header->stride = blocks->remote_stride;
}

static uint32_t encode_segment(const proto_stream_t *s, const proto_segment_t *segment, uint64_t bytes, uint8_t *buffer)
{
    proto_header_t header = {.type = PROTO_DATA, .op = s->target, .offset = s->moved};
    if (segment->form != STAGE_PLAIN || (s->stages & STAGE_CHECKSUM) != 0) {
        header.type = PROTO_DATA_STAGED;
        header.code = segment->form;
        header.length = bytes;
        header.check = segment->check;
    }
    if (s->kind == STREAM_PUT) {
        bool last = s->status != VBN_OK || s->moved + bytes == s->length;
        header = (proto_header_t){.type = PROTO_PUT,
                                  .code = last ? PROTO_PUT_LAST : 0,
                                  .op = s->target,
                                  .key = s->key,
                                  .offset = s->key_offset + s->moved,
                                  .length = bytes};
        if (s->cursor.count == CURSOR_STRIDED && bytes > 0)
            place_blocks(s, &header);
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

/* NULL: no heap. */
static proto_segment_t *segment_new(proto_stream_t *s)
{
    proto_segment_t *segment = mpool_get(&s->engine->segments);
    if (segment == NULL)
        return NULL;
    segment->stream = s;
    segment->lease.mem = NULL;
    segment->bounce = NULL;
    segment->payload_bytes = 0;
    segment->check = 0;
    segment->form = STAGE_PLAIN;
    if (needs_bounce(s) && (segment->bounce = mpool_get(&s->engine->bounces)) == NULL) {
        segment_free(s->engine, segment);
        return NULL;
    }
    return segment;
}

/* Sends one segment; false when nothing more can be sent now. */
static bool send_segment(proto_stream_t *s)
{
    uint8_t frame[LINK_FRAME_MAX];
    uint64_t bytes;
    proto_segment_t *segment = segment_new(s);
    if (segment == NULL)
        return false; /* tried again from proto_progress or the next done */
    vbn_status_t status = cut_segment(s, segment, &bytes);
    if (status != VBN_OK) {
        s->status = status;
        segment_free(s->engine, segment);
        proto_send_status(s->peer, s->target, status, true, s->moved);
        return false;
    }
    if (segment->payload_bytes == 0)
        segment->payload_bytes = (uint32_t)bytes;
    uint32_t header_bytes = encode_segment(s, segment, bytes, frame + LINK_HEADER_BYTES);
    link_packet_t packet = {.frame = frame,
                            .header_bytes = header_bytes,
                            .payload_bytes = segment->payload_bytes,
                            .iov = segment->iov,
                            .iov_count = segment->iov_count,
                            .patient = s->kind == STREAM_PUT,
                            .lease = segment->lease.mem != NULL ? &segment->lease : NULL,
                            .done = segment_done,
                            .arg = segment};
    s->moved += bytes;
    s->last_sent = s->kind == STREAM_PUT && (s->status != VBN_OK || s->moved == s->length);
    status = proto_link_send(s->peer, &packet);
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
    if (s->kind == STREAM_PUT && s->last_sent && !was_sent) {
        proto_op_t *op = container_of(s, proto_op_t, stream);
        op_kind(op)->on_sent(op);
    }
    if (more_to_send(s) && s->in_flight == 0)
        list_append(&s->engine->active, &s->active);
    else
        stream_settle(s);
}

static void free_get(proto_get_stream_t *get)
{
    proto_engine_t *engine = get->stream.engine;
    if (get->stream.peer != NULL)
        proto_peer_of(get->stream.peer)->stream_count--;
    list_remove(&get->link);
    if (get->stream.peer != NULL)
        link_quiet(get->stream.peer);
    list_remove(&get->stream.active);
    mpool_put(&engine->get_streams, get);
}

void stream_settle(proto_stream_t *s)
{
    if (s->in_flight > 0)
        return;
    if (s->kind == STREAM_GET) {
        if (!more_to_send(s))
            free_get(container_of(s, proto_get_stream_t, stream));
        return;
    }
    proto_op_t *op = container_of(s, proto_op_t, stream);
    if (op->state == OP_FINISHED)
        op_complete(op, op->result, op->result_length);
}
