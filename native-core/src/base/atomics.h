/* SPDX-License-Identifier: Apache-2.0
 * atomics.h - C11 atomics named by their order. Each use of acquire or release says what it pairs with. */
#ifndef VBN_BASE_ATOMICS_H
#define VBN_BASE_ATOMICS_H

#include <stdatomic.h>
#include <stdint.h>

#define atomic_get_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define atomic_get_acquire(p) atomic_load_explicit((p), memory_order_acquire)
#define atomic_set_relaxed(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)
#define atomic_set_release(p, v) atomic_store_explicit((p), (v), memory_order_release)
#define atomic_set_seq(p, v) atomic_store_explicit((p), (v), memory_order_seq_cst)
#define atomic_get_seq(p) atomic_load_explicit((p), memory_order_seq_cst)
#if defined(__SANITIZE_THREAD__)
static inline void atomic_full_fence(void) /* the race detector knows no fences, and refuses them */
{
    _Atomic uint32_t word = 0;
    (void)atomic_fetch_add_explicit(&word, 1, memory_order_seq_cst);
}
#define atomic_acquire_fence() atomic_full_fence()
#else
#define atomic_full_fence() atomic_thread_fence(memory_order_seq_cst)
#define atomic_acquire_fence() atomic_thread_fence(memory_order_acquire)
#endif

#define CACHE_LINE 64

#endif
