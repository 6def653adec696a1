/* SPDX-License-Identifier: Apache-2.0
 * heap.c - see heap.h.
 */
#include "heap/heap.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "rt/blocks.h"
#include "rt/heap.h"

#define LINE 64u                  /* two blocks share no cache line */
#define PAGE 4096u                /* the least there is: what is smaller is not given back */
#define RETURNED 17u              /* free blocks of less than 2^RETURNED bytes keep their pages */
#define EMPTIED ((size_t)1 << 20) /* from here on the kernel makes zeros faster than memset finds old pages */

_Static_assert(RT_HEAP_PROBE >= HEAP_LEAST, "a block of this library");

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* The thread has the mutex: its own small needs, and those of libc, are the next allocator's. */
static __thread int inside __attribute__((tls_model("initial-exec")));

/* Guarded by the mutex, but for `open`. */
static heap_memory_t memory = {.fd = -1};
static rt_blocks_t blocks;
static size_t kept;         /* about so many bytes were freed since pages went back */
static const char *refused; /* there is none: why */
static _Atomic size_t open; /* bytes; 0: not there (yet) */

void heap_lock(void)
{
    pthread_mutex_lock(&mutex);
    inside = 1;
}

void heap_unlock(void)
{
    inside = 0;
    pthread_mutex_unlock(&mutex);
}

heap_memory_t *heap_mapped(void)
{
    return atomic_load_explicit(&open, memory_order_acquire) > 0 ? &memory : NULL;
}

const rt_block_t *heap_blocks(void)
{
    return blocks.first;
}

/* Mutex held. */
static int is_open(void)
{
    if (atomic_load_explicit(&open, memory_order_relaxed) > 0)
        return 1;
    if (refused != NULL)
        return 0;
    refused = heap_map(&memory);
    if (refused == NULL && rt_blocks_open(&blocks, (uintptr_t)memory.base, memory.size, LINE) != 0)
        refused = "no memory is left for its table";
    if (refused == NULL)
        atomic_store_explicit(&open, memory.size, memory_order_release); /* pairs with heap_has */
    return refused == NULL;
}

int heap_has(const void *block)
{
    const size_t size = atomic_load_explicit(&open, memory_order_acquire);
    return size > 0 && (uintptr_t)block - (uintptr_t)memory.base < size;
}

/* Mutex held. Of a block that free() got: a wrong address ends in abort(), as libc's does. */
static rt_block_t *block_at(const void *address)
{
    rt_block_t *block = rt_blocks_at(&blocks, (size_t)((const unsigned char *)address - memory.base));
    if (block == NULL) {
        heap_say("free or realloc of an address that malloc has not returned", "the program ends");
        __builtin_trap();
    }
    return block;
}

static rt_block_t *take(size_t alignment, size_t size, size_t *old_p)
{
    rt_block_t *block = is_open() ? rt_blocks_take(&blocks, alignment, size) : NULL;
    if (block == NULL)
        return NULL;
    *old_p = block->offset < memory.reached ? memory.reached - block->offset : 0;
    if (block->offset + block->size > memory.reached)
        memory.reached = block->offset + block->size;
    kept -= kept < block->size ? kept : block->size;
    return block;
}

/* old_p: so many bytes of it may not be zeros. */
static void *take_locked(size_t alignment, size_t size, size_t *old_p)
{
    if (size < HEAP_LEAST || inside)
        return NULL;
    heap_lock();
    const rt_block_t *block = take(alignment, size, old_p);
    void *address = block != NULL ? memory.base + block->offset : NULL;
    heap_unlock();
    return address;
}

void *heap_take(size_t alignment, size_t size)
{
    size_t old;
    return take_locked(alignment, size, &old);
}

void *heap_take_zeros(size_t size)
{
    size_t old = 0;
    unsigned char *address = take_locked(0, size, &old);
    if (address == NULL || old == 0)
        return address;
    old = old < size ? old : size;
    const size_t head = -(uintptr_t)address & (PAGE - 1);
    if (old < EMPTIED)
        return memset(address, 0, old);
    const size_t pages = (old - head) / PAGE * PAGE;
    heap_empty(&memory, (size_t)(address + head - memory.base), pages);
    memset(address, 0, head);
    memset(address + head + pages, 0, old - head - pages);
    return address;
}

/* Mutex held. H2. */
static void give_pages_back(void)
{
    kept = 0;
    for (unsigned class = RETURNED; class < RT_BLOCKS_CLASSES; class++)
        for (const rt_block_t *one = blocks.free_ones[class]; one != NULL; one = one->next) {
            const size_t start = (one->offset + PAGE - 1) / PAGE * PAGE;
            const size_t end = one->offset + one->size < memory.reached ? one->offset + one->size : memory.reached;
            if (end / PAGE * PAGE > start)
                heap_empty(&memory, start, end / PAGE * PAGE - start);
        }
}

void heap_give(void *address)
{
    const int error = errno; /* free() leaves it alone */
    heap_lock();
    rt_block_t *block = block_at(address);
    kept += block->size;
    (void)rt_blocks_give(&blocks, block);
    if (kept > HEAP_KEPT)
        give_pages_back();
    heap_unlock();
    errno = error;
}

size_t heap_bytes(const void *address)
{
    heap_lock();
    const size_t bytes = block_at(address)->size;
    heap_unlock();
    return bytes;
}

int heap_resize(void *address, size_t size)
{
    heap_lock();
    const rt_block_t *block = block_at(address);
    const int fits = size >= HEAP_LEAST && size <= block->size && size >= block->size / 2;
    heap_unlock();
    return fits;
}

__attribute__((visibility("default"))) int verbena_heap_share(rt_heap_share_t *share);

/* Mutex held. NULL: none. */
static const char *why_not_shared(void)
{
    if (!is_open())
        return refused;
    if (memory.fd < 0)
        return "this process is a child of fork(), whose heap is a copy";
    if (!heap_has_file(&memory))
        return "the program has closed its descriptor; let it close those alone that it has opened";
    return NULL;
}

int verbena_heap_share(rt_heap_share_t *share)
{
    heap_lock();
    share->cause = why_not_shared();
    const int has = share->cause == NULL;
    if (has)
        *share = (rt_heap_share_t){.fd = memory.fd, .base = memory.base, .size = memory.size};
    heap_unlock();
    return has ? 0 : -1;
}
