/* SPDX-License-Identifier: Apache-2.0
 * heap.h - mpi.heap=node: large blocks of the program's own malloc lie in memory that the ranks of the node may map. The preloaded
 * library of mpi/heap is their allocator, from the start of the process on; the runtime makes that memory known to the core, which
 * then copies messages out of such blocks once, and without the kernel.
 */
#ifndef VERBENA_RT_HEAP_H
#define VERBENA_RT_HEAP_H

#include <stddef.h>

/* What the library shares: a sealed memfd, and where all of it is mapped. It stays until the process ends. */
typedef struct rt_heap_share {
    int fd;
    void *base;
    size_t size;
    const char *cause; /* of a failure */
} rt_heap_share_t;

/* The library's only function beside those of malloc. -1: this process has no such heap, and cause says why. */
#define RT_HEAP_SHARE "verbena_heap_share"
typedef int rt_heap_share_func_t(rt_heap_share_t *share);

/* The context of the runtime is open. Without the heap all works as with mpi.heap=private; a line says so. */
void rt_heap_open(void);
/* Before that context is closed. */
void rt_heap_close(void);

#endif
