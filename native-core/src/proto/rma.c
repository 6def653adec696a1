/* SPDX-License-Identifier: Apache-2.0
 * rma.c - put and get, at the side that issues them: by a copy where the memory is mapped here, by devices where they can
 * (ways/device.c), by the kernel where the owner allows that (rma_kernel.c), else by packets (rma_get.c, rma_put.c). */
#include "proto/rma.h"
#include "proto/traffic.h"

/* ------------------------------------------------------------------------------- memory that is mapped here */

static void copy_mapped(const vbn_key_t *key, op_kind_t kind, uint64_t offset, uint64_t length, proto_cursor_t *cursor)
{
    if (kind == OP_GET) {
        cursor_scatter(cursor, key->address + offset, length);
        counter_add(key->engine->counters, COUNTER_GET_MAPPED_BYTES, length);
    } else {
        cursor_gather(cursor, key->address + offset, length);
        counter_add(key->engine->counters, COUNTER_PUT_MAPPED_BYTES, length);
    }
}

/* One block after the other between mapped memory and here. */
static void copy_blocks(const vbn_key_t *key, op_kind_t kind, uint64_t offset, const vbn_strided_t *blocks)
{
    char *there = (char *)key->address + offset, *here = blocks->base;
    size_t block = blocks->block;
    for (size_t i = 0; i < blocks->count; i++, there += blocks->remote_stride, here += blocks->local_stride) {
        bytes_copy_seen(kind == OP_GET ? here : there, kind == OP_GET ? there : here, block, there);
    }
    counter_add(key->engine->counters, kind == OP_GET ? COUNTER_GET_MAPPED_BYTES : COUNTER_PUT_MAPPED_BYTES,
                block * blocks->count);
}

void rma_copy(vbn_key_t *key, proto_op_t *op)
{
    proto_stream_t *s = &op->stream;
    if (s->cursor.count == CURSOR_STRIDED)
        copy_blocks(key, (op_kind_t)op->kind, s->key_offset, s->cursor.strided);
    else
        copy_mapped(key, (op_kind_t)op->kind, s->key_offset, s->length, &s->cursor);
}

/* ------------------------------------------------------------------------------------------------ calls */

static inline vbn_status_t issued(const vbn_key_t *key, op_kind_t kind, vbn_op_t *op, vbn_status_t status,
                                  uint64_t length)
{
    return traffic_end(key->engine, key->peer, kind == OP_GET ? TRAFFIC_GET : TRAFFIC_PUT, length, op, status);
}

/* Neither done at once nor refused. */
static vbn_status_t issue_op(vbn_key_t *key, op_kind_t kind, uint64_t offset, const struct iovec *iov, size_t count,
                             uint64_t length, vbn_op_t *user_op)
{
    proto_op_t *op = op_of(user_op);
    vbn_status_t status = op_begin(user_op, key->peer, kind, iov, count, length, false);
    if (status == VBN_OK) {
        op->stream.key = key->info.key_handle;
        op->stream.key_offset = offset;
        status = rma_submit(key, op);
    }
    return issued(key, kind, user_op, status, length);
}

static vbn_status_t issue(vbn_key_t *key, op_kind_t kind, uint64_t offset, const struct iovec *iov, size_t count,
                          vbn_op_t *user_op)
{
    uint64_t length = 0;
    vbn_status_t status = op_check(user_op, iov, count, &length);
    if (status == VBN_OK)
        status = rma_check(key, offset, length, kind == OP_GET ? VBN_ACCESS_READ : VBN_ACCESS_WRITE);
    if (status != VBN_OK)
        return status;
    traffic_begin(key->engine);
    if (rma_mapped(key)) {
        proto_cursor_t cursor;
        cursor_init(&cursor, iov, count);
        copy_mapped(key, kind, offset, length, &cursor);
        return issued(key, kind, user_op, op_set_done(user_op, VBN_OK, length), length);
    }
    if (rma_kernel_may(key, length, count)) {
        status = rma_kernel_copy(key, kind, offset, iov, count, length);
        if (status != VBN_ERR_UNSUPPORTED)
            return issued(key, kind, user_op, status == VBN_OK ? op_set_done(user_op, VBN_OK, length) : status, length);
    }
    return issue_op(key, kind, offset, iov, count, length, user_op);
}

/* One buffer and a range of memory that is mapped here, all in order, no fence to wait for and not the one to be timed:
 * nothing is left but to copy. */
static inline bool is_copy(const vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count,
                           const vbn_op_t *op, unsigned access)
{
    return key != NULL && op != NULL && iov != NULL && count == 1 && key->address != NULL && key->peer != NULL &&
           (key->info.access & access) != 0 && iov->iov_base != NULL && offset <= key->info.length &&
           iov->iov_len <= key->info.length - offset && !proto_forked(key->engine) &&
           fence_allows_copy(link_peer_upper(key->peer), key->engine->fence_epoch) && traffic_untimed(key->engine);
}

vbn_status_t proto_get(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count, vbn_op_t *op)
{
    if (LIKELY(is_copy(key, offset, iov, count, op, VBN_ACCESS_READ))) {
        bytes_copy_seen(iov->iov_base, key->address + offset, iov->iov_len, key->address + offset);
        counter_add(key->engine->counters, COUNTER_GET_MAPPED_BYTES, iov->iov_len);
        traffic_short(key->engine, link_caps(key->peer)->traffic, TRAFFIC_GET, iov->iov_len);
        return op_set_done(op, VBN_OK, iov->iov_len);
    }
    return issue(key, OP_GET, offset, iov, count, op);
}

vbn_status_t proto_put(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count, vbn_op_t *op)
{
    if (LIKELY(is_copy(key, offset, iov, count, op, VBN_ACCESS_WRITE))) {
        bytes_copy_seen(key->address + offset, iov->iov_base, iov->iov_len, key->address + offset);
        counter_add(key->engine->counters, COUNTER_PUT_MAPPED_BYTES, iov->iov_len);
        traffic_short(key->engine, link_caps(key->peer)->traffic, TRAFFIC_PUT, iov->iov_len);
        return op_set_done(op, VBN_OK, iov->iov_len);
    }
    return issue(key, OP_PUT, offset, iov, count, op);
}

/* span_p: bytes from the first to the last one in the remote memory. */
static vbn_status_t check_strided(const vbn_strided_t *blocks, const vbn_op_t *op, uint64_t *span_p)
{
    if (blocks == NULL || op == NULL)
        return err_set(VBN_ERR_INVALID, "a strided operation needs a vbn_strided_t and a vbn_op_t");
    size_t block = blocks->block, count = blocks->count;
    *span_p = 0;
    if (block == 0 || count == 0)
        return VBN_OK;
    if (blocks->base == NULL || block > SIZE_MAX / 2 / count)
        return err_set(VBN_ERR_INVALID, "blocks have no address, or are too many: %zu of %zu byte%s", count, block,
                       plural(block));
    if (count > 1 && (blocks->remote_stride < block || blocks->remote_stride > SIZE_MAX / 2 / count))
        return err_set(VBN_ERR_INVALID,
                       "remote stride of %zu byte%s for blocks of %zu: they would overlap or end beyond "
                       "any memory",
                       blocks->remote_stride, plural(blocks->remote_stride), block);
    *span_p = (count - 1) * blocks->remote_stride + block;
    return VBN_OK;
}

static vbn_status_t issue_strided(vbn_key_t *key, op_kind_t kind, size_t offset, const vbn_strided_t *blocks,
                                  vbn_op_t *user_op)
{
    uint64_t span;
    vbn_status_t status = check_strided(blocks, user_op, &span);
    if (status == VBN_OK)
        status = rma_check(key, offset, span, kind == OP_GET ? VBN_ACCESS_READ : VBN_ACCESS_WRITE);
    if (status != VBN_OK)
        return status;
    uint64_t length = blocks->block * blocks->count;
    if (length == 0)
        return op_set_done(user_op, VBN_OK, 0);
    traffic_begin(key->engine);
    if (rma_mapped(key)) {
        copy_blocks(key, kind, offset, blocks);
        return issued(key, kind, user_op, op_set_done(user_op, VBN_OK, length), length);
    }
    const struct iovec *data = (const struct iovec *)(const void *)blocks; /* the cursor knows what it is */
    return issue_op(key, kind, offset, data, CURSOR_STRIDED_COUNT, length, user_op);
}

vbn_status_t proto_put_strided(vbn_key_t *key, size_t offset, const vbn_strided_t *blocks, vbn_op_t *op)
{
    return issue_strided(key, OP_PUT, offset, blocks, op);
}

vbn_status_t proto_get_strided(vbn_key_t *key, size_t offset, const vbn_strided_t *blocks, vbn_op_t *op)
{
    return issue_strided(key, OP_GET, offset, blocks, op);
}

static vbn_status_t check_signal(const vbn_key_t *key, const vbn_signal_t *signal)
{
    if (signal == NULL || (signal->kind != VBN_ATOMIC_ADD && signal->kind != VBN_ATOMIC_SWAP))
        return err_set(VBN_ERR_INVALID, "a signal is VBN_ATOMIC_ADD or VBN_ATOMIC_SWAP of a 64-bit word");
    vbn_status_t status = amo_check(signal->key, signal->offset, sizeof(uint64_t), VBN_ACCESS_WRITE);
    if (status == VBN_OK && key != NULL && signal->key->peer != key->peer)
        status = err_set(VBN_ERR_INVALID, "the data and its signal belong to different peers");
    return status;
}

vbn_status_t proto_put_signal(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count,
                              const vbn_signal_t *signal, vbn_op_t *user_op)
{
    uint64_t length = 0;
    vbn_status_t status = op_check(user_op, iov, count, &length);
    if (status == VBN_OK)
        status = rma_check(key, offset, length, VBN_ACCESS_WRITE);
    if (status == VBN_OK)
        status = check_signal(key, signal);
    if (status != VBN_OK)
        return status;
    traffic_begin(key->engine);
    if (rma_mapped(key) && signal->key->address != NULL) {
        proto_cursor_t cursor;
        cursor_init(&cursor, iov, count);
        copy_mapped(key, OP_PUT, offset, length, &cursor);
        (void)amo_apply(signal->key->address + signal->offset, (unsigned)signal->kind | PROTO_ATOMIC_WIDE,
                        signal->value, 0);
        return issued(key, OP_PUT, user_op, op_set_done(user_op, VBN_OK, length), length);
    }
    proto_op_t *op = op_of(user_op);
    status = op_begin(user_op, key->peer, OP_PUT, iov, count, length, false);
    if (status != VBN_OK)
        return issued(key, OP_PUT, user_op, status, length);
    op->stream.key = key->info.key_handle;
    op->stream.key_offset = offset;
    op->code = (uint8_t)signal->kind;
    op->signal.key = signal->key->info.key_handle;
    op->signal.offset = signal->offset;
    op->signal.value = signal->value;
    return issued(key, OP_PUT, user_op, rma_submit(key, op), length);
}
