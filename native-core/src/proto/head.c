/* SPDX-License-Identifier: Apache-2.0
 * head.c - see head.h. */
#include "proto/head.h"

/* After heads that were of no use, fewer and fewer are sent. */
static bool pauses(proto_peer_t *p)
{
    if (p->head_wait == 0)
        return false;
    p->head_wait--;
    return true;
}

/* Messages that follow others need none, as their questions come while earlier data moves. */
static bool pays(const proto_op_t *op, const proto_header_t *header)
{
    const proto_stream_t *s = &op->stream;
    proto_peer_t *p = proto_peer_of(s->peer);
    tl_direct_t direct;
    const bool tagged = header->type == PROTO_TAG_RTS || header->type == PROTO_TAG_RTS_AT;
    const bool copied = op->direct.offered && !s->engine->measures;
    return tagged && header->stages == 0 && !copied && s->length >= PICK_LEAST && p->announced == 1 &&
           cursor_contiguous(&s->cursor, s->length) != NULL && link_direct(s->peer, &direct) && !pauses(p);
}

static void head_done(void *arg, vbn_status_t status)
{
    proto_segment_t *segment = arg;
    proto_stream_t *s = segment->stream;
    mpool_put(&s->engine->segments, segment);
    s->in_flight--;
    if (status < 0 && s->status == VBN_OK)
        s->status = status;
    if (status >= 0 && container_of(s, proto_op_t, stream)->state == OP_RUNNING)
        stream_pump(s);
    else
        stream_settle(s);
}

/* A packet with `bytes` bytes of the op's data from `at` on. */
static vbn_status_t send_part(proto_op_t *op, const proto_header_t *header, uint64_t at, uint32_t bytes,
                              proto_segment_t *segment)
{
    uint8_t frame[LINK_FRAME_MAX];
    proto_stream_t *s = &op->stream;
    segment->stream = s;
    segment->iov[0] = (struct iovec){cursor_contiguous_at(&s->cursor, at, bytes), bytes};
    const link_packet_t packet = {.frame = frame,
                                  .header_bytes = proto_encode(header, frame + LINK_HEADER_BYTES),
                                  .payload_bytes = bytes,
                                  .iov = segment->iov,
                                  .iov_count = 1,
                                  .done = head_done,
                                  .arg = segment};
    vbn_status_t status = proto_link_send(s->peer, &packet);
    if (status == VBN_INPROGRESS)
        s->in_flight++;
    else
        mpool_put(&s->engine->segments, segment);
    return status;
}

/* While the receiver takes the first part, this side writes further ones, and the question comes. */
static void send_more(proto_op_t *op, uint32_t first, uint64_t most)
{
    const uint64_t length = op->stream.length;
    uint64_t at = first;
    for (unsigned part = 0; part < HEAD_MORE && at < length; part++) {
        const proto_header_t header = {.type = PROTO_TAG_MORE, .op = op->handle, .offset = at};
        const uint32_t bytes = (uint32_t)(length - at < most ? length - at : most);
        proto_segment_t *segment = mpool_get(&op->stream.engine->segments);
        if (segment == NULL || send_part(op, &header, at, bytes, segment) < 0)
            break;
        at += bytes;
    }
    op->direct.more = (uint32_t)(at - first);
}

vbn_status_t head_announce(proto_op_t *op, const proto_header_t *header)
{
    const uint64_t length = op->stream.length, most = stream_segment_most(&op->stream), half = length / 2;
    const uint32_t first = (uint32_t)(half < most ? half : most);
    proto_segment_t *segment = pays(op, header) ? mpool_get(&op->stream.engine->segments) : NULL;
    if (segment == NULL)
        return proto_send_header(op->stream.peer, header);
    vbn_status_t status = send_part(op, header, 0, first, segment);
    op->direct.head = first;
    if (status >= 0)
        send_more(op, first, most);
    return status;
}

bool head_skip(proto_op_t *op, uint64_t bytes)
{
    proto_stream_t *s = &op->stream;
    if (bytes != op->direct.head || op->state != OP_WAITING)
        return false;
    s->moved = bytes + op->direct.more;
    cursor_scatter(&s->cursor, NULL, s->moved);
    return true;
}

void head_note(proto_op_t *op, bool used)
{
    proto_peer_t *p = proto_peer_of(op->stream.peer);
    const unsigned pause = used ? 0 : 2u * p->head_pause + 1;
    if (op->direct.head == 0)
        return;
    op->direct.head = op->direct.more = 0;
    p->head_pause = (uint8_t)(pause < HEAD_PAUSE_MOST ? pause : HEAD_PAUSE_MOST);
    p->head_wait = p->head_pause;
}
