/* SPDX-License-Identifier: Apache-2.0
 * heap.c - the symmetric heap: which parts of it are handed out. The same calls give the same offsets at every PE, as the
 * blocks are kept outside of the heap and chosen by sizes alone. Blocks are sorted by their place; free ones hang in lists of
 * sizes, used ones are found by a hash of their place.
 */
#include <stdio.h>
#include <stdlib.h>

#include "shmem/src/coll.h"
#include "shmem/src/entry.h"

#define ALIGNED 64u /* a cache line: two blocks never share one */
#define CLASSES 64
#define STEP ((size_t)2 << 20) /* pages are allocated in such steps */

typedef struct block {
    struct block *before; /* by place */
    struct block *after;
    struct block *next; /* in the list of its size, or of its hash */
    struct block *previous;
    size_t offset;
    size_t size;
    int used;
} block_t;

static struct {
    block_t *first;
    block_t *free_ones[CLASSES];
    block_t **table; /* used ones */
    size_t slots;
    size_t count;     /* used ones */
    size_t committed; /* bytes whose pages exist */
    size_t taken;     /* bytes handed out */
} heap;

static unsigned class_of(size_t size)
{
    return 63u - (unsigned)__builtin_clzll(size | 1);
}

static void link_into(block_t **list, block_t *block)
{
    block->previous = NULL;
    block->next = *list;
    if (*list != NULL)
        (*list)->previous = block;
    *list = block;
}

static void unlink_from(block_t **list, block_t *block)
{
    if (block->previous != NULL)
        block->previous->next = block->next;
    else
        *list = block->next;
    if (block->next != NULL)
        block->next->previous = block->previous;
}

static block_t **slot_of(size_t offset)
{
    return &heap.table[(offset / ALIGNED * 0x9e3779b97f4a7c15ull >> 20) % heap.slots];
}

static int grow_table(void)
{
    const size_t slots = heap.slots == 0 ? 64 : heap.slots * 4;
    block_t **table = calloc(slots, sizeof(block_t *));
    if (table == NULL)
        return -1;
    free(heap.table);
    heap.table = table;
    heap.slots = slots;
    for (block_t *one = heap.first; one != NULL; one = one->after)
        if (one->used)
            link_into(slot_of(one->offset), one);
    return 0;
}

void shm_heap_open(void)
{
    memset(&heap, 0, sizeof(heap));
    const size_t size = shm.limit / ALIGNED * ALIGNED;
    if (grow_table() != 0 || size == 0)
        return;
    heap.first = calloc(1, sizeof(*heap.first));
    if (heap.first == NULL)
        return;
    heap.first->size = size;
    link_into(&heap.free_ones[class_of(size)], heap.first);
}

void shm_heap_close(void)
{
    for (block_t *one = heap.first; one != NULL;) {
        block_t *after = one->after;
        free(one);
        one = after;
    }
    free(heap.table);
    memset(&heap, 0, sizeof(heap));
    shm.used = 0;
}

/* The block becomes two, the second one of what lies behind `size`. */
static int split(block_t *block, size_t size)
{
    block_t *rest = calloc(1, sizeof(*rest));
    if (rest == NULL)
        return -1;
    rest->offset = block->offset + size;
    rest->size = block->size - size;
    rest->before = block;
    rest->after = block->after;
    if (block->after != NULL)
        block->after->before = rest;
    block->after = rest;
    block->size = size;
    return 0;
}

static size_t gap_of(const block_t *block, size_t alignment)
{
    return (alignment - block->offset % alignment) % alignment;
}

static block_t *find_free(size_t alignment, size_t size)
{
    for (unsigned class = class_of(size); class < CLASSES; class++)
        for (block_t *one = heap.free_ones[class]; one != NULL; one = one->next)
            if (one->size >= size && one->size - size >= gap_of(one, alignment))
                return one;
    return NULL;
}

static block_t *take(size_t alignment, size_t size)
{
    block_t *block = find_free(alignment, size);
    if (block == NULL)
        return NULL;
    const size_t gap = gap_of(block, alignment);
    unlink_from(&heap.free_ones[class_of(block->size)], block);
    if (gap > 0 && split(block, gap) == 0) {
        link_into(&heap.free_ones[class_of(gap)], block);
        block = block->after;
    }
    if (block->size > size && split(block, size) == 0)
        link_into(&heap.free_ones[class_of(block->after->size)], block->after);
    block->used = 1;
    if (++heap.count > heap.slots)
        (void)grow_table(); /* links the block, too */
    else
        link_into(slot_of(block->offset), block);
    heap.taken += block->size;
    return block;
}

static void swallow(block_t *block)
{
    block_t *gone = block->after;
    block->size += gone->size;
    block->after = gone->after;
    if (gone->after != NULL)
        gone->after->before = block;
    free(gone);
}

static void give(block_t *block)
{
    unlink_from(slot_of(block->offset), block);
    heap.count--;
    heap.taken -= block->size;
    block->used = 0;
    if (block->after != NULL && !block->after->used) {
        unlink_from(&heap.free_ones[class_of(block->after->size)], block->after);
        swallow(block);
    }
    if (block->before != NULL && !block->before->used) {
        block = block->before;
        unlink_from(&heap.free_ones[class_of(block->size)], block);
        swallow(block);
    }
    link_into(&heap.free_ones[class_of(block->size)], block);
}

static block_t *block_at(const void *address)
{
    const size_t offset = (uintptr_t)address - shm.heap;
    if (offset >= shm.limit || heap.slots == 0)
        return NULL;
    for (block_t *one = *slot_of(offset); one != NULL; one = one->next)
        if (one->offset == offset)
            return one;
    return NULL;
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
    size_t largest = 0;
    for (const block_t *one = heap.first; one != NULL; one = one->after)
        largest = !one->used && one->size > largest ? one->size : largest;
    if (shm.pe == 0)
        shm_log(
            "%s: %zu bytes do not fit into the symmetric heap: of its %zu bytes %zu are taken, the largest free piece has %zu; "
            "raise SHMEM_SYMMETRIC_SIZE",
            function, size, shm.limit, heap.taken, largest);
}

static void *allocate(char call, size_t alignment, size_t size, const char *function)
{
    if (size == 0)
        return NULL;
    const size_t rounded = size > SIZE_MAX - ALIGNED ? size : (size + ALIGNED - 1) / ALIGNED * ALIGNED;
    block_t *block = take(alignment < ALIGNED ? ALIGNED : alignment, rounded);
    const int has_pages = block != NULL && commit_to(block->offset + block->size) == 0;
    if (block == NULL)
        say_full(size, function);
    else if (!has_pages)
        shm_log("%s: %zu bytes of the symmetric heap (SHMEM_SYMMETRIC_SIZE): %s", function, size, rt.error);
    if (all_agree(call, size, alignment, !has_pages, function))
        return (void *)(shm.heap + block->offset);
    if (block != NULL)
        give(block);
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

static block_t *find(const void *address, const char *argument, const char *function)
{
    block_t *block = block_at(address);
    if (block == NULL)
        shm_fatal(function, "argument %s is %p, which shmem_malloc has not given or which was freed before", argument,
                  address);
    return block;
}

void shm_free(void *address, const char *function)
{
    begin(function);
    if (address != NULL) {
        block_t *block = find(address, "ptr", function);
        shm_drain(&shm_default);
        (void)all_agree('f', block->offset, 0, 0, function); /* nobody uses it any more */
        give(block);
    }
    rt_leave();
}

/* What grows moves. */
static void *resize(block_t *block, size_t size, const char *function)
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
    give(block);
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
    block_t *block = find(address, "ptr", function);
    shm_drain(&shm_default);
    void *moved = resize(block, size, function);
    rt_leave();
    return moved;
}
