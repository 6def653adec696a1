/* SPDX-License-Identifier: Apache-2.0
 * What a program may say without effect: hints and options that this version does not know, calls on SHMEM_CTX_INVALID that
 * wait for operations (no operation, OpenSHMEM 1.6, 9.11), small alignments; and names of types in the C11 generics.
 * PEs: 1 2 hosts
 */
#include "rule.h"

#include <stdint.h>

static int32_t word;
static int64_t wide;
static int8_t small_sum, small_value;
static int16_t short_sum, short_value;

static void invalid_context(void)
{
    const int pes[] = {0};
    shmem_ctx_quiet(SHMEM_CTX_INVALID);
    shmem_ctx_fence(SHMEM_CTX_INVALID);
    shmem_ctx_pe_quiet(SHMEM_CTX_INVALID, pes, 1);
    shmem_ctx_session_start(SHMEM_CTX_INVALID, 0, NULL, 0);
    shmem_ctx_session_stop(SHMEM_CTX_INVALID);
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
}

static void unknown_hints(void)
{
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(1l << 20, &ctx) == 0);
    shmem_ctx_session_start(ctx, 1l << 20, NULL, 1l << 20);
    shmem_ctx_session_stop(ctx);
    shmem_ctx_destroy(ctx);
    void *hinted = shmem_malloc_with_hints(64, 1l << 20);
    CHECK(hinted != NULL);
    shmem_free(hinted);
}

static void small_alignments(void)
{
    for (size_t alignment = 1; alignment <= 4; alignment *= 2) {
        void *block = shmem_align(alignment, 24);
        CHECK(block != NULL && (uintptr_t)block % sizeof(void *) == 0);
        shmem_free(block);
    }
}

static void names_of_types(void)
{
    const int next = (me + 1) % size;
    int64_t before = -1;
    shmem_atomic_or(&word, 1, next);
    shmem_atomic_xor(&wide, (int64_t)6, next);
    shmem_barrier_all();
    CHECK(word == 1 && wide == 6);
    shmem_barrier_all();
    shmem_atomic_fetch_and_nbi(&before, &wide, (int64_t)3, next);
    shmem_quiet();
    shmem_barrier_all();
    CHECK(before == 6 && wide == 2);
    small_value = (int8_t)(me == 0 ? 6 : 7);
    short_value = (int16_t)(1 << me % 8);
    CHECK(shmem_and_reduce(SHMEM_TEAM_WORLD, &small_sum, &small_value, 1) == 0);
    CHECK(shmem_or_reduce(SHMEM_TEAM_WORLD, &short_sum, &short_value, 1) == 0);
    CHECK(small_sum == 6 && short_sum == (size == 1 ? 1 : 3));
}

static void test(void)
{
    invalid_context();
    unknown_hints();
    small_alignments();
    names_of_types();
}
