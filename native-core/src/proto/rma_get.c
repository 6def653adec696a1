/* SPDX-License-Identifier: Apache-2.0
 * rma_get.c - gets by packets, at the side that issues them: GET, then DATA (packets) or STATUS. The owner answers so many at a
 * time, the others wait here. */
#include "proto/rma.h"

static vbn_status_t send_get(proto_op_t *op)
{
    const proto_stream_t *s = &op->stream;
    op->state = OP_RUNNING;
    op->code = 1;
    proto_peer_of(s->peer)->gets++;
    proto_header_t header = {
        .type = PROTO_GET, .op = op->handle, .key = s->key, .offset = s->key_offset, .length = s->length};
    if (s->cursor.count == CURSOR_STRIDED && s->cursor.strided->count > 1) {
        header.type = PROTO_GET_BLOCKS;
        header.block = s->cursor.strided->block;
        header.stride = s->cursor.strided->remote_stride;
    }
    return proto_send_header(s->peer, &header);
}

/* As many as the owner's proto.max_incoming, if that is ours; when it is less, it refuses what is too much. */
vbn_status_t get_start(proto_op_t *op)
{
    proto_peer_t *p = proto_peer_of(op->stream.peer);
    if (p->gets < op->stream.engine->max_incoming && list_empty(&p->crowd))
        return send_get(op);
    list_append(&p->crowd, &op->stream.active);
    return VBN_OK;
}

/* One that cannot be sent ends, which comes back here: the outermost call goes on with the next. */
static void next_get(proto_peer_t *p)
{
    vbn_status_t status = VBN_ERR_CLOSED;
    if (p->asking)
        return;
    p->asking = true;
    while (status < 0 && !p->down && !list_empty(&p->crowd)) {
        proto_op_t *op = container_of(list_pop(&p->crowd), proto_op_t, stream.active);
        status = send_get(op);
        if (status < 0)
            op_complete(op, status, 0);
    }
    p->asking = false;
}

/* The owner answers too many: the get waits until one of them has ended. When none is left that could end, it asks again at
 * once: the owner needs a moment more for one that ended here. */
static void refused(proto_op_t *op)
{
    proto_peer_t *p = proto_peer_of(op->stream.peer);
    op->state = OP_WAITING;
    op->code = 0;
    list_prepend(&p->crowd, &op->stream.active);
    if (--p->gets == 0)
        next_get(p);
}

/* It failed, or was one of nothing. */
bool get_on_status(proto_op_t *op, vbn_status_t status, const proto_header_t *header)
{
    const proto_stream_t *s = &op->stream;
    if (header->last != 1 || (status >= 0 && s->length != 0))
        return false;
    if (status == VBN_ERR_LIMIT && op->code != 0 && s->moved == 0)
        refused(op);
    else
        op_complete(op, status, status < 0 ? s->moved : s->length);
    return true;
}

void get_on_data(proto_op_t *op, vbn_status_t status)
{
    op_complete(op, status, status == VBN_OK ? op->stream.length : 0);
}

void get_on_end(proto_op_t *op)
{
    if (op->code == 0)
        return;
    op->code = 0;
    if (op->stream.peer == NULL)
        return;
    proto_peer_t *p = proto_peer_of(op->stream.peer);
    p->gets--;
    next_get(p);
}
