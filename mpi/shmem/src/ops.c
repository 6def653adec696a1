/* SPDX-License-Identifier: Apache-2.0
 * ops.c - operations on PEs elsewhere while they are under way: a pool, the counts of contexts, failures.
 */
#include <stdio.h>
#include <stdlib.h>

#include "shmem/src/far.h"

static shm_op_t *free_ops; /* guarded by the runtime */

shm_op_t *shm_op_new(shm_ctx_t *ctx, int pe, const char *function)
{
    shm_op_t *op = free_ops;
    if (op != NULL)
        free_ops = op->next;
    else if ((op = calloc(1, sizeof(*op))) == NULL)
        shm_fatal(function, "no memory left for an operation on PE %d", pe);
    op->ctx = ctx;
    op->pe = pe;
    op->fetch = NULL;
    op->copied = NULL;
    op->op.complete = 0;
    op->op.done = NULL;
    return op;
}

void shm_op_end(shm_op_t *op)
{
    free(op->copied);
    op->copied = NULL;
    op->next = free_ops;
    free_ops = op;
}

void shm_ops_close(void)
{
    for (shm_op_t *op; (op = free_ops) != NULL; free(op))
        free_ops = op->next;
}

/* Who waits for a lost PE is ended by the launcher, which names it. */
static void fail(const shm_op_t *op, const char *function, vbn_status_t status)
{
    char text[600];
    snprintf(text, sizeof(text), "operation on PE %d: %s", op->pe, vbn_error_text());
    shm_failed(function, status, text);
}

static void finish(shm_op_t *op)
{
    if (op->fetch != NULL)
        memcpy(op->fetch, &op->before, op->width);
    atomic_fetch_sub_explicit(&op->ctx->pending, 1, memory_order_release);
    shm_op_end(op);
}

static void on_done(vbn_op_t *op, vbn_status_t status, size_t length)
{
    (void)length;
    shm_op_t *mine = (shm_op_t *)op;
    if (status < 0)
        fail(mine, "an earlier operation", status);
    finish(mine);
}

static void wait_for(shm_op_t *op, const char *function)
{
    rt_wait_t wait = RT_WAIT;
    wait.op = &op->op;
    while (op->op.complete == 0)
        rt_wait_step(&wait);
    if (op->op.status < 0)
        fail(op, function, (vbn_status_t)op->op.status);
}

shm_op_t *shm_op_counted(shm_ctx_t *ctx, int pe, const char *function)
{
    rt_wait_t wait = RT_WAIT;
    while (atomic_load_explicit(&ctx->pending, memory_order_relaxed) >= SHM_UNDER_WAY)
        rt_wait_step(&wait);
    shm_op_t *op = shm_op_new(ctx, pe, function);
    op->op.done = on_done;
    atomic_fetch_add_explicit(&ctx->pending, 1, memory_order_relaxed);
    atomic_store_explicit(&ctx->unfenced, 1, memory_order_relaxed);
    return op;
}

void shm_op_begun(shm_op_t *op, vbn_status_t status, const char *function)
{
    if (status < 0)
        fail(op, function, status);
    if (op->ctx != NULL) {
        if (status == VBN_OK)
            finish(op);
        return;
    }
    if (status == VBN_INPROGRESS)
        wait_for(op, function);
}

void shm_drain(shm_ctx_t *ctx)
{
    rt_wait_t wait = RT_WAIT;
    while (atomic_load_explicit(&ctx->pending, memory_order_acquire) != 0)
        rt_wait_step(&wait);
    atomic_store_explicit(&ctx->unfenced, 0, memory_order_relaxed);
}
