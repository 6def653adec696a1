/* SPDX-License-Identifier: Apache-2.0
 * node.h - memory that the ranks of a node share. The node's first rank reserves it when the job starts; the others
 * connect to that rank and join it when they first need it, so that MPI_Init makes no connection and a program that
 * only sends messages never pays for it.
 *
 *     base  control of rank 0, of rank 1, ...      RT_NODE_CONTROL bytes each: what collectives exchange
 *     parts part of rank 0, of rank 1, ...         2^shift bytes each
 *
 * A part, in quarters, each as large as the host's memory where addresses suffice:
 *     0            RT_NODE_PIECES: larger data of collectives (grp/node_pieces.c)
 *       behind it  MPI_Alloc_mem and windows (memory.h)
 *     1            OpenSHMEM: page and static data of a PE (shmem/src/arena.c)
 *     2, 3         its symmetric heap
 *
 * An address of any rank's part is parts + index * 2^shift + offset. Nothing exists before it is committed. Others' parts
 * are not in a core dump.
 */
#ifndef VERBENA_RT_NODE_H
#define VERBENA_RT_NODE_H

#include <stddef.h>
#include <stdint.h>

#define RT_NODE_CONTROL (2u << 20)
#define RT_NODE_PIECES (4u << 20)

typedef enum rt_node_state {
    RT_NODE_UNKNOWN, /* not asked for yet */
    RT_NODE_OPENING, /* by another thread */
    RT_NODE_READY,
    RT_NODE_NONE /* one rank, no map of the nodes, shm is not in tl.enable, or it could not be reserved */
} rt_node_state_t;

typedef struct rt_node {
    rt_node_state_t state;
    struct vbn_mem *mem;
    unsigned char *base;
    unsigned char *parts;
    unsigned shift;
    int count;  /* ranks of this node */
    int index;  /* of this rank among them */
    int *ranks; /* of the job, by index */
    int fenced; /* there is no membarrier(): who writes a flag runs a fence before it looks for sleepers */
} rt_node_t;

extern rt_node_t rt_node;

/* The node's first rank reserves the memory and puts its key; where that is not possible, a line says why, and this node has none.
 * Before the fence of the start. */
int rt_node_publish(void);
/* Joins it; waits for the node's first rank, which is answered for while it computes. 1: it is there; 0: this node has
 * none, the same at all its ranks; -1: this rank cannot join, with the cure in rt.error. */
int rt_node_open(void);
void rt_node_close(void);

/* Index of a rank of the job among those of this node; -1: it is on another one. */
int rt_node_index(int rank);
/* Allocates pages of the memory. -1: none left, text in rt.error. */
int rt_node_commit(const void *at, size_t length);

static inline unsigned char *rt_node_control(int index)
{
    return rt_node.base + (size_t)index * RT_NODE_CONTROL;
}

/* Where this rank has mapped the byte at an offset of the memory, which is the same at all ranks of the node. */
static inline unsigned char *rt_node_at(size_t offset)
{
    return rt_node.base + offset;
}

/* Bytes of the memory. */
static inline size_t rt_node_bytes(void)
{
    return (size_t)(rt_node.parts - rt_node.base) + ((size_t)rt_node.count << rt_node.shift);
}

/* Bytes of a quarter of a part. */
static inline size_t rt_node_quarter(void)
{
    return (size_t)1 << (rt_node.shift - 2);
}

/* Makes a rank look again that sleeps for something in node memory. */
void rt_node_wake(int rank);
/* A sleeper has said so; what was written before that is seen by its next loads, or the writer sees that it sleeps. */
void rt_node_sleeper_fence(void);

#endif
