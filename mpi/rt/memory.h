/* SPDX-License-Identifier: Apache-2.0
 * memory.h - memory for the program: MPI_Alloc_mem, and windows. One allocator hands out blocks of an arena.
 *
 *   arena of the node   in this rank's part of node memory (node.h): the ranks of the node need no key for loads and stores
 *   arena of its own    where there is no node memory: of this process alone; peers map it by keys
 *   ordinary memory     where addresses are too scarce for an arena as large as the host (ulimit -v), or memfd_create is refused
 *
 * Y1 A block has all its pages, and gets them only if the host and the control groups have them left: too much is an error with
 * the limit's name, and nobody is killed. Y2 Free blocks keep up to RT_MEMORY_KEPT bytes of pages; the host gets the others
 * back, and all of them before an allocation fails. A block that needs pages which the host has got back raises the limit by
 * them: programs that free a large window and make the next one would else wait for zeros each time. The arenas of
 * a node's ranks keep at most one byte of RT_MEMORY_SHARE that the host and the control group have left: others cannot claim it.
 * Y3 A block outlives the runtime: context and memory stay until the program has freed its last block of them. Y4 In builds with
 * the address sanitizer everything but the bytes asked for is poisoned, once it was handed out.
 *
 * The caller is inside the runtime. Failures return -1 with a text in rt.error.
 */
#ifndef VERBENA_RT_MEMORY_H
#define VERBENA_RT_MEMORY_H

#include <stddef.h>

#define RT_MEMORY_LINE 64u                /* least alignment: two blocks share no cache line */
#define RT_MEMORY_KEPT ((size_t)32 << 20) /* Y2, of each arena */
#define RT_MEMORY_SHARE 16u               /* Y2, where blocks are allocated again */

/* alignment: a power of two. size may be 0: such a block has an address of its own, too. May wait for the node's first rank. */
int rt_memory_alloc(size_t size, size_t alignment, void **address_p);
/* -1: no block of rt_memory_alloc begins there. */
int rt_memory_free(void *address);

/* How other ranks reach a block. */
typedef struct rt_memory_place {
    struct vbn_mem *mem; /* for keys; NULL: ordinary memory, which no peer can map */
    size_t offset;       /* of the block in mem */
    int is_node;         /* ranks of the node reach it at the same offset of their mapping (rt_node_at) */
} rt_memory_place_t;
void rt_memory_find(const void *address, rt_memory_place_t *place);
/* Keys of ranges inside the block become stale, and its pages are zeros: before rt_memory_free, where keys were given away. */
void rt_memory_end_keys(const void *address);

#define RT_MEMORY_CONTEXT 1 /* the program has memory of the context that is open: it must not be closed */
#define RT_MEMORY_NODE 2    /* and some is node memory, which must not be freed */
/* The runtime ends. Says which of them stay. */
int rt_memory_close(void);

#endif
