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

/* Two segments, but at most half of the data: while the receiver takes them, its question reaches the sender. Messages that
 * follow others need none, as their questions come while earlier data moves. */
static uint32_t head_bytes(const proto_op_t *op, const proto_header_t *header)
{
    const proto_stream_t *s = &op->stream;
    const tl_caps_t *caps = link_caps(s->peer);
    proto_peer_t *p = proto_peer_of(s->peer);
    const uint64_t most = caps->packet_max - LINK_HEADER_BYTES - PROTO_HEADER_MAX, half = s->length / 2 & ~UINT64_C(63);
    uint64_t bytes = 2 * stream_segment_most(s);
    tl_direct_t direct;
    const bool tagged = header->type == PROTO_TAG_RTS || header->type == PROTO_TAG_RTS_AT;
    const bool copied = header->place.key != 0 || (op->direct.offered && !s->engine->measures);
    if (!tagged || header->stages != 0 || copied || s->length < PICK_LEAST || p->announced > 1 ||
        cursor_contiguous(&s->cursor, s->length) == NULL || !link_direct(s->peer, &direct) || pauses(p))
        return 0;
    bytes = bytes < half ? bytes : half;
    return (uint32_t)(bytes < most ? bytes : most);
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

static vbn_status_t send_head(proto_op_t *op, const proto_header_t *header, uint32_t bytes, proto_segment_t *segment)
{
    uint8_t frame[LINK_FRAME_MAX];
    proto_stream_t *s = &op->stream;
    segment->stream = s;
    segment->iov[0] = (struct iovec){cursor_contiguous(&s->cursor, bytes), bytes};
    link_packet_t packet = {.frame = frame,
                            .header_bytes = proto_encode(header, frame + LINK_HEADER_BYTES),
                            .payload_bytes = bytes,
                            .iov = segment->iov,
                            .iov_count = 1,
                            .done = head_done,
                            .arg = segment};
    op->direct.head = bytes;
    vbn_status_t status = proto_link_send(s->peer, &packet);
    if (status == VBN_INPROGRESS)
        s->in_flight++;
    else
        mpool_put(&s->engine->segments, segment);
    return status;
}

vbn_status_t head_announce(proto_op_t *op, const proto_header_t *header)
{
    const uint32_t bytes = head_bytes(op, header);
    proto_segment_t *segment = bytes > 0 ? mpool_get(&op->stream.engine->segments) : NULL;
    return segment != NULL ? send_head(op, header, bytes, segment) : proto_send_header(op->stream.peer, header);
}

void head_note(proto_op_t *op, bool used)
{
    proto_peer_t *p = proto_peer_of(op->stream.peer);
    const unsigned pause = used ? 0 : 2u * p->head_pause + 1;
    if (op->direct.head == 0)
        return;
    op->direct.head = 0;
    p->head_pause = (uint8_t)(pause < HEAD_PAUSE_MOST ? pause : HEAD_PAUSE_MOST);
    p->head_wait = p->head_pause;
}
