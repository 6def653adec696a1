/* SPDX-License-Identifier: Apache-2.0
 * stage_send.c - the sender's side of a message's stages: cuts chunks, takes their checksum, compresses them.
 * Compression ends for a message whose first chunk does not become much smaller. */
#include "base/crc32c.h"
#include "proto/op.h"

static uint32_t checksum(const proto_segment_t *segment)
{
    uint32_t crc = 0;
    for (uint32_t i = 0; i < segment->iov_count; i++)
        crc = crc32c(crc, segment->iov[i].iov_base, segment->iov[i].iov_len);
    return crc;
}

static void set_one(proto_segment_t *segment, void *address, uint64_t bytes)
{
    segment->iov[0] = (struct iovec){address, (size_t)bytes};
    segment->iov_count = 1;
}

static uint64_t cut_plain(proto_stream_t *s, proto_segment_t *segment, uint64_t limit)
{
    if (segment->bounce == NULL)
        return cursor_cut(&s->cursor, limit, segment->iov, &segment->iov_count);
    uint64_t bytes = limit < PROTO_BOUNCE_BYTES ? limit : PROTO_BOUNCE_BYTES;
    cursor_gather(&s->cursor, segment->bounce, bytes);
    set_one(segment, segment->bounce, bytes);
    return bytes;
}

/* The chunk's plain bytes in one piece: where the user has them, else gathered into a second bounce buffer (*second_p),
 * or without heap for that into the segment's own, which then is not free for the compressed form. */
static void *gather(proto_stream_t *s, const proto_segment_t *segment, uint64_t bytes, void **second_p)
{
    void *plain = cursor_contiguous(&s->cursor, bytes);
    *second_p = NULL;
    if (plain != NULL) {
        cursor_scatter(&s->cursor, NULL, bytes); /* moves on */
        return plain;
    }
    *second_p = mpool_get(&s->engine->bounces);
    plain = *second_p != NULL ? *second_p : segment->bounce;
    cursor_gather(&s->cursor, plain, bytes);
    return plain;
}

static uint64_t cut_compressed(proto_stream_t *s, proto_segment_t *segment, uint64_t limit)
{
    proto_engine_t *engine = s->engine;
    uint32_t bytes = limit < STAGE_CHUNK ? (uint32_t)limit : STAGE_CHUNK;
    bool first = s->moved == 0;
    void *second;
    void *plain = gather(s, segment, bytes, &second);
    set_one(segment, plain, bytes);
    if ((s->stages & STAGE_CHECKSUM) != 0)
        segment->check = checksum(segment);
    if (plain == segment->bounce)
        return bytes;
    stage_form_t form = stage_form_of(s->stages);
    uint32_t packed = stage_pack(&engine->box, form, plain, bytes, segment->bounce);
    if (first && stage_is_poor(bytes, packed)) {
        s->stages &= (uint8_t)~STAGE_COMPRESS;
        packed = 0;
    }
    if (packed > 0) {
        set_one(segment, segment->bounce, packed);
        segment->form = (uint8_t)form;
        segment->payload_bytes = packed;
    } else if (second != NULL) { /* the segment keeps what it sends */
        void *unused = segment->bounce;
        segment->bounce = second;
        second = unused;
    }
    if (second != NULL)
        mpool_put(&engine->bounces, second);
    return bytes;
}

uint64_t stage_cut(proto_stream_t *s, proto_segment_t *segment, uint64_t limit)
{
    uint64_t bytes;
    if ((s->stages & STAGE_COMPRESS) != 0) {
        bytes = cut_compressed(s, segment, limit);
    } else {
        bytes = cut_plain(s, segment, limit);
        segment->check = checksum(segment);
    }
    uint64_t sent = segment->form == STAGE_PLAIN ? bytes : segment->payload_bytes;
    counter_add(s->engine->counters, COUNTER_STAGE_PLAIN_BYTES, bytes);
    counter_add(s->engine->counters, COUNTER_STAGE_SENT_BYTES, sent);
    return bytes;
}
