/* SPDX-License-Identifier: Apache-2.0
 * malloc.c - the functions of the C library that this library stands before. What is not the heap's goes to the next allocator,
 * which is looked up at the first call: that is before any constructor.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heap/heap.h"

#define EXPORT __attribute__((visibility("default")))
#define EARLY 16384u /* bytes for what the loader needs while it looks up names */

typedef struct next {
    void *(*malloc)(size_t size);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *block, size_t size);
    void (*free)(void *block);
    int (*posix_memalign)(void **block_p, size_t alignment, size_t size);
    void *(*aligned_alloc)(size_t alignment, size_t size);
    void *(*memalign)(size_t alignment, size_t size);
    void *(*valloc)(size_t size);
    void *(*pvalloc)(size_t size);
    size_t (*usable_size)(void *block);
} next_t;

static next_t found;
static int looking; /* there is one thread then */
static int complete;
static unsigned char early[EARLY] __attribute__((aligned(16)));
static size_t early_used;

static void look_up(void *function_p, const char *name)
{
    void *address = dlsym(RTLD_NEXT, name);
    memcpy(function_p, &address, sizeof(address));
}

static const next_t *look(void)
{
    looking = 1;
    look_up(&found.malloc, "malloc");
    look_up(&found.calloc, "calloc");
    look_up(&found.realloc, "realloc");
    look_up(&found.free, "free");
    look_up(&found.posix_memalign, "posix_memalign");
    look_up(&found.aligned_alloc, "aligned_alloc");
    look_up(&found.memalign, "memalign");
    look_up(&found.valloc, "valloc");
    look_up(&found.pvalloc, "pvalloc");
    look_up(&found.usable_size, "malloc_usable_size");
    looking = 0;
    complete = 1;
    return &found;
}

static const next_t *next(void)
{
    return __builtin_expect(complete, 1) ? &found : look();
}

static void *take_early(size_t size)
{
    const size_t bytes = (size + 15) & ~(size_t)15;
    if (bytes > EARLY - early_used)
        return NULL;
    early_used += bytes;
    return early + early_used - bytes;
}

static int is_early(const void *block)
{
    return (uintptr_t)block - (uintptr_t)early < EARLY;
}

EXPORT void *malloc(size_t size)
{
    void *block = looking ? take_early(size) : heap_take(0, size);
    return block != NULL || looking ? block : next()->malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
    size_t bytes;
    void *block = NULL;
    if (!__builtin_mul_overflow(count, size, &bytes))
        block = looking ? take_early(bytes) : heap_take_zeros(bytes);
    return block != NULL || looking ? block : next()->calloc(count, size);
}

EXPORT void free(void *block)
{
    if (heap_has(block))
        heap_give(block);
    else if (block != NULL && !is_early(block))
        next()->free(block);
}

static void *move(void *block, size_t bytes, size_t size, void *to)
{
    if (to != NULL) {
        memcpy(to, block, bytes < size ? bytes : size);
        free(block);
    }
    return to;
}

EXPORT void *realloc(void *block, size_t size)
{
    if (block == NULL)
        return malloc(size);
    if (is_early(block))
        return move(block, (size_t)(early + EARLY - (unsigned char *)block), size, malloc(size));
    if (!heap_has(block)) {
        void *larger = heap_take(0, size);
        return larger != NULL ? move(block, next()->usable_size(block), size, larger) : next()->realloc(block, size);
    }
    if (size == 0) {
        free(block);
        return NULL;
    }
    return heap_resize(block, size) ? block : move(block, heap_bytes(block), size, malloc(size));
}

EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (!__builtin_mul_overflow(count, size, &bytes))
        return realloc(block, bytes);
    errno = ENOMEM;
    return NULL;
}

static int is_power(size_t alignment)
{
    return alignment != 0 && (alignment & (alignment - 1)) == 0;
}

EXPORT int posix_memalign(void **block_p, size_t alignment, size_t size)
{
    void *block = is_power(alignment) && alignment % sizeof(void *) == 0 ? heap_take(alignment, size) : NULL;
    if (block == NULL)
        return next()->posix_memalign(block_p, alignment, size);
    *block_p = block;
    return 0;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    void *block = is_power(alignment) ? heap_take(alignment, size) : NULL;
    return block != NULL ? block : next()->aligned_alloc(alignment, size);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    void *block = is_power(alignment) ? heap_take(alignment, size) : NULL;
    return block != NULL ? block : next()->memalign(alignment, size);
}

EXPORT void *valloc(size_t size)
{
    void *block = heap_take((size_t)sysconf(_SC_PAGESIZE), size);
    return block != NULL ? block : next()->valloc(size);
}

EXPORT void *pvalloc(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *block = size <= SIZE_MAX - page ? heap_take(page, (size + page - 1) / page * page) : NULL;
    return block != NULL ? block : next()->pvalloc(size);
}

EXPORT size_t malloc_usable_size(void *block)
{
    if (block == NULL || is_early(block))
        return 0;
    return heap_has(block) ? heap_bytes(block) : next()->usable_size(block);
}
