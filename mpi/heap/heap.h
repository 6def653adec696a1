/* SPDX-License-Identifier: Apache-2.0
 * heap.h - a program's large blocks, in a memfd of this process that others of the host may map (rt/heap.h says how they do).
 *
 * H1 Blocks of HEAP_LEAST bytes or more come from here; smaller ones, and all where there is no such memory, from the next
 *    allocator: libc's, or one that is preloaded behind this library. H2 A page exists once it is touched. Pages of free blocks go
 *    back to the host when more than HEAP_KEPT bytes were freed. H3 The mapping and its file stay until the process ends: a peer
 *    that reads a block which its owner has freed gets old bytes or zeros, never a signal. H4 A child of fork() has a copy of its
 *    own, made before fork() returns in either process; no peer maps that. H5 Any thread may call; a mutex guards all.
 * H6 The program may close the memfd's descriptor, or put another file in its place (a shell's `exec 3>file`): then it is the
 *    program's, and nothing here reads or closes it.
 */
#ifndef VERBENA_HEAP_H
#define VERBENA_HEAP_H

#include <stddef.h>
#include <sys/types.h>

#include "rt/blocks.h"

#define HEAP_LEAST ((size_t)32 << 10)
#define HEAP_KEPT ((size_t)32 << 20)

/* NULL: it is the next allocator's. alignment: a power of two, or 0. */
void *heap_take(size_t alignment, size_t size);
void *heap_take_zeros(size_t size);
int heap_has(const void *block);
size_t heap_bytes(const void *block);
void heap_give(void *block);
/* 1: the block has that many bytes now, where it is. */
int heap_resize(void *block, size_t size);

/* ---- inside of the library */

typedef struct heap_memory {
    unsigned char *base;
    size_t size;
    size_t reached; /* bytes from the base that were handed out once, at most */
    int fd;         /* -1: a copy in a child of fork() */
    dev_t device;   /* the memfd: H6 */
    ino_t file;
} heap_memory_t;

/* Makes it. NULL, or why that is not possible. */
const char *heap_map(heap_memory_t *memory);
/* Whether the descriptor is still the memfd's: H6. */
int heap_has_file(const heap_memory_t *memory);
/* The pages of the range are zeros now, and do not exist. */
void heap_empty(const heap_memory_t *memory, size_t offset, size_t length);
/* In a child of fork(): the memory is replaced by a private one with the same bytes. blocks: all, by place. */
void heap_copy(heap_memory_t *memory, const rt_block_t *blocks);
/* One line on stderr. */
void heap_say(const char *what, const char *cause);

/* What the mutex guards, for fork.c. */
void heap_lock(void);
void heap_unlock(void);
heap_memory_t *heap_mapped(void); /* NULL: there is none */
const rt_block_t *heap_blocks(void);

#endif
