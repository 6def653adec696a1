/* SPDX-License-Identifier: Apache-2.0
 * cursor.c - walking over the user's data: a list of buffers, equal blocks at equal distances, or what a pair of
 * callbacks makes of it. */
#include <string.h>

#include "proto/op.h"

static void skip_ended(proto_cursor_t *c)
{
    while (c->index < c->count && c->offset >= c->iov[c->index].iov_len) {
        c->index++;
        c->offset = 0;
    }
}

/* Blocks: copies between data and the next bytes; out: from the blocks. */
static void move_blocks(proto_cursor_t *c, char *data, uint64_t length, bool out)
{
    const vbn_strided_t *blocks = c->strided;
    size_t index = c->offset / blocks->block, inside = c->offset % blocks->block;
    char *at = (char *)blocks->base + (ptrdiff_t)index * blocks->local_stride;
    c->offset += length;
    while (length > 0) {
        size_t take = blocks->block - inside < length ? blocks->block - inside : (size_t)length;
        if (out)
            bytes_copy_seen(data, at + inside, take, data);
        else
            bytes_copy_seen(at + inside, data, take, data);
        data += take;
        length -= take;
        inside = 0;
        at += blocks->local_stride;
    }
}

uint64_t cursor_cut(proto_cursor_t *c, uint64_t limit, struct iovec *pieces, uint32_t *count_p)
{
    uint64_t total = 0;
    uint32_t used = 0;
    for (skip_ended(c); used < PROTO_SEGMENT_IOV && total < limit && c->index < c->count; skip_ended(c)) {
        size_t room = c->iov[c->index].iov_len - c->offset;
        size_t take = room < limit - total ? room : (size_t)(limit - total);
        pieces[used++] = (struct iovec){(char *)c->iov[c->index].iov_base + c->offset, take};
        c->offset += take;
        total += take;
    }
    *count_p = used;
    return total;
}

void *cursor_contiguous(const proto_cursor_t *cursor, uint64_t length)
{
    proto_cursor_t c = *cursor;
    if (!cursor_is_list(cursor))
        return NULL;
    skip_ended(&c);
    if (c.index >= c.count || c.iov[c.index].iov_len - c.offset < length)
        return NULL;
    return (char *)c.iov[c.index].iov_base + c.offset;
}

void cursor_scatter(proto_cursor_t *c, const void *data, uint64_t length)
{
    const char *from = data;
    if (c->count == CURSOR_STRIDED) {
        move_blocks(c, (char *)(uintptr_t)data, length, false);
        return;
    }
    if (c->count == CURSOR_PACK) {
        if (length > 0)
            c->pack->unpack(c->pack->arg, c->offset, data, (size_t)length);
        c->offset += length;
        return;
    }
    for (skip_ended(c); length > 0 && c->index < c->count; skip_ended(c)) {
        size_t room = c->iov[c->index].iov_len - c->offset;
        size_t take = room < length ? room : (size_t)length;
        if (from != NULL) {
            bytes_copy_seen((char *)c->iov[c->index].iov_base + c->offset, from, take, from);
            from += take;
        }
        c->offset += take;
        length -= take;
    }
}

void *cursor_contiguous_at(const proto_cursor_t *cursor, uint64_t skip, uint64_t length)
{
    proto_cursor_t c = *cursor;
    if (!cursor_is_list(cursor))
        return NULL;
    cursor_scatter(&c, NULL, skip);
    return cursor_contiguous(&c, length);
}

void cursor_gather(proto_cursor_t *c, void *data, uint64_t length)
{
    char *to = data;
    if (c->count == CURSOR_STRIDED) {
        move_blocks(c, data, length, true);
        return;
    }
    if (c->count == CURSOR_PACK) {
        if (length > 0)
            c->pack->pack(c->pack->arg, c->offset, data, (size_t)length);
        c->offset += length;
        return;
    }
    for (skip_ended(c); length > 0 && c->index < c->count; skip_ended(c)) {
        size_t room = c->iov[c->index].iov_len - c->offset;
        size_t take = room < length ? room : (size_t)length;
        bytes_copy_seen(to, (char *)c->iov[c->index].iov_base + c->offset, take, to);
        to += take;
        c->offset += take;
        length -= take;
    }
}
