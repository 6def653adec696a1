/* SPDX-License-Identifier: Apache-2.0
 * own_malloc.c - a program with a malloc of its own, as one that is linked with another allocator (heaps.py runs it). Blocks come
 * one after the other from a pool, and are never used again.
 */
#include <mpi.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define POOL ((size_t)256 << 20)
#define HEAD 16u /* the block's size stands in front of it */

#define IN_FRONT __attribute__((visibility("default"))) /* of libc's function of this name, for all libraries */

static _Alignas(64) unsigned char pool[POOL];
static _Atomic size_t used;

static void *take(size_t alignment, size_t size)
{
    alignment = alignment < HEAD ? HEAD : alignment;
    if (size > POOL || alignment > POOL)
        return NULL;
    const size_t start = atomic_fetch_add(&used, (size + alignment + 2 * HEAD) / HEAD * HEAD);
    if (start > POOL || POOL - start < size + alignment + HEAD)
        return NULL;
    const uintptr_t block = ((uintptr_t)pool + start + HEAD + alignment - 1) / alignment * alignment;
    memcpy((void *)(block - HEAD), &size, sizeof(size));
    return (void *)block;
}

IN_FRONT void *malloc(size_t size)
{
    return take(HEAD, size);
}

IN_FRONT void free(void *block)
{
    (void)block;
}

/* The pool's bytes are zeros. */
IN_FRONT void *calloc(size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : take(HEAD, bytes);
}

IN_FRONT void *realloc(void *block, size_t size)
{
    size_t old = 0;
    void *larger = take(HEAD, size);
    if (block != NULL)
        memcpy(&old, (unsigned char *)block - HEAD, sizeof(old));
    if (larger != NULL && block != NULL)
        memcpy(larger, block, old < size ? old : size);
    return larger;
}

IN_FRONT void *aligned_alloc(size_t alignment, size_t size)
{
    return take(alignment, size);
}

IN_FRONT int posix_memalign(void **block_p, size_t alignment, size_t size)
{
    *block_p = take(alignment, size);
    return *block_p == NULL ? ENOMEM : 0;
}

int main(int argc, char **argv)
{
    int one = 1;
    int sum = 0;
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum != size;
}
