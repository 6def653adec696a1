/* SPDX-License-Identifier: Apache-2.0
 * memory.c - the program's allocators. What a call returns, and results, come from them; all other memory is the library's own. */
#include <stdlib.h>

#include "compat/compat.h"

static void *standard_malloc(const memcached_st *ptr, const size_t size, void *context)
{
    (void)ptr;
    (void)context;
    return malloc(size);
}

static void standard_free(const memcached_st *ptr, void *mem, void *context)
{
    (void)ptr;
    (void)context;
    free(mem);
}

static void *standard_realloc(const memcached_st *ptr, void *mem, const size_t size, void *context)
{
    (void)ptr;
    (void)context;
    return realloc(mem, size);
}

static void *standard_calloc(const memcached_st *ptr, size_t nelem, const size_t elsize, void *context)
{
    (void)ptr;
    (void)context;
    return calloc(nelem, elsize);
}

void memory_default(struct memcached_allocator_t *allocators)
{
    *allocators = (struct memcached_allocator_t){
        .malloc = standard_malloc, .free = standard_free, .realloc = standard_realloc, .calloc = standard_calloc};
}

void *memory_take(const memcached_st *ptr, size_t bytes)
{
    return ptr == NULL ? malloc(bytes) : ptr->allocators.malloc(ptr, bytes, ptr->allocators.context);
}

void memory_give(const memcached_st *ptr, void *memory)
{
    if (ptr == NULL)
        free(memory);
    else if (memory != NULL)
        ptr->allocators.free(ptr, memory, ptr->allocators.context);
}

rc_t memcached_set_memory_allocators(memcached_st *ptr, memcached_malloc_fn mem_malloc, memcached_free_fn mem_free,
                                     memcached_realloc_fn mem_realloc, memcached_calloc_fn mem_calloc, void *context)
{
    if (ptr == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    bool none = mem_malloc == NULL && mem_free == NULL && mem_realloc == NULL && mem_calloc == NULL;
    if (none) {
        memory_default(&ptr->allocators);
        return MEMCACHED_SUCCESS;
    }
    if (mem_malloc == NULL || mem_free == NULL || mem_realloc == NULL || mem_calloc == NULL)
        return fail(ptr, MEMCACHED_INVALID_ARGUMENTS, "give all of malloc, free, realloc and calloc, or none");
    ptr->allocators = (struct memcached_allocator_t){
        .malloc = mem_malloc, .free = mem_free, .realloc = mem_realloc, .calloc = mem_calloc, .context = context};
    return MEMCACHED_SUCCESS;
}

void memcached_get_memory_allocators(const memcached_st *ptr, memcached_malloc_fn *mem_malloc,
                                     memcached_free_fn *mem_free, memcached_realloc_fn *mem_realloc,
                                     memcached_calloc_fn *mem_calloc)
{
    if (ptr == NULL)
        return;
    if (mem_malloc != NULL)
        *mem_malloc = ptr->allocators.malloc;
    if (mem_free != NULL)
        *mem_free = ptr->allocators.free;
    if (mem_realloc != NULL)
        *mem_realloc = ptr->allocators.realloc;
    if (mem_calloc != NULL)
        *mem_calloc = ptr->allocators.calloc;
}

void *memcached_get_memory_allocators_context(const memcached_st *ptr)
{
    return ptr == NULL ? NULL : ptr->allocators.context;
}
