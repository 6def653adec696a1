/* SPDX-License-Identifier: Apache-2.0
 * translate.h - the near way: what a put, get or atomic to a PE of this node does, inline in each entry point. Two comparisons
 * find the address; whatever they do not cover (static data, PEs elsewhere, errors) goes by a call.
 */
#ifndef VERBENA_SHMEM_TRANSLATE_H
#define VERBENA_SHMEM_TRANSLATE_H

#include "shmem/src/shm.h"

/* Of a word that must be aligned: its size; else 1. */
static inline void *shm_near(const void *address, size_t length, size_t aligned, unsigned index)
{
    const uintptr_t at = (uintptr_t)address;
    const size_t offset = at - shm.heap;
    if (__builtin_expect(
            offset < shm.used && length <= shm.used - offset && index < shm.near && (at & (aligned - 1)) == 0, 1))
        return (void *)(at + (((uintptr_t)index - shm.index) << shm.shift));
    return NULL;
}

/* The PE of the world that a context means. */
static inline int shm_pe_of(const shm_ctx_t *ctx, int pe, const char *function)
{
    if (__builtin_expect(ctx->team == NULL, 1))
        return pe;
    if (pe < 0 || pe >= ctx->team->ranks->size)
        shm_fatal(function, "argument pe is %d, but the context's team has %d PEs", pe, ctx->team->ranks->size);
    return rt_group_world(ctx->team->ranks, pe);
}

static inline shm_ctx_t *shm_ctx(shmem_ctx_t ctx, const char *function)
{
    return ctx == SHMEM_CTX_DEFAULT ? &shm_default : shm_ctx_find(ctx, function);
}

/* Somebody may sleep there: looked at by the next fence, quiet or barrier. */
static inline void shm_touch(unsigned index)
{
    atomic_store_explicit(&shm.touched,
                          atomic_load_explicit(&shm.touched, memory_order_relaxed) | (uint64_t)1 << (index & 63),
                          memory_order_relaxed);
}

void shm_put_other(shm_ctx_t *ctx, void *dest, const void *source, size_t length, int pe, int nbi,
                   const char *function);
void shm_get_other(shm_ctx_t *ctx, void *dest, const void *source, size_t length, int pe, int nbi,
                   const char *function);

static inline void shm_put(shm_ctx_t *ctx, void *dest, const void *source, size_t length, int pe, const char *function)
{
    pe = shm_pe_of(ctx, pe, function);
    void *to = shm_near(dest, length, 1, (unsigned)pe - shm.first);
    if (__builtin_expect(to == NULL, 0)) {
        shm_put_other(ctx, dest, source, length, pe, 0, function);
        return;
    }
    vbn_copy_words(to, source, length, to);
    shm_touch((unsigned)pe - shm.first);
}

static inline void shm_put_nbi(shm_ctx_t *ctx, void *dest, const void *source, size_t length, int pe,
                               const char *function)
{
    pe = shm_pe_of(ctx, pe, function);
    void *to = shm_near(dest, length, 1, (unsigned)pe - shm.first);
    if (__builtin_expect(to == NULL, 0)) {
        shm_put_other(ctx, dest, source, length, pe, 1, function);
        return;
    }
    vbn_copy_words(to, source, length, to);
    shm_touch((unsigned)pe - shm.first);
}

static inline void shm_get(shm_ctx_t *ctx, void *dest, const void *source, size_t length, int pe, const char *function)
{
    pe = shm_pe_of(ctx, pe, function);
    const void *from = shm_near(source, length, 1, (unsigned)pe - shm.first);
    if (__builtin_expect(from != NULL, 1))
        vbn_copy_words(dest, from, length, from);
    else
        shm_get_other(ctx, dest, source, length, pe, 0, function);
}

static inline void shm_get_nbi(shm_ctx_t *ctx, void *dest, const void *source, size_t length, int pe,
                               const char *function)
{
    pe = shm_pe_of(ctx, pe, function);
    const void *from = shm_near(source, length, 1, (unsigned)pe - shm.first);
    if (__builtin_expect(from != NULL, 1))
        vbn_copy_words(dest, from, length, from);
    else
        shm_get_other(ctx, dest, source, length, pe, 1, function);
}

/* ---- atomics: of 4 and 8 bytes, sequentially consistent; the value before. */

static inline uint64_t shm_apply4(uint32_t *word, unsigned kind, uint32_t operand, uint32_t compare)
{
    switch (kind) {
    case VBN_ATOMIC_ADD: return __atomic_fetch_add(word, operand, __ATOMIC_SEQ_CST);
    case VBN_ATOMIC_AND: return __atomic_fetch_and(word, operand, __ATOMIC_SEQ_CST);
    case VBN_ATOMIC_OR: return __atomic_fetch_or(word, operand, __ATOMIC_SEQ_CST);
    case VBN_ATOMIC_XOR: return __atomic_fetch_xor(word, operand, __ATOMIC_SEQ_CST);
    case VBN_ATOMIC_SWAP: return __atomic_exchange_n(word, operand, __ATOMIC_SEQ_CST);
    case VBN_ATOMIC_CAS:
        (void)__atomic_compare_exchange_n(word, &compare, operand, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        return compare;
    default: return __atomic_load_n(word, __ATOMIC_SEQ_CST);
    }
}

static inline uint64_t shm_apply8(uint64_t *word, unsigned kind, uint64_t operand, uint64_t compare)
{
    switch (kind) {
    case VBN_ATOMIC_ADD: return __atomic_fetch_add(word, operand, __ATOMIC_SEQ_CST);
    case VBN_ATOMIC_AND: return __atomic_fetch_and(word, operand, __ATOMIC_SEQ_CST);
    case VBN_ATOMIC_OR: return __atomic_fetch_or(word, operand, __ATOMIC_SEQ_CST);
    case VBN_ATOMIC_XOR: return __atomic_fetch_xor(word, operand, __ATOMIC_SEQ_CST);
    case VBN_ATOMIC_SWAP: return __atomic_exchange_n(word, operand, __ATOMIC_SEQ_CST);
    case VBN_ATOMIC_CAS:
        (void)__atomic_compare_exchange_n(word, &compare, operand, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        return compare;
    default: return __atomic_load_n(word, __ATOMIC_SEQ_CST);
    }
}

static inline uint64_t shm_apply(void *word, unsigned kind, unsigned width, uint64_t operand, uint64_t compare)
{
    return width == 4 ? shm_apply4(word, kind, (uint32_t)operand, (uint32_t)compare)
                      : shm_apply8(word, kind, operand, compare);
}

uint64_t shm_atomic_other(shm_ctx_t *ctx, unsigned kind, unsigned width, const void *dest, uint64_t operand,
                          uint64_t compare, int pe, int fetches, const char *function);
void shm_fetch_nbi_other(shm_ctx_t *ctx, unsigned kind, unsigned width, void *fetch, const void *dest, uint64_t operand,
                         uint64_t compare, int pe, const char *function);

/* After a near update, which was a full fence: does somebody sleep there? */
static inline void shm_look_for_sleeper(unsigned index)
{
    const shm_page_t *page = (const shm_page_t *)(shm.part + shm.page_at +
                                                  (((uintptr_t)index - shm.index) << shm.shift));
    if (__builtin_expect(atomic_load_explicit(&page->asleep, memory_order_relaxed) != 0, 0))
        shm_wake_index(index);
}

static inline uint64_t shm_fetch(shm_ctx_t *ctx, unsigned kind, unsigned width, const void *dest, uint64_t operand,
                                 uint64_t compare, int pe, const char *function)
{
    pe = shm_pe_of(ctx, pe, function);
    const unsigned index = (unsigned)pe - shm.first;
    void *word = shm_near(dest, width, width, index);
    if (__builtin_expect(word == NULL, 0))
        return shm_atomic_other(ctx, kind, width, dest, operand, compare, pe, 1, function);
    const uint64_t before = shm_apply(word, kind, width, operand, compare);
    if (kind != SHM_FETCH)
        shm_look_for_sleeper(index);
    return before;
}

static inline void shm_update(shm_ctx_t *ctx, unsigned kind, unsigned width, void *dest, uint64_t operand, int pe,
                              const char *function)
{
    pe = shm_pe_of(ctx, pe, function);
    const unsigned index = (unsigned)pe - shm.first;
    void *word = shm_near(dest, width, width, index);
    if (__builtin_expect(word == NULL, 0)) {
        (void)shm_atomic_other(ctx, kind, width, dest, operand, 0, pe, 0, function);
        return;
    }
    (void)shm_apply(word, kind, width, operand, 0);
    shm_look_for_sleeper(index);
}

static inline void shm_fetch_nbi(shm_ctx_t *ctx, unsigned kind, unsigned width, void *fetch, const void *dest,
                                 uint64_t operand, uint64_t compare, int pe, const char *function)
{
    pe = shm_pe_of(ctx, pe, function);
    const unsigned index = (unsigned)pe - shm.first;
    void *word = shm_near(dest, width, width, index);
    if (__builtin_expect(word == NULL, 0)) {
        shm_fetch_nbi_other(ctx, kind, width, fetch, dest, operand, compare, pe, function);
        return;
    }
    const uint64_t before = shm_apply(word, kind, width, operand, compare);
    memcpy(fetch, &before, width);
    if (kind != SHM_FETCH)
        shm_look_for_sleeper(index);
}

#endif
