/* SPDX-License-Identifier: Apache-2.0
 * verbs.c - measurements of tagged messages, atomics, put with signal and strided put. */
#include <string.h>

#include "perf.h"

#define TAG_ECHO 1u
#define TAG_REPLY 2u
#define EXACT UINT64_MAX
#define STRIDED_BLOCK 64u
#define WORD_OFFSET (REGION - 64) /* of the words that atomics and signals update */

static void wait_op(side_t *side, const vbn_op_t *op)
{
    double end = now() + DEADLINE_S;
    for (uint64_t i = 1; op->complete == 0; i++) {
        (void)vbn_progress(side->worker);
        if (i % 65536 == 0 && now() > end)
            fail("an operation did not complete in time");
    }
    check((vbn_status_t)op->status, "an operation failed");
}

static void send_tagged(side_t *side, vbn_peer_t *peer, uint64_t tag, size_t size)
{
    vbn_op_t *op = take_op(side);
    struct iovec *iov = &side->iov[op - side->ops];
    *iov = (struct iovec){side->buffer, size};
    vbn_status_t status = vbn_tag_send(peer, tag, iov, 1, 0, op);
    check(status, "vbn_tag_send");
    if (status == VBN_OK)
        give_op(side, op);
}

static void answer(side_t *side)
{
    send_tagged(side, side->tag_info.peer, TAG_REPLY, side->tag_info.length);
}

static void tag_arrived(vbn_op_t *op, vbn_status_t status, size_t length)
{
    (void)length;
    if (status == VBN_ERR_CLOSED)
        return; /* the worker ends */
    check(status, "vbn_tag_recv");
    answer(op->user);
    serve_tags(op->user);
}

void serve_tags(side_t *side)
{
    vbn_status_t status;
    side->tag_iov = (struct iovec){side->buffer, REGION};
    do {
        side->tag_op = (vbn_op_t){.done = tag_arrived, .user = side};
        status = vbn_tag_recv(side->worker, NULL, TAG_ECHO, EXACT, &side->tag_iov, 1, &side->tag_info, &side->tag_op);
        check(status, "vbn_tag_recv");
        if (status == VBN_OK)
            answer(side);
    } while (status == VBN_OK);
}

double tag_latency(side_t *side, size_t size, uint64_t count)
{
    const struct iovec iov = {side->buffer + REGION / 2, size};
    double start = now();
    for (uint64_t i = 0; i < count; i++) {
        vbn_op_t op = {0};
        check(vbn_tag_recv(side->worker, side->peer, TAG_REPLY, EXACT, &iov, 1, NULL, &op), "vbn_tag_recv");
        send_tagged(side, side->peer, TAG_ECHO, size);
        wait_op(side, &op);
    }
    return (now() - start) / (double)count / 2 * 1e9;
}

double atomic_latency(side_t *side, size_t size, uint64_t count)
{
    unsigned width = size == 4 ? 4 : 8;
    double start = now();
    for (uint64_t i = 0; i < count; i++) {
        uint64_t before;
        vbn_op_t op = {0};
        vbn_status_t status = vbn_atomic(side->key, WORD_OFFSET, VBN_ATOMIC_ADD, width, 1, 0, &before, &op);
        check(status, "vbn_atomic");
        if (status == VBN_INPROGRESS)
            wait_op(side, &op);
    }
    return (now() - start) / (double)count * 1e9;
}

double atomic_bare(side_t *side, size_t size, uint64_t count)
{
    (void)size;
    double start = now();
    for (uint64_t i = 0; i < count; i++)
        (void)atomic_fetch_add(&side->shared->word, 1);
    return (now() - start) / (double)count * 1e9;
}

double signal_bandwidth(side_t *side, size_t size, uint64_t count)
{
    const vbn_signal_t signal = {.key = side->key, .offset = WORD_OFFSET + 8, .kind = VBN_ATOMIC_ADD, .value = 1};
    double start = now();
    for (uint64_t i = 0; i < count; i++) {
        vbn_op_t *op = take_op(side);
        struct iovec *iov = &side->iov[op - side->ops];
        *iov = (struct iovec){side->buffer, size};
        vbn_status_t status = vbn_put_signal(side->key, 0, iov, 1, &signal, op);
        check(status, "vbn_put_signal");
        if (status == VBN_OK)
            give_op(side, op);
    }
    drain(side);
    return (double)(size * count) / (now() - start) * 1e-6;
}

/* The first half of the local region is spread over twice the space of the remote one. */
double strided_bandwidth(side_t *side, size_t size, uint64_t count)
{
    const vbn_strided_t blocks = {.base = side->buffer,
                                  .block = STRIDED_BLOCK,
                                  .count = size / STRIDED_BLOCK,
                                  .local_stride = STRIDED_BLOCK,
                                  .remote_stride = 2 * (size_t)STRIDED_BLOCK};
    double start = now();
    for (uint64_t i = 0; i < count; i++) {
        vbn_op_t *op = take_op(side);
        vbn_status_t status = vbn_put_strided(side->key, 0, &blocks, op);
        check(status, "vbn_put_strided");
        if (status == VBN_OK)
            give_op(side, op);
    }
    drain(side);
    return (double)(size * count) / (now() - start) * 1e-6;
}

double strided_bare(side_t *side, size_t size, uint64_t count)
{
    double start = now();
    for (uint64_t i = 0; i < count; i++) {
        for (size_t at = 0; at < size; at += STRIDED_BLOCK)
            memcpy(side->raw + 2 * at, side->buffer + at, STRIDED_BLOCK);
        __asm__ __volatile__("" : : "r"(side->raw) : "memory"); /* keeps every copy */
    }
    return (double)(size * count) / (now() - start) * 1e-6;
}
