/* SPDX-License-Identifier: Apache-2.0
 * node.h - where the bytes of a datatype lie: a program of strided runs of bytes, loops and lists.
 *
 *   DT_RUNS   |####----####----####|       `count` runs of `length` bytes, `stride` apart
 *   DT_LOOP   [child]  [child]  [child]    `count` times the child, `stride` apart
 *   DT_LIST   ##  [child] ####  [child]    runs and children, each at an offset of its own
 *
 * N1 A node never changes, so types share nodes; the last one who releases a node frees it.
 * N2 The packed form of a node is its bytes in this order, which is that of the type map. Runs that touch are one.
 * N3 A node without bytes has no runs; it is nobody's child.
 * N4 `bytes`, `low` and `high` fit their types: who makes a node checks that, so that nobody else has to.
 */
#ifndef VERBENA_MPI_DT_NODE_H
#define VERBENA_MPI_DT_NODE_H

#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

typedef enum dt_shape { DT_RUNS, DT_LOOP, DT_LIST } dt_shape_t;

typedef struct dt_entry {
    MPI_Aint offset;
    size_t start;         /* in the packed form; the entry ends where the next one starts */
    struct dt_node *node; /* NULL: a run of bytes */
} dt_entry_t;

typedef struct dt_node {
    int refs; /* 0: predefined, never freed */
    dt_shape_t shape;
    size_t bytes;  /* of the packed form */
    size_t pieces; /* runs; SIZE_MAX: that many or more */
    MPI_Aint low;  /* the first byte, and the one after the last */
    MPI_Aint high;
    MPI_Aint offset; /* of the first run or child */
    size_t count;    /* of runs, repetitions or entries */
    size_t length;   /* of a run */
    MPI_Aint stride;
    struct dt_node *child;
    dt_entry_t *entries; /* count and one more, which has the end of the packed form */
} dt_node_t;

/* What a list is made of: a node, or a run of `length` bytes. */
typedef struct dt_block {
    MPI_Aint offset;
    dt_node_t *node; /* NULL: a run */
    size_t length;
} dt_block_t;

extern dt_node_t dt_node_empty;

/* These give a node that the caller releases, or an error class (overflow, no memory). They keep what they refer to. */
int dt_node_repeat(dt_node_t *child, size_t count, MPI_Aint stride, MPI_Aint offset, dt_node_t **node_p);
int dt_node_list(const dt_block_t *blocks, size_t count, dt_node_t **node_p);
dt_node_t *dt_node_keep(dt_node_t *node);
void dt_node_release(dt_node_t *node);

static inline int dt_node_is_run(const dt_node_t *node)
{
    return node->shape == DT_RUNS && node->count <= 1;
}

/* What a walk calls for the runs of bytes that it finds, in the order of the packed form. */
typedef struct dt_sink {
    /* `count` runs of `length` bytes, `stride` apart. */
    void (*take)(struct dt_sink *sink, char *at, size_t length, MPI_Aint stride, size_t count);
    /* Entries that are runs, whole; entries[count] ends the last one. */
    void (*take_list)(struct dt_sink *sink, uintptr_t base, const dt_entry_t *entries, size_t count);
} dt_sink_t;

/* Tells the sink of the bytes [from, to) of the packed form of a node at base. */
void dt_node_walk(const dt_node_t *node, uintptr_t base, size_t from, size_t to, dt_sink_t *sink);

#endif
