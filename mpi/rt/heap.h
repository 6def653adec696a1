/* SPDX-License-Identifier: Apache-2.0
 * heap.h - mpi.heap=node: large blocks of the program's own malloc lie in memory that the ranks of the node may map. The preloaded
 * library of mpi/heap is their allocator, from the start of the process on; the runtime makes that memory known to the core, which
 * then copies messages out of such blocks once, and without the kernel. Collectives map the heaps of a node's ranks to read them.
 */
#ifndef VERBENA_RT_HEAP_H
#define VERBENA_RT_HEAP_H

#include <stddef.h>
#include <stdint.h>

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

#define RT_HEAP_PROBE                                                                                                  \
    ((size_t)64 << 10) /* bytes of a block that the library hands out, if it is the program's malloc */

/* The context of the runtime is open. Without the heap all works as with mpi.heap=private; a line says so. */
void rt_heap_open(void);
/* Lets go of others' heaps: before the worker ends. */
void rt_heap_leave(void);
/* Before that context is closed. */
void rt_heap_close(void);

#define RT_HEAP_NOWHERE UINT64_MAX

/* Where these bytes lie in this rank's heap; RT_HEAP_NOWHERE: not there. */
uint64_t rt_heap_offset(const void *at, size_t length);
/* A key by which others may read it, VBN_KEY_MAX bytes; 0: it has none. */
size_t rt_heap_key(void *key);
/* Maps the heap of a rank of this node; waits for that rank. -1: it cannot be mapped, text in rt.error. */
int rt_heap_join(int rank, const void *key, size_t length);
/* A byte of a heap that is mapped here; index: of its rank on the node. */
const unsigned char *rt_heap_at(int index, uint64_t offset);

#endif
