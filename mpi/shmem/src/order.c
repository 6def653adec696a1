/* SPDX-License-Identifier: Apache-2.0
 * order.c - fence and quiet, and signals with data.
 */
#include "shmem/src/entry.h"
#include "shmem/src/far.h"

void shm_fence(shm_ctx_t *ctx)
{
    shm_check_ready("shmem_fence");
    atomic_thread_fence(memory_order_release); /* stores of x86 are seen in order; others need an instruction */
    if (__builtin_expect(atomic_load_explicit(&shm.touched, memory_order_relaxed) != 0, 0))
        shm_wake_touched();
    if (__builtin_expect(atomic_load_explicit(&ctx->unfenced, memory_order_relaxed) == 0, 1))
        return;
    rt_enter();
    if (atomic_load_explicit(&ctx->pending, memory_order_relaxed) > 0 && vbn_fence(rt.worker) < 0)
        shm_fatal("shmem_fence", "%s", vbn_error_text());
    atomic_store_explicit(&ctx->unfenced, 0, memory_order_relaxed);
    rt_leave();
}

void shm_quiet(shm_ctx_t *ctx)
{
    shm_check_ready("shmem_quiet");
    atomic_thread_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&shm.touched, memory_order_relaxed) != 0, 0))
        shm_wake_touched();
    if (__builtin_expect(atomic_load_explicit(&ctx->pending, memory_order_acquire) == 0, 1))
        return;
    rt_enter();
    shm_drain(ctx);
    rt_leave();
}

/* Of more PEs than asked: counts are a context's. */
void shm_pe_quiet(shm_ctx_t *ctx, const int *pes, size_t count, const char *function)
{
    for (size_t i = 0; i < count; i++)
        shm_check_pe(shm_pe_of(ctx, pes[i], function), function);
    if (count > 0)
        shm_quiet(ctx);
}

void shm_put_signal(shm_ctx_t *ctx, void *dest, const void *source, size_t length, uint64_t *signal, uint64_t value,
                    int op, int pe, int nbi, const char *function)
{
    const unsigned kind = op == SHMEM_SIGNAL_ADD ? VBN_ATOMIC_ADD : VBN_ATOMIC_SWAP;
    pe = shm_pe_of(ctx, pe, function);
    shm_check_pe(pe, function);
    if (op != SHMEM_SIGNAL_ADD && op != SHMEM_SIGNAL_SET)
        shm_fatal(function, "argument sig_op is %d, which is neither SHMEM_SIGNAL_SET nor SHMEM_SIGNAL_ADD", op);
    if (((uintptr_t)signal & 7) != 0)
        shm_fatal(function, "address %p of the signal is not a multiple of 8", (void *)signal);
    void *word = shm_find_near(signal, sizeof(*signal), pe, function);
    void *to = length == 0 ? word : shm_find_near(dest, length, pe, function);
    if (word == NULL) {
        shm_far_put_signal(ctx, dest, source, length, signal, value, kind, pe, nbi, function);
        return;
    }
    if (length > 0)
        vbn_copy_words(to, source, length, to);
    (void)shm_apply(word, kind, 8, value, 0);
    shm_look_for_sleeper((unsigned)shm_index(pe));
}
