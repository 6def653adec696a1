/* SPDX-License-Identifier: Apache-2.0
 * rma.c - put, get and atomics that the inline way leaves over: static data, PEs of other nodes, errors.
 */
#include "shmem/src/far.h"

void shm_put_other(shm_ctx_t *ctx, void *dest, const void *source, size_t length, int pe, int nbi, const char *function)
{
    if (length == 0) {
        shm_check_pe(pe, function);
        return;
    }
    void *to = shm_find_near(dest, length, pe, function);
    if (to == NULL) {
        shm_far_put(ctx, dest, source, length, pe, nbi, function);
        return;
    }
    vbn_copy_words(to, source, length, to);
    shm_touch((unsigned)shm_index(pe));
}

void shm_get_other(shm_ctx_t *ctx, void *dest, const void *source, size_t length, int pe, int nbi, const char *function)
{
    if (length == 0) {
        shm_check_pe(pe, function);
        return;
    }
    const void *from = shm_find_near(source, length, pe, function);
    if (from != NULL)
        vbn_copy_words(dest, from, length, from);
    else
        shm_far_get(ctx, dest, source, length, pe, nbi, function);
}

void shm_check_pe(int pe, const char *function)
{
    shm_check_ready(function);
    if (pe < 0 || pe >= shm.pes)
        shm_fatal(function, "argument pe is %d, but the PEs are 0 to %d", pe, shm.pes - 1);
}

static void *word_near(const void *dest, unsigned width, int pe, const char *function)
{
    shm_check_pe(pe, function);
    if (((uintptr_t)dest & (width - 1)) != 0)
        shm_fatal(function, "address %p of an atomic of %u bytes is not a multiple of %u", dest, width, width);
    return shm_find_near(dest, width, pe, function);
}

uint64_t shm_atomic_other(shm_ctx_t *ctx, unsigned kind, unsigned width, const void *dest, uint64_t operand,
                          uint64_t compare, int pe, int fetches, const char *function)
{
    void *word = word_near(dest, width, pe, function);
    if (word == NULL)
        return shm_far_atomic(ctx, kind, width, dest, operand, compare, pe, fetches, function);
    const uint64_t before = shm_apply(word, kind, width, operand, compare);
    if (kind != SHM_FETCH)
        shm_look_for_sleeper((unsigned)shm_index(pe));
    return before;
}

void shm_fetch_nbi_other(shm_ctx_t *ctx, unsigned kind, unsigned width, void *fetch, const void *dest, uint64_t operand,
                         uint64_t compare, int pe, const char *function)
{
    void *word = word_near(dest, width, pe, function);
    if (word == NULL) {
        shm_far_fetch_nbi(ctx, kind, width, fetch, dest, operand, compare, pe, function);
        return;
    }
    const uint64_t before = shm_apply(word, kind, width, operand, compare);
    memcpy(fetch, &before, width);
    if (kind != SHM_FETCH)
        shm_look_for_sleeper((unsigned)shm_index(pe));
}
