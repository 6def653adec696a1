/* SPDX-License-Identifier: Apache-2.0
 * memory.c - see memory.h.
 */
#include "rt/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "rt/blocks.h"
#include "rt/host.h"
#include "rt/node.h"
#include "rt/rt.h"

#ifdef __has_feature /* clang */
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define GUARD RT_MEMORY_LINE /* bytes behind a block */
#else
#define GUARD 0u
#define ASAN_POISON_MEMORY_REGION(address, length) ((void)(address), (void)(length))
#define ASAN_UNPOISON_MEMORY_REGION(address, length) ((void)(address), (void)(length))
#endif

#define STEP ((size_t)256 << 10)     /* pages are asked for in such steps, where there are enough */
#define OWN_LEAST ((size_t)16 << 20) /* of addresses: a smaller arena of its own is not worth it */

typedef struct arena {
    struct arena *next;
    vbn_context_t *context; /* that the runtime has left open for it (Y3); NULL: the runtime's */
    vbn_mem_t *mem;
    unsigned char *base;
    size_t at; /* of base in mem */
    rt_blocks_t blocks;
    size_t kept;    /* about so many bytes of free blocks have pages */
    size_t keeps;   /* they may have so many (Y2) */
    size_t reached; /* bytes from base that were handed out once, at most */
    int is_node;
} arena_t;

/* What ordinary memory was handed out. */
typedef struct ordinary {
    struct ordinary *next;
    void *address;
} ordinary_t;

static arena_t *arenas;
static ordinary_t *ordinaries;

/* ---- arenas */

static arena_t *add_arena(vbn_mem_t *mem, size_t at, size_t size, int is_node)
{
    arena_t *arena = calloc(1, sizeof(*arena));
    unsigned char *base = (unsigned char *)vbn_mem_address(mem) + at;
    if (arena == NULL || rt_blocks_open(&arena->blocks, (uintptr_t)base, size, RT_MEMORY_LINE) != 0) {
        free(arena);
        return NULL;
    }
    arena->mem = mem;
    arena->base = base;
    arena->at = at;
    arena->is_node = is_node;
    arena->keeps = RT_MEMORY_KEPT;
    arena->next = arenas;
    arenas = arena;
    return arena;
}

static arena_t *open_in_node(void)
{
    const size_t part = (size_t)(rt_node.parts - rt_node.base) + ((size_t)rt_node.index << rt_node.shift);
    const size_t end = rt_node_quarter();
    return end <= RT_NODE_PIECES ? NULL : add_arena(rt_node.mem, part + RT_NODE_PIECES, end - RT_NODE_PIECES, 1);
}

static arena_t *open_own(void)
{
    vbn_mem_t *mem = NULL;
    size_t size = OWN_LEAST;
    while (size < rt_host_bytes() && 2 * size <= rt_most_addresses() / 4)
        size *= 2;
    while (vbn_mem_reserve(rt.context, size, &mem) != VBN_OK)
        if ((size /= 2) < OWN_LEAST)
            return NULL;
    arena_t *arena = add_arena(mem, 0, size, 0);
    if (arena == NULL)
        (void)vbn_mem_free(mem);
    return arena;
}

/* The one that memory comes from now; NULL: none can be had. Where some ranks may not have opened the runtime yet, nobody waits
 * for the node's first one. */
static arena_t *arena_now(void)
{
    const int is_node = rt_node.state == RT_NODE_READY || (rt.fenced && rt_node_open() > 0);
    for (arena_t *one = arenas; one != NULL; one = one->next)
        if (one->context == NULL && one->is_node == is_node)
            return one;
    return is_node ? open_in_node() : open_own();
}

static arena_t *arena_of(const void *address)
{
    for (arena_t *one = arenas; one != NULL; one = one->next)
        if ((uintptr_t)address - (uintptr_t)one->base < one->blocks.size)
            return one;
    return NULL;
}

static int shares_context(const arena_t *arena)
{
    for (const arena_t *one = arenas; one != NULL; one = one->next)
        if (one->context == arena->context)
            return 1;
    return 0;
}

static void remove_arena(arena_t *arena)
{
    arena_t **at = &arenas;
    while (*at != arena)
        at = &(*at)->next;
    *at = arena->next;
    ASAN_UNPOISON_MEMORY_REGION(arena->base, arena->reached);
    rt_blocks_close(&arena->blocks);
    if (arena->context != NULL || !arena->is_node)
        (void)vbn_mem_free(arena->mem);
    if (arena->context != NULL && !shares_context(arena))
        (void)vbn_close(arena->context);
    free(arena);
}

int rt_memory_close(void)
{
    int stays = 0;
    for (arena_t *one = arenas, *next; one != NULL; one = next) {
        next = one->next;
        if (one->context != NULL)
            continue;
        if (one->blocks.count == 0) {
            remove_arena(one);
            continue;
        }
        one->context = rt.context;
        stays |= RT_MEMORY_CONTEXT | (one->is_node ? RT_MEMORY_NODE : 0);
    }
    return stays;
}

/* ---- pages */

/* Of a free block, as far as they may exist. */
static void give_pages_back(arena_t *arena, const rt_block_t *block)
{
    const size_t reached = (arena->reached + STEP - 1) / STEP * STEP;
    const size_t end = block->offset + block->size < reached ? block->offset + block->size : reached;
    if (end > block->offset)
        (void)vbn_mem_uncommit(arena->mem, arena->at + block->offset, end - block->offset);
}

/* Those that nobody uses. */
static void give_all_back(arena_t *arena)
{
    for (const rt_block_t *one = arena->blocks.first; one != NULL; one = one->after)
        if (!one->used)
            give_pages_back(arena, one);
    arena->kept = 0;
}

static int commit(const arena_t *arena, const rt_block_t *block)
{
    const size_t end = block->offset + block->size;
    size_t step = (end + STEP - 1) / STEP * STEP;
    if (step > arena->blocks.size)
        step = arena->blocks.size;
    if (vbn_mem_commit(arena->mem, arena->at + block->offset, step - block->offset) == VBN_OK ||
        vbn_mem_commit(arena->mem, arena->at + block->offset, block->size) == VBN_OK)
        return 0;
    for (arena_t *one = arenas; one != NULL; one = one->next)
        give_all_back(one);
    return vbn_mem_commit(arena->mem, arena->at + block->offset, block->size) == VBN_OK
               ? 0
               : rt_fail("%zu bytes: %s", block->size, vbn_error_text());
}

/* Y2: the block needs pages that were given back too early, if it lies where blocks were handed out. */
static void keep_more(arena_t *arena, const rt_block_t *block)
{
    const size_t ranks = (size_t)(arena->is_node ? rt_node.count : rt.size > 0 ? rt.size : 1);
    const size_t missed = block->offset < arena->reached && block->size > arena->kept ? block->size - arena->kept : 0;
    if (missed == 0)
        return;
    const uint64_t room = vbn_mem_room(), host = rt_host_bytes();
    const size_t most = (size_t)(room < host ? room : host) / RT_MEMORY_SHARE / ranks;
    if (arena->keeps < most)
        arena->keeps = missed < most - arena->keeps ? arena->keeps + missed : most;
}

/* ---- blocks */

static int fails_to_fit(const arena_t *arena, size_t size)
{
    return rt_fail(
        "%zu bytes do not fit: of %zu bytes of addresses for windows and MPI_Alloc_mem %zu are taken, and the largest "
        "free piece has %zu; free some, or ask for less",
        size, arena->blocks.size, arena->blocks.taken, rt_blocks_largest(&arena->blocks));
}

static int alloc_ordinary(size_t size, size_t alignment, void **address_p)
{
    ordinary_t *ordinary = malloc(sizeof(*ordinary));
    if (ordinary == NULL || posix_memalign(&ordinary->address, alignment, size > 0 ? size : 1) != 0) {
        free(ordinary);
        return rt_fail("the system has no %zu bytes", size);
    }
    ordinary->next = ordinaries;
    ordinaries = ordinary;
    *address_p = ordinary->address;
    return 0;
}

static int hand_out(arena_t *arena, rt_block_t *block, size_t size, void **address_p)
{
    unsigned char *address = arena->base + block->offset;
    const size_t before = arena->reached;
    keep_more(arena, block);
    if (block->offset + block->size > before)
        arena->reached = block->offset + block->size;
    if (commit(arena, block) != 0) {
        give_pages_back(arena, rt_blocks_give(&arena->blocks, block)); /* those that there were */
        arena->reached = before;
        return -1;
    }
    arena->kept -= arena->kept < block->size ? arena->kept : block->size;
    ASAN_UNPOISON_MEMORY_REGION(address, size);
    ASAN_POISON_MEMORY_REGION(address + size, block->size - size);
    *address_p = address;
    return 0;
}

int rt_memory_alloc(size_t size, size_t alignment, void **address_p)
{
    arena_t *arena = arena_now();
    alignment = alignment < RT_MEMORY_LINE ? RT_MEMORY_LINE : alignment;
    rt_block_t *block = arena == NULL || size > arena->blocks.size
                            ? NULL
                            : rt_blocks_take(&arena->blocks, alignment, size > 0 ? size + GUARD : RT_MEMORY_LINE);
    if (block != NULL)
        return hand_out(arena, block, size, address_p);
    if (arena == NULL || arena->blocks.size < rt_host_bytes())
        return alloc_ordinary(size, alignment, address_p);
    return fails_to_fit(arena, size);
}

static int free_ordinary(const void *address)
{
    for (ordinary_t **at = &ordinaries; *at != NULL; at = &(*at)->next) {
        ordinary_t *one = *at;
        if (one->address != address)
            continue;
        *at = one->next;
        free(one->address);
        free(one);
        return 0;
    }
    return rt_fail("%p is no memory that MPI_Alloc_mem has given, or it was freed before", address);
}

void rt_memory_find(const void *address, rt_memory_place_t *place)
{
    const arena_t *arena = arena_of(address);
    *place = (rt_memory_place_t){0};
    if (arena == NULL)
        return;
    place->mem = arena->mem;
    place->offset = arena->at + (size_t)((const unsigned char *)address - arena->base);
    place->is_node = arena->is_node;
}

void rt_memory_end_keys(const void *address)
{
    const arena_t *arena = arena_of(address);
    const rt_block_t *block = arena == NULL ? NULL
                                            : rt_blocks_at(&arena->blocks,
                                                           (size_t)((const unsigned char *)address - arena->base));
    if (block != NULL)
        (void)vbn_mem_uncommit(arena->mem, arena->at + block->offset, block->size);
}

int rt_memory_free(void *address)
{
    arena_t *arena = arena_of(address);
    rt_block_t *block = arena == NULL ? NULL
                                      : rt_blocks_at(&arena->blocks, (size_t)((unsigned char *)address - arena->base));
    if (block == NULL)
        return free_ordinary(address);
    arena->kept += block->size;
    ASAN_POISON_MEMORY_REGION(address, block->size);
    (void)rt_blocks_give(&arena->blocks, block);
    if (arena->kept > arena->keeps)
        give_all_back(arena);
    if (arena->context != NULL && arena->blocks.count == 0)
        remove_arena(arena);
    return 0;
}
