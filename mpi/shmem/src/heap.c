/* SPDX-License-Identifier: Apache-2.0
 * heap.c - the symmetric heap: which parts of it are handed out (rt/blocks.h). The same calls give the same offsets at every PE.
 */
#include <stdio.h>
#include <stdlib.h>

#include "rt/blocks.h"
#include "shmem/src/coll.h"
#include "shmem/src/entry.h"

#define ALIGNED 64u            /* a cache line: two blocks never share one */
#define STEP ((size_t)2 << 20) /* pages are allocated in such steps */

static struct {
    rt_blocks_t blocks;
    size_t committed; /* bytes whose pages exist */
} heap;

void shm_heap_open(void)
{
    (void)rt_blocks_open(&heap.blocks, 0, shm.limit, ALIGNED); /* without heap for it nothing fits */
    heap.committed = 0;
}

void shm_heap_close(void)
{
    rt_blocks_close(&heap.blocks);
    heap.committed = 0;
    shm.used = 0;
}

/* Pages up to there; -1: none left. */
static int commit_to(size_t end)
{
    size_t target = (end + STEP - 1) / STEP * STEP;
    const size_t page = 4096;
    if (target > shm.limit)
        target = (shm.limit + page - 1) / page * page;
    if (target <= heap.committed)
        return 0;
    if (shm_commit(shm.heap_at + heap.committed, target - heap.committed) != 0)
        return -1;
    heap.committed = target;
    shm.used = target < shm.limit ? target : shm.limit;
    return 0;
}

/* ---- agreement (M3) */

typedef struct agreement {
    uint64_t least[3]; /* call, arguments: their least and greatest values */
    uint64_t most[3];
    uint64_t failed;
} agreement_t;

static void agree(const grp_reduce_t *reduce, const void *in, void *inout, size_t count)
{
    const agreement_t *from = in;
    agreement_t *to = inout;
    (void)reduce, (void)count;
    for (int i = 0; i < 3; i++) {
        to->least[i] = from->least[i] < to->least[i] ? from->least[i] : to->least[i];
        to->most[i] = from->most[i] > to->most[i] ? from->most[i] : to->most[i];
    }
    to->failed |= from->failed;
}

/* Ends with a barrier. 1: all PEs have succeeded. */
static int all_agree(char call, size_t first, size_t second, int failed, const char *function)
{
    const grp_reduce_t reduce = {.apply = agree, .element = sizeof(agreement_t), .commutes = 1};
    agreement_t found = {
        .least = {(uint64_t)call, first, second}, .most = {(uint64_t)call, first, second}, .failed = (uint64_t)failed};
    const int status = grp_allreduce(&shm_world.grp, &found, 1, &reduce);
    if (status < 0)
        shm_failed(function, status, grp_error());
    if (found.least[0] != found.most[0])
        shm_fatal(function,
                  "other PEs call another function of the heap; all PEs make the same calls in the same order");
    for (int i = 1; i < 3; i++)
        if (found.least[i] != found.most[i])
            shm_fatal(function, "argument %d is %zu here, and from %llu to %llu at the PEs; all PEs give the same", i,
                      i == 1 ? first : second, (unsigned long long)found.least[i], (unsigned long long)found.most[i]);
    return found.failed == 0;
}

static void say_full(size_t size, const char *function)
{
    if (shm.pe == 0)
        shm_log(
            "%s: %zu bytes do not fit into the symmetric heap: of its %zu bytes %zu are taken, the largest free piece has %zu; "
            "raise SHMEM_SYMMETRIC_SIZE",
            function, size, shm.limit, heap.blocks.taken, rt_blocks_largest(&heap.blocks));
}

static void *allocate(char call, size_t alignment, size_t size, const char *function)
{
    if (size == 0)
        return NULL;
    rt_block_t *block = rt_blocks_take(&heap.blocks, alignment, size);
    const int has_pages = block != NULL && commit_to(block->offset + block->size) == 0;
    if (block == NULL)
        say_full(size, function);
    else if (!has_pages)
        shm_log("%s: %zu bytes of the symmetric heap (SHMEM_SYMMETRIC_SIZE): %s", function, size, rt.error);
    if (all_agree(call, size, alignment, !has_pages, function))
        return (void *)(shm.heap + block->offset);
    if (block != NULL)
        (void)rt_blocks_give(&heap.blocks, block);
    return NULL;
}

/* ---- the calls */

static void begin(const char *function)
{
    shm_check_ready(function);
    rt_enter();
}

void *shm_malloc(size_t alignment, size_t size, const char *function)
{
    begin(function);
    shm_drain(&shm_default);
    void *block = allocate('m', alignment, size, function);
    rt_leave();
    return block;
}

/* Hints, also those of later versions: all memory is good for atomics and signals. */
void *shm_malloc_with_hints(size_t size, long hints, const char *function)
{
    (void)hints;
    return shm_malloc(0, size, function);
}

void *shm_calloc(size_t count, size_t size, const char *function)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = SIZE_MAX;
    begin(function);
    shm_drain(&shm_default);
    void *block = allocate('c', 0, bytes, function);
    if (block != NULL) {
        memset(block, 0, bytes);
        (void)all_agree('C', 0, 0, 0, function); /* nobody writes to what another one still clears */
    }
    rt_leave();
    return block;
}

void *shm_align(size_t alignment, size_t size, const char *function)
{
    if (alignment == 0 || (alignment & (alignment - 1)) != 0)
        shm_fatal(function, "argument alignment is %zu, which is no power of two", alignment);
    return shm_malloc(alignment, size, function);
}

static rt_block_t *find(const void *address, const char *argument, const char *function)
{
    rt_block_t *block = rt_blocks_at(&heap.blocks, (uintptr_t)address - shm.heap);
    if (block == NULL)
        shm_fatal(function, "argument %s is %p, which shmem_malloc has not given or which was freed before", argument,
                  address);
    return block;
}

void shm_free(void *address, const char *function)
{
    begin(function);
    if (address != NULL) {
        rt_block_t *block = find(address, "ptr", function);
        shm_drain(&shm_default);
        (void)all_agree('f', block->offset, 0, 0, function); /* nobody uses it any more */
        (void)rt_blocks_give(&heap.blocks, block);
    }
    rt_leave();
}

/* What grows moves. */
static void *resize(rt_block_t *block, size_t size, const char *function)
{
    void *from = (void *)(shm.heap + block->offset);
    const size_t kept = block->size < size ? block->size : size;
    (void)all_agree('r', block->offset, size, 0, function);
    if (size <= block->size)
        return from;
    void *to = allocate('R', 0, size, function);
    if (to == NULL)
        return NULL;
    memcpy(to, from, kept);
    (void)all_agree('S', 0, 0, 0, function);
    (void)rt_blocks_give(&heap.blocks, block);
    return to;
}

void *shm_realloc(void *address, size_t size, const char *function)
{
    if (address == NULL)
        return shm_malloc(0, size, function);
    if (size == 0) {
        shm_free(address, function);
        return NULL;
    }
    begin(function);
    rt_block_t *block = find(address, "ptr", function);
    shm_drain(&shm_default);
    void *moved = resize(block, size, function);
    rt_leave();
    return moved;
}
