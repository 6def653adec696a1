/* SPDX-License-Identifier: Apache-2.0
 * packets.c - announced messages by packets: the receiver sends PULL, the sender streams (stream.c); and DATA segments, of pulls
 * and gets alike. The way that is always possible, and that others fall back to. */
#include "base/crc32c.h"
#include "proto/am.h"
#include "proto/head.h"
#include "proto/ways/way.h"

/* Copies a segment to its place, unless the transport has put it there (the sink's address). */
static void put_in_place(proto_stream_t *s, const void *payload, uint32_t bytes)
{
    bool placed = payload == cursor_contiguous(&s->cursor, bytes);
    cursor_scatter(&s->cursor, placed ? NULL : payload, bytes);
}

/* So many more plain bytes have arrived, or passed by; ends the operation with the last ones. */
static void arrived(proto_op_t *op, uint64_t bytes)
{
    proto_stream_t *s = &op->stream;
    s->moved += bytes;
    counter_add(s->engine->counters, COUNTER_GET_STREAM_BYTES, bytes);
    if (s->moved < s->length)
        return;
    op_kind(op)->on_data(op, (vbn_status_t)s->status);
}

vbn_status_t packets_begin(proto_op_t *op, const proto_place_t *place)
{
    const uint32_t head = place != NULL ? place->head_bytes : 0;
    proto_header_t header = {.type = head > 0 ? PROTO_PULL_REST : PROTO_PULL,
                             .op = op->stream.target,
                             .target = op->handle,
                             .offset = head,
                             .stages = op->stream.stages};
    way_set(op, WAY_PACKETS);
    op->state = OP_RUNNING;
    vbn_status_t status = proto_send_header(op->stream.peer, &header);
    if (status >= 0 && head > 0) { /* after the question: the sender goes on meanwhile */
        proto_peer_of(op->stream.peer)->heading = op->handle;
        put_in_place(&op->stream, place->head, head);
        arrived(op, head);
    }
    return status;
}

vbn_status_t packets_instead(proto_op_t *op)
{
    op->stream.moved = 0;
    pull_strayed(op);
    return packets_begin(op, NULL);
}

void packets_rx_pull(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    proto_op_t *op = op_find(engine, peer, header->op);
    if (op == NULL || op->kind != OP_LARGE || (op->state != OP_WAITING && op->state != OP_COPYING) ||
        op->stream.length == 0) {
        proto_blame(engine, peer, "the peer sent a PULL without an RTS, or a second one");
        return;
    }
    if ((header->stages & ~(unsigned)op->stream.stages) != 0) {
        proto_blame(engine, peer, "the peer asked for stages that were not offered");
        return;
    }
    if (header->offset > 0 && !head_skip(op, header->offset)) {
        proto_blame(engine, peer, "the peer sent a PULL_REST without the bytes that it leaves out");
        return;
    }
    head_note(op, header->offset > 0);
    op->state = OP_RUNNING;
    op->stream.stages = (uint8_t)header->stages;
    op->stream.target = header->target;
    stream_pump(&op->stream);
}

/* The receiving op of a segment of `bytes` plain bytes, when it is exactly the next one (P3). */
static proto_op_t *receiver_of(proto_engine_t *engine, const vbn_peer_t *peer, uint64_t handle, uint64_t offset,
                               uint64_t bytes)
{
    proto_op_t *op = op_find(engine, peer, handle);
    if (op == NULL || op_kind(op)->on_data == NULL || op->state != OP_RUNNING)
        return NULL;
    const proto_stream_t *s = &op->stream;
    return bytes > 0 && offset == s->moved && bytes <= s->length - s->moved ? op : NULL;
}

/* In a form agreed upon: as it is, */
static proto_op_t *receiver_of_data(proto_engine_t *engine, const vbn_peer_t *peer, const proto_data_t *data,
                                    uint32_t bytes)
{
    proto_op_t *op = receiver_of(engine, peer, data->op, data->offset, bytes);
    return op != NULL && (op->stream.stages & STAGE_CHECKSUM) == 0 ? op : NULL;
}

/* or as a chunk of `bytes` plain bytes. */
static proto_op_t *receiver_of_chunk(proto_engine_t *engine, const vbn_peer_t *peer, const proto_header_t *header,
                                     uint64_t bytes)
{
    proto_op_t *op = receiver_of(engine, peer, header->op, header->offset, bytes);
    if (op == NULL || op->stream.stages == 0 ||
        (header->code != STAGE_PLAIN && header->code != stage_form_of(op->stream.stages)))
        return NULL;
    return op;
}

static void *place_of(const proto_op_t *op, uint32_t bytes)
{
    return op == NULL || op->stream.status != VBN_OK ? NULL : cursor_contiguous(&op->stream.cursor, bytes);
}

void *packets_sink(proto_engine_t *engine, const vbn_peer_t *peer, const proto_data_t *data, uint32_t bytes)
{
    return place_of(receiver_of_data(engine, peer, data, bytes), bytes);
}

void *packets_sink_staged(proto_engine_t *engine, const vbn_peer_t *peer, const proto_header_t *header)
{
    return place_of(receiver_of_chunk(engine, peer, header, header->payload_bytes), header->payload_bytes);
}

void *packets_sink_early(proto_engine_t *engine, const vbn_peer_t *peer, const proto_data_t *data, uint32_t bytes)
{
    proto_op_t *op = op_find(engine, peer, data->op);
    if (op == NULL || op_kind(op)->on_data == NULL || op->state != OP_RUNNING || op->stream.stages != 0 ||
        op->stream.status != VBN_OK)
        return NULL;
    const proto_stream_t *s = &op->stream;
    uint64_t skip = data->offset - s->moved;
    if (data->offset < s->moved || skip > s->length - s->moved || bytes > s->length - s->moved - skip)
        return NULL;
    return cursor_contiguous_at(&s->cursor, skip, bytes);
}

static void blame(proto_engine_t *engine, vbn_peer_t *peer)
{
    proto_blame(engine, peer, "the peer sent a segment that no operation waits for");
}

void packets_rx_data(proto_engine_t *engine, vbn_peer_t *peer, const proto_data_t *data, const void *payload,
                     uint32_t bytes)
{
    proto_op_t *op = receiver_of_data(engine, peer, data, bytes);
    if (op == NULL) {
        blame(engine, peer);
        return;
    }
    put_in_place(&op->stream, payload, bytes);
    arrived(op, bytes);
}

/* Unpacks a chunk to its place, at once or by way of a bounce buffer. False: it is damaged, or there is no heap
 * (status). */
static bool unpack(proto_engine_t *engine, proto_stream_t *s, const proto_header_t *header)
{
    uint32_t plain = (uint32_t)header->length;
    void *to = cursor_contiguous(&s->cursor, plain);
    void *bounce = to == NULL ? mpool_get(&engine->bounces) : NULL;
    if (to == NULL && bounce == NULL) {
        s->status = VBN_ERR_NO_MEMORY;
        return false;
    }
    void *out = to != NULL ? to : bounce;
    bool good = stage_unpack(&engine->box, (stage_form_t)header->code, header->payload, header->payload_bytes, out,
                             plain) &&
                ((s->stages & STAGE_CHECKSUM) == 0 || crc32c(0, out, plain) == header->check);
    if (good)
        cursor_scatter(&s->cursor, bounce, plain); /* NULL: is there already */
    if (bounce != NULL)
        mpool_put(&engine->bounces, bounce);
    return good;
}

/* Behind a head that no receive has taken it is of no use. */
void packets_rx_more(proto_engine_t *engine, vbn_peer_t *peer, const proto_data_t *data, const void *payload,
                     uint32_t bytes)
{
    proto_op_t *op = op_find(engine, peer, proto_peer_of(peer)->heading);
    if (op == NULL || op->kind != OP_PULL || op->state != OP_RUNNING || op->stream.target != data->op)
        return;
    if (data->offset != op->stream.moved || bytes > op->stream.length - op->stream.moved || bytes == 0) {
        blame(engine, peer);
        return;
    }
    put_in_place(&op->stream, payload, bytes);
    arrived(op, bytes);
}

void packets_rx_staged(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    proto_op_t *op = receiver_of_chunk(engine, peer, header, header->length);
    if (op == NULL) {
        blame(engine, peer);
        return;
    }
    proto_stream_t *s = &op->stream;
    bool good = true;
    if (s->status != VBN_OK) {
        /* Damaged before: the rest only passes by. */
    } else if (header->code != STAGE_PLAIN) {
        good = unpack(engine, s, header);
    } else {
        good = (s->stages & STAGE_CHECKSUM) == 0 || crc32c(0, header->payload, header->payload_bytes) == header->check;
        if (good)
            put_in_place(s, header->payload, header->payload_bytes);
    }
    if (!good && s->status == VBN_OK) {
        s->status = VBN_ERR_CORRUPT;
        counter_add(engine->counters, COUNTER_STAGE_CORRUPT, 1);
    }
    arrived(op, header->length);
}
