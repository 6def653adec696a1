/* SPDX-License-Identifier: Apache-2.0
 * pull.c - announced messages: the receiver asks, the sender streams; and DATA segments, of pulls and gets alike. */
#include "base/crc32c.h"
#include "proto/proto_private.h"

static void remote_free(vbn_am_remote_t *remote)
{
    if (remote->peer != NULL)
        proto_peer_of(remote->peer)->incoming--;
    list_remove(&remote->link);
    mpool_put(&remote->engine->remotes, remote);
}

vbn_status_t pull_ask(proto_op_t *op, unsigned stages)
{
    proto_header_t header = {.type = PROTO_PULL, .op = op->stream.target, .target = op->handle, .stages = stages};
    op->state = OP_RUNNING;
    op->stream.stages = (uint8_t)stages;
    return proto_send_header(op->stream.peer, &header);
}

vbn_status_t pull_start(proto_op_t *op, const proto_place_t *place, unsigned stages)
{
    op->direct = (proto_direct_t){0}; /* a tagged receive kept other things there */
    if (stages == 0 && (fetch_begin(op, place) || direct_begin(op, place) || put_begin(op)))
        return VBN_OK;
    return pull_ask(op, stages);
}

vbn_status_t proto_am_pull(vbn_am_remote_t *remote, const struct iovec *iov, size_t count, vbn_op_t *user_op)
{
    uint64_t room = 0;
    if (remote == NULL)
        return err_set(VBN_ERR_INVALID, "no remote data to pull: eager messages carry their data");
    vbn_status_t status = proto_forked(remote->engine) ? proto_refuse_fork() : op_check(user_op, iov, count, &room);
    if (status != VBN_OK)
        return status;
    vbn_peer_t *peer = remote->peer;
    if (peer == NULL)
        return err_set(VBN_ERR_PEER_LOST, "the sender was lost before its message was pulled; drop it");
    if (room < remote->length)
        return err_set(VBN_ERR_TRUNCATED, "buffers of %llu byte%s for a message of %llu", (unsigned long long)room, plural(room),
                       (unsigned long long)remote->length);
    uint64_t length = remote->length;
    if (length == 0) {
        proto_send_status(peer, remote->sender_op, VBN_OK, true, 0);
        remote_free(remote);
        return op_set_done(user_op, VBN_OK, 0);
    }
    proto_op_t *op = op_of(user_op);
    status = op_begin(user_op, peer, OP_PULL, iov, count, length, true);
    if (status != VBN_OK)
        return status;
    op->stream.target = remote->sender_op;
    status = pull_start(op, &remote->place, remote->stages);
    if (status < 0) {
        op_detach(op);
        return status;
    }
    remote_free(remote);
    return VBN_INPROGRESS;
}

void proto_am_drop(vbn_am_remote_t *remote)
{
    if (remote == NULL)
        return;
    if (remote->peer != NULL)
        proto_send_status(remote->peer, remote->sender_op, VBN_OK, true, 0);
    remote_free(remote);
}

/* Dropped or refused before it was pulled, or all of it was pulled. */
bool large_on_status(proto_op_t *op, vbn_status_t status, const proto_header_t *header)
{
    const proto_stream_t *s = &op->stream;
    bool ends = op->state == OP_WAITING || op->state == OP_COPYING || s->moved == s->length;
    bool all = header->length == s->length && (op->state == OP_RUNNING || op->direct.offered);
    if (header->last != 1 || !ends || (header->length != 0 && !all))
        return false;
    op_finish(op, status, header->length);
    return true;
}

void large_on_end(proto_op_t *op)
{
    direct_end(op);
    if (op->stream.peer != NULL)
        proto_peer_of(op->stream.peer)->announced--;
}

/* It failed, or its data was put to its place. */
bool pull_on_status(proto_op_t *op, vbn_status_t status, const proto_header_t *header)
{
    const proto_stream_t *s = &op->stream;
    bool put = op->direct.put && s->moved == 0 && header->length == s->length;
    if (header->last != 1 || op->state == OP_NATIVE || (status >= 0 && s->length != 0 && !put))
        return false;
    op_complete(op, status, status < 0 ? s->moved : s->length);
    return true;
}

void pull_on_end(proto_op_t *op)
{
    direct_end(op);
    native_free(op);
}

void pull_rx_pull(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
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
    op->state = OP_RUNNING;
    op->stream.stages = (uint8_t)header->stages;
    op->stream.target = header->target;
    stream_pump(&op->stream);
}

/* The receiving op of a segment of `bytes` plain bytes, when it is exactly the next one (P3), in a form agreed upon. */
static proto_op_t *receiver_of(proto_engine_t *engine, const vbn_peer_t *peer, const proto_header_t *header,
                               uint64_t bytes)
{
    proto_op_t *op = op_find(engine, peer, header->op);
    if (op == NULL || op_kind(op)->on_data == NULL || op->state != OP_RUNNING)
        return NULL;
    const proto_stream_t *s = &op->stream;
    if (bytes == 0 || header->offset != s->moved || bytes > s->length - s->moved)
        return NULL;
    if (header->type == PROTO_DATA)
        return (s->stages & STAGE_CHECKSUM) == 0 ? op : NULL;
    if (s->stages == 0 || (header->code != STAGE_PLAIN && header->code != stage_form_of(s->stages)))
        return NULL;
    return op;
}

void *pull_sink_data(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header, uint32_t payload_bytes)
{
    proto_op_t *op = receiver_of(engine, peer, header, payload_bytes);
    return op == NULL || op->stream.status != VBN_OK ? NULL : cursor_contiguous(&op->stream.cursor, payload_bytes);
}

void *pull_sink_early(proto_engine_t *engine, const vbn_peer_t *peer, const proto_header_t *header,
                      uint32_t payload_bytes)
{
    proto_op_t *op = op_find(engine, peer, header->op);
    if (op == NULL || op_kind(op)->on_data == NULL || op->state != OP_RUNNING || op->stream.stages != 0 ||
        op->stream.status != VBN_OK)
        return NULL;
    const proto_stream_t *s = &op->stream;
    uint64_t skip = header->offset - s->moved, bytes = payload_bytes;
    if (header->offset < s->moved || skip > s->length - s->moved || bytes > s->length - s->moved - skip)
        return NULL;
    return cursor_contiguous_at(&s->cursor, skip, bytes);
}

/* Copies a segment to its place, unless the transport has put it there (the sink's address). */
static void place(proto_stream_t *s, const void *payload, uint32_t bytes)
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

void pull_on_data(proto_op_t *op, vbn_status_t status)
{
    const proto_stream_t *s = &op->stream;
    uint64_t length = status == VBN_OK ? s->length : 0;
    proto_send_status(s->peer, s->target, status, true, length);
    if (status == VBN_ERR_CORRUPT)
        (void)err_set(status, "data of %llu byte%s from peer %016llx was damaged in transit: send it again",
                      (unsigned long long)s->length, plural(s->length), (unsigned long long)link_peer_uid(s->peer));
    op_complete(op, status, length);
}

void pull_rx_data(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header, const void *payload,
                  uint32_t payload_bytes)
{
    proto_op_t *op = receiver_of(engine, peer, header, payload_bytes);
    if (op == NULL) {
        proto_blame(engine, peer, "the peer sent a segment that no operation waits for");
        return;
    }
    proto_stream_t *s = &op->stream;
    place(s, payload, payload_bytes);
    arrived(op, payload_bytes);
}

/* Unpacks a chunk to its place, at once or by way of a bounce buffer. False: it is damaged, or there is no heap
 * (status). */
static bool unpack(proto_engine_t *engine, proto_stream_t *s, const proto_header_t *header, const void *payload,
                   uint32_t payload_bytes)
{
    uint32_t plain = (uint32_t)header->length;
    void *to = cursor_contiguous(&s->cursor, plain);
    void *bounce = to == NULL ? mpool_get(&engine->bounces) : NULL;
    if (to == NULL && bounce == NULL) {
        s->status = VBN_ERR_NO_MEMORY;
        return false;
    }
    void *out = to != NULL ? to : bounce;
    bool good = stage_unpack(&engine->box, (stage_form_t)header->code, payload, payload_bytes, out, plain) &&
                ((s->stages & STAGE_CHECKSUM) == 0 || crc32c(0, out, plain) == header->check);
    if (good)
        cursor_scatter(&s->cursor, bounce, plain); /* NULL: is there already */
    if (bounce != NULL)
        mpool_put(&engine->bounces, bounce);
    return good;
}

void pull_rx_staged(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header, const void *payload,
                    uint32_t payload_bytes)
{
    proto_op_t *op = receiver_of(engine, peer, header, header->length);
    if (op == NULL) {
        proto_blame(engine, peer, "the peer sent a segment that no operation waits for");
        return;
    }
    proto_stream_t *s = &op->stream;
    bool good = true;
    if (s->status != VBN_OK) {
        /* Damaged before: the rest only passes by. */
    } else if (header->code != STAGE_PLAIN) {
        good = unpack(engine, s, header, payload, payload_bytes);
    } else {
        good = (s->stages & STAGE_CHECKSUM) == 0 || crc32c(0, payload, payload_bytes) == header->check;
        if (good)
            place(s, payload, payload_bytes);
    }
    if (!good && s->status == VBN_OK) {
        s->status = VBN_ERR_CORRUPT;
        counter_add(engine->counters, COUNTER_STAGE_CORRUPT, 1);
    }
    arrived(op, header->length);
}
