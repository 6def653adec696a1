/* SPDX-License-Identifier: Apache-2.0
 * pull.c - announced messages: the receiver asks, the sender streams; and DATA segments, of pulls and gets alike. */
#include "proto/proto_private.h"

static void remote_free(vbn_am_remote_t *remote)
{
    if (remote->peer != NULL)
        proto_peer_of(remote->peer)->incoming--;
    list_remove(&remote->link);
    mpool_put(&remote->engine->remotes, remote);
}

vbn_status_t proto_am_pull(vbn_am_remote_t *remote, const struct iovec *iov, size_t count, vbn_op_t *user_op)
{
    uint64_t room = 0;
    if (remote == NULL)
        return err_set(VBN_ERR_INVALID, "no remote data to pull: small messages bring their data along");
    vbn_status_t status = op_check(user_op, iov, count, &room);
    if (status != VBN_OK)
        return status;
    vbn_peer_t *peer = remote->peer;
    if (peer == NULL)
        return err_set(VBN_ERR_PEER_LOST, "the sender was lost before its message was pulled; drop it");
    if (room < remote->length)
        return err_set(VBN_ERR_TRUNCATED, "buffers of %llu bytes for a message of %llu", (unsigned long long)room,
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
    op->state = OP_RUNNING;
    op->stream.target = remote->sender_op;
    proto_header_t header = {.type = PROTO_PULL, .op = remote->sender_op, .target = op->handle};
    status = proto_send_header(peer, &header);
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

void pull_rx_pull(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    proto_op_t *op = op_find(engine, peer, header->op);
    if (op == NULL || op->kind != OP_LARGE || op->state != OP_WAITING || op->stream.length == 0) {
        proto_blame(engine, peer, "the peer pulled a message that was not announced to it or is already pulled");
        return;
    }
    op->state = OP_RUNNING;
    op->stream.target = header->target;
    stream_pump(&op->stream);
}

/* The receiving op of a segment, when the segment is exactly the next one (P3). */
static proto_op_t *receiver_of(proto_engine_t *engine, const vbn_peer_t *peer, const proto_header_t *header,
                               uint32_t payload_bytes)
{
    proto_op_t *op = op_find(engine, peer, header->op);
    if (op == NULL || (op->kind != OP_PULL && op->kind != OP_GET) || op->state != OP_RUNNING)
        return NULL;
    const proto_stream_t *s = &op->stream;
    if (payload_bytes == 0 || header->offset != s->moved || payload_bytes > s->length - s->moved)
        return NULL;
    return op;
}

void *pull_sink_data(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header, uint32_t payload_bytes)
{
    proto_op_t *op = receiver_of(engine, peer, header, payload_bytes);
    return op == NULL ? NULL : cursor_contiguous(&op->stream.cursor, payload_bytes);
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
    bool placed = payload == cursor_contiguous(&s->cursor, payload_bytes); /* the sink's address */
    cursor_scatter(&s->cursor, placed ? NULL : payload, payload_bytes);
    s->moved += payload_bytes;
    counter_add(engine->counters, COUNTER_GET_STREAM_BYTES, payload_bytes);
    if (s->moved < s->length)
        return;
    if (op->kind == OP_PULL)
        proto_send_status(peer, s->target, VBN_OK, true, s->length);
    op_complete(op, VBN_OK, s->length);
}
