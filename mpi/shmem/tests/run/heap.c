/* SPDX-License-Identifier: Apache-2.0
 * The symmetric heap: the same calls give the same offsets at every PE; blocks do not overlap, are aligned, keep their bytes.
 * PEs: 1 2 4 hosts
 */
#include "rule.h"

#define BLOCKS 200

static struct {
    unsigned char *at;
    size_t length;
    int seed;
} blocks[BLOCKS];

static unsigned next_random; /* the same at every PE */

static unsigned random_below(unsigned limit)
{
    next_random = next_random * 1103515245u + 12345u;
    return (next_random >> 8) % limit;
}

/* The other PEs' block is where the own one is. */
static void check_symmetric(unsigned char *block)
{
    static long offsets[64];
    static char *base;
    if (base == NULL)
        base = (char *)block;
    const long mine = (char *)block - base;
    CHECK(shmem_long_fcollect(SHMEM_TEAM_WORLD, offsets, &mine, 1) == 0);
    for (int pe = 0; pe < size; pe++)
        CHECK(offsets[pe] == mine);
}

static void change(int i, int round)
{
    if (blocks[i].at == NULL) {
        blocks[i].length = 1 + random_below(round % 10 == 0 ? 1000000 : 3000);
        const size_t alignment = (size_t)8 << random_below(10);
        blocks[i].at = round % 3 == 0 ? shmem_align(alignment, blocks[i].length) : shmem_malloc(blocks[i].length);
        CHECK(blocks[i].at != NULL && (round % 3 != 0 || (uintptr_t)blocks[i].at % alignment == 0));
        CHECK((uintptr_t)blocks[i].at % 16 == 0);
    } else if (round % 2 == 0) {
        const size_t longer = 1 + random_below(6000);
        const size_t kept = longer < blocks[i].length ? longer : blocks[i].length;
        blocks[i].at = shmem_realloc(blocks[i].at, longer);
        CHECK(blocks[i].at != NULL && is_filled(blocks[i].at, kept, blocks[i].seed));
        blocks[i].length = longer;
    } else {
        CHECK(is_filled(blocks[i].at, blocks[i].length, blocks[i].seed));
        shmem_free(blocks[i].at);
        blocks[i].at = NULL;
        return;
    }
    blocks[i].seed = round;
    fill(blocks[i].at, blocks[i].length, round);
}

static void test(void)
{
    for (int round = 1; round <= 1000; round++)
        change((int)random_below(BLOCKS), round);
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i].at == NULL)
            continue;
        if (i % 8 == 0)
            check_symmetric(blocks[i].at);
        CHECK(is_filled(blocks[i].at, blocks[i].length, blocks[i].seed));
        shmem_free(blocks[i].at);
    }
    long *zeros = shmem_calloc(10000, sizeof(long)); /* where other bytes have been */
    for (int i = 0; i < 10000; i++)
        CHECK(zeros[i] == 0);
    shmem_free(zeros);
    CHECK(shmem_malloc(0) == NULL && shmem_realloc(NULL, 0) == NULL);
    shmem_free(NULL);
    void *all = shmem_malloc((size_t)512 << 20); /* everything was given back and is one piece again */
    CHECK(all != NULL);
    shmem_free(all);
    void *hinted = shmem_malloc_with_hints(64, SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);
    CHECK(hinted != NULL);
    shmem_free(hinted);
}
