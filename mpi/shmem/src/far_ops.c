/* SPDX-License-Identifier: Apache-2.0
 * far_ops.c - put, get, atomics and put with signal to PEs of other nodes (rules F1 to F3 of far.h).
 */
#include <stdlib.h>

#include "shmem/src/far.h"

/* F2: the op carries the data from now on. */
static void copy_data(shm_op_t *op, const void *source, size_t length, const char *function)
{
    void *to = op->data;
    if (length > sizeof(op->data) && (to = op->copied = malloc(length)) == NULL)
        shm_fatal(function, "no memory left for %zu bytes on their way to PE %d", length, op->pe);
    memcpy(to, source, length);
    op->piece.iov_base = to;
}

static void put_piece(shm_ctx_t *ctx, void *dest, const void *source, size_t length, int pe, int nbi,
                      const char *function)
{
    size_t offset;
    size_t covered;
    vbn_key_t *key = shm_far_key(pe, dest, &offset, &covered, function);
    const int is_counted = nbi || length <= SHM_COPIED;
    shm_op_t *op = is_counted ? shm_op_counted(ctx, pe, function) : shm_op_new(NULL, pe, function);
    op->piece = (struct iovec){.iov_base = (void *)(uintptr_t)source, .iov_len = length};
    if (!nbi && is_counted)
        copy_data(op, source, length, function);
    shm_op_begun(op, vbn_put(key, offset, &op->piece, 1, &op->op), function);
    if (!is_counted)
        shm_op_end(op);
}

static void get_piece(shm_ctx_t *ctx, void *dest, const void *source, size_t length, int pe, int nbi,
                      const char *function)
{
    size_t offset;
    size_t covered;
    vbn_key_t *key = shm_far_key(pe, source, &offset, &covered, function);
    shm_op_t *op = nbi ? shm_op_counted(ctx, pe, function) : shm_op_new(NULL, pe, function);
    op->piece = (struct iovec){.iov_base = dest, .iov_len = length};
    shm_op_begun(op, vbn_get(key, offset, &op->piece, 1, &op->op), function);
    if (!nbi)
        shm_op_end(op);
}

/* F3: bytes of an operation that one key covers. */
static size_t piece_of(int pe, const void *address, size_t length, const char *function)
{
    size_t offset;
    size_t covered;
    (void)shm_far_key(pe, address, &offset, &covered, function);
    return length < covered ? length : covered;
}

void shm_far_put(shm_ctx_t *ctx, void *dest, const void *source, size_t length, int pe, int nbi, const char *function)
{
    rt_enter();
    for (size_t at = 0, piece; at < length; at += piece) {
        void *to = (unsigned char *)dest + at;
        piece = piece_of(pe, to, length - at, function);
        put_piece(ctx, to, (const unsigned char *)source + at, piece, pe, nbi, function);
    }
    rt_leave();
}

void shm_far_get(shm_ctx_t *ctx, void *dest, const void *source, size_t length, int pe, int nbi, const char *function)
{
    rt_enter();
    for (size_t at = 0, piece; at < length; at += piece) {
        const void *from = (const unsigned char *)source + at;
        piece = piece_of(pe, from, length - at, function);
        get_piece(ctx, (unsigned char *)dest + at, from, piece, pe, nbi, function);
    }
    rt_leave();
}

/* The core has no reading atomic: it adds 0. */
static vbn_status_t issue(shm_op_t *op, unsigned kind, unsigned width, const void *dest, uint64_t operand,
                          uint64_t compare, int fetches, const char *function)
{
    size_t offset;
    size_t covered;
    vbn_key_t *key = shm_far_key(op->pe, dest, &offset, &covered, function);
    const uint64_t mask = width == 4 ? UINT32_MAX : UINT64_MAX;
    return vbn_atomic(key, offset, kind == SHM_FETCH ? VBN_ATOMIC_ADD : (vbn_atomic_kind_t)kind, width, operand & mask,
                      compare & mask, fetches ? &op->before : NULL, &op->op);
}

uint64_t shm_far_atomic(shm_ctx_t *ctx, unsigned kind, unsigned width, const void *dest, uint64_t operand,
                        uint64_t compare, int pe, int fetches, const char *function)
{
    uint64_t before = 0;
    rt_enter();
    shm_op_t *op = fetches ? shm_op_new(NULL, pe, function) : shm_op_counted(ctx, pe, function);
    shm_op_begun(op, issue(op, kind, width, dest, operand, compare, fetches, function), function);
    if (fetches) {
        before = op->before;
        shm_op_end(op);
    }
    rt_leave();
    return before;
}

void shm_far_fetch_nbi(shm_ctx_t *ctx, unsigned kind, unsigned width, void *fetch, const void *dest, uint64_t operand,
                       uint64_t compare, int pe, const char *function)
{
    rt_enter();
    shm_op_t *op = shm_op_counted(ctx, pe, function);
    op->fetch = fetch;
    op->width = width;
    shm_op_begun(op, issue(op, kind, width, dest, operand, compare, 1, function), function);
    rt_leave();
}

/* The last piece carries the signal; those before it are made visible first. */
void shm_far_put_signal(shm_ctx_t *ctx, void *dest, const void *source, size_t length, uint64_t *signal, uint64_t value,
                        unsigned kind, int pe, int nbi, const char *function)
{
    size_t covered;
    size_t offset;
    rt_enter();
    const size_t first = length == 0 ? 0 : piece_of(pe, dest, length, function);
    if (first < length) {
        shm_far_put(ctx, dest, source, length, pe, nbi, function);
        (void)vbn_fence(rt.worker);
        (void)shm_far_atomic(ctx, kind, 8, signal, value, 0, pe, 0, function);
        rt_leave();
        return;
    }
    vbn_signal_t word = {
        .key = shm_far_key(pe, signal, &offset, &covered, function), .kind = (vbn_atomic_kind_t)kind, .value = value};
    word.offset = offset;
    vbn_key_t *key = length == 0 ? word.key : shm_far_key(pe, dest, &offset, &covered, function);
    const int is_counted = nbi || length <= SHM_COPIED;
    shm_op_t *op = is_counted ? shm_op_counted(ctx, pe, function) : shm_op_new(NULL, pe, function);
    op->piece = (struct iovec){.iov_base = (void *)(uintptr_t)source, .iov_len = length};
    if (!nbi && is_counted)
        copy_data(op, source, length, function);
    shm_op_begun(op, vbn_put_signal(key, offset, &op->piece, 1, &word, &op->op), function);
    if (!is_counted)
        shm_op_end(op);
    rt_leave();
}
