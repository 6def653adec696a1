/* SPDX-License-Identifier: Apache-2.0
 * node.h - blocking collectives of ranks that share a node, over slots of its memory (rt/node.h).
 *
 * Each rank has NODE_SLOTS slots in its control memory; a set of ranks uses the same number at each of its members. A
 * collective is one or two phases. In a phase some ranks write their line, and others wait for it and read it. Phases are
 * numbered without end; phase n uses line n % NODE_LINES, and for more data than a line holds buffer n % NODE_BUFFERS.
 *
 * N1 A rank writes a line or a buffer again only when every member has said that it is done with the phase that used it
 *    before. Most phases tell so themselves: a line of phase n of another rank says that it is done with phase n - 1.
 * N2 Numbers of a new set begin above those that any of its members has used before, in any slot. So nobody takes an old line
 *    for a new one, and who still reads a line of an old set finds a number that is high enough.
 * N3 A slot is free again when all members have left the set; a set that has failed keeps its slot.
 * N4 Reductions have the order of the schedules (reduce.c): equal calls give the same bits in all forms.
 * N5 Whether a collective uses slots follows from what all members know alike: the set, the operation, the bytes.
 * N6 Who waits polls, makes progress in between, then sleeps as rt_wait_step does; before that it says whose line it waits
 *    for. Who writes a line looks whether somebody sleeps for it. A rank that is lost fails the set at all members.
 */
#ifndef VERBENA_GRP_NODE_H
#define VERBENA_GRP_NODE_H

#include <stdatomic.h>

#include "grp/choose.h"
#include "grp/grp.h"
#include "grp/table.h"
#include "rt/node.h"

#define NODE_SLOTS 31u
#define NODE_LINES 16u
#define NODE_BUFFERS 4u
#define NODE_INLINE 48u         /* bytes that a line holds */
#define NODE_BYTES (8u << 10)   /* of a buffer */
#define NODE_BCAST (64u << 10)  /* bytes that are broadcast here, several buffers one after the other */
#define NODE_REDUCE (16u << 10) /* bytes in all that are reduced here */
#define NODE_PIECE (64u << 10)  /* bytes of larger data that are reduced at a time */
#define NODE_FLAT 8             /* up to so many ranks each reads the lines of all; more: one collects */

typedef struct node_line {
    _Atomic uint64_t phase;
    uint32_t length;
    uint32_t what; /* node_set_t.what */
    unsigned char data[NODE_INLINE];
} node_line_t;

/* A rank's slot; the rank alone writes it. */
typedef struct node_slot {
    _Atomic uint64_t done;   /* phases; N1 */
    _Atomic uint64_t left;   /* first phase of the last set that the rank has left; N3 */
    _Atomic uint64_t took;   /* the last large allreduce: node_large.c */
    _Atomic uint32_t broken; /* the set has failed at this rank */
    unsigned char apart[64 - 28];
    _Atomic uint32_t asleep; /* 1 + rank in the set whose slot it waits for; 0: awake */
    unsigned char further[64 - 4];
    node_line_t lines[NODE_LINES];
    unsigned char page[4096 - 128 - NODE_LINES * 64];
    unsigned char data[NODE_BUFFERS][NODE_BYTES];
} node_slot_t;

#define NODE_SLOT_BYTES (64u << 10) /* from one slot to the next */

_Static_assert(sizeof(node_line_t) == 64 && sizeof(node_slot_t) == 4096 + NODE_BUFFERS * NODE_BYTES, "shared layout");
_Static_assert((NODE_SLOTS + 1) * NODE_SLOT_BYTES == RT_NODE_CONTROL,
               "slots fill the control memory, but for the first part");

/* Collectives of two ranks whose way is measured (node_large.c). */
typedef enum node_large { NODE_LARGE_ALLREDUCE, NODE_LARGE_BCAST, NODE_LARGE_ALLTOALL, NODE_LARGE } node_large_t;

/* A set of ranks on this node. */
typedef struct node_set {
    struct node_set *next; /* of those left whose slots are not free yet */
    unsigned slot;
    int size;
    int rank;
    int status;       /* it has failed */
    uint32_t what;    /* the collective that it is in: its kind, of a broadcast its bytes */
    uint64_t first;   /* its first phase */
    uint64_t phase;   /* the last one that has begun */
    uint64_t known;   /* every member is done with this one */
    const int *ranks; /* of the job, by rank in the set */
    grp_t *grp;
    int pieces_state;            /* node_pieces.c */
    int heaps;                   /* all members' heaps are mapped at all of them: node_heaps.c */
    uint64_t pieces;             /* so far */
    choose_t choose[NODE_LARGE]; /* of rank 0 of two: node_large.c */
    uint64_t took;               /* the time of rank 1 that rank 0 has read last */
    node_slot_t *slots[];        /* by rank; then the table of ranks */
} node_set_t;

/* What a collective is to its ranks: lines of another one are an error. */
typedef enum node_kind {
    NODE_ARRIVE = 1,
    NODE_BARRIER,
    NODE_BROADCAST,
    NODE_GATHER,
    NODE_SCATTER,
    NODE_ALLGATHER,
    NODE_ALLTOALL,
    NODE_TO_ROOT,
    NODE_TO_ALL,
    NODE_SCAN,
    NODE_SWAP,
    NODE_PIECES
} node_kind_t;

/* Whether this collective of the set goes over slots: 1 or 0; makes them at the first one. Negative: a failure. */
int node_ready(grp_t *grp);

/* N5. Beyond these the core's copy out of the sender's memory is better; of two ranks already beyond a buffer. */
static inline int node_bcast_fits(const grp_t *grp, size_t length)
{
    return table_is_few(TABLE_BCAST, grp_size(grp), grp_nodes(grp), length);
}

/* Each rank of a small set reads what all have: beyond some bytes in sum messages are better. */
static inline int node_reduce_fits(const grp_t *grp, size_t count, const grp_reduce_t *reduce)
{
    const size_t ranks = (size_t)(grp_size(grp) < NODE_FLAT ? grp_size(grp) : NODE_FLAT);
    const size_t bytes = count * reduce->element;
    return !reduce->foreign && count <= NODE_REDUCE / ranks && bytes <= NODE_BYTES &&
           table_is_few(TABLE_REDUCE, grp_size(grp), grp_nodes(grp), bytes * ranks);
}

/* Each rank of a scan reads the elements of those before it. */
static inline int node_scan_fits(const grp_t *grp, size_t count, const grp_reduce_t *reduce)
{
    const size_t ranks = (size_t)grp_size(grp);
    const size_t bytes = count * reduce->element;
    return !reduce->foreign && count <= NODE_REDUCE / ranks && bytes <= NODE_BYTES &&
           table_is_few(TABLE_SCAN, grp_size(grp), grp_nodes(grp), bytes * ranks);
}

int node_barrier(node_set_t *set);
/* Any number of bytes, NODE_BYTES at a time; the root is up to NODE_BUFFERS of them ahead. */
int node_bcast(node_set_t *set, void *buffer, size_t length, int root);
int node_reduce(node_set_t *set, const void *mine, void *result, size_t count, const grp_reduce_t *reduce, int root);
int node_allreduce(node_set_t *set, const void *mine, void *result, size_t count, const grp_reduce_t *reduce);
/* The same as part of a collective of another kind. */
int node_allreduce_of(node_set_t *set, node_kind_t kind, const void *mine, void *result, size_t count,
                      const grp_reduce_t *reduce);

/* The highest number of all ranks, as part of a collective of this kind. */
int node_highest(node_set_t *set, node_kind_t kind, int *number);

/* As grp_scan. */
int node_scan(node_set_t *set, const void *mine, void *result, size_t count, const grp_reduce_t *reduce, int exclusive);

/* Reductions of any number of bytes through node memory (node_pieces.c). Whether there is memory for them: 1 or 0, the same at
 * all members, which decide at the first one; negative: a failure. */
int node_pieces_ready(node_set_t *set);
/* Maps the heaps of the other members (rt/heap.h). Whether all have mapped all: 1 or 0, the same at all members; negative: a
 * failure. */
int node_heaps_join(node_set_t *set);
/* Whether these bytes lie in node memory. */
int node_is_mapped(const void *at, size_t length);
/* Two ranks exchange blocks, which may be at one place. */
int node_swap_pieces(node_set_t *set, const void *out, void *in, size_t length);
/* One of several ways; memory of pieces is there. Broadcast and alltoall are of two ranks. */
int node_bcast_large(node_set_t *set, void *buffer, size_t length, int root);
int node_alltoall_large(node_set_t *set, const void *out, void *in, size_t length);
int node_allreduce_large(node_set_t *set, const void *mine, void *result, size_t count, const grp_reduce_t *reduce);
int node_allreduce_pieces(node_set_t *set, const void *mine, void *result, size_t count, const grp_reduce_t *reduce);
int node_reduce_pieces(node_set_t *set, const void *mine, void *result, size_t count, const grp_reduce_t *reduce,
                       int root);
/* This rank gets the elements from first to end. result may be where mine is. */
int node_reduce_scatter_pieces(node_set_t *set, const void *mine, void *result, size_t count,
                               const grp_reduce_t *reduce, size_t first, size_t end);
int node_scan_pieces(node_set_t *set, const void *mine, void *result, size_t count, const grp_reduce_t *reduce,
                     int exclusive);
/* to = lower OP upper; to may be upper. */
void node_join(const grp_reduce_t *reduce, const void *lower, const void *upper, void *to, size_t count);
/* result: elements of all ranks, at most NODE_BYTES of each, combined in the order of an allreduce, or of a reduce. */
typedef enum node_order { NODE_ORDER_ALL, NODE_ORDER_ROOT, NODE_ORDER_SCAN } node_order_t;
void node_combine(const grp_reduce_t *reduce, const void *const *from, int size, size_t count, void *result,
                  node_order_t order);

/* What a rank gives and takes where blocks of equal length move: copies of elements that need not be one piece of memory. */
typedef struct node_blocks {
    size_t length; /* bytes of a block that this rank gives */
    size_t taken;  /* of one that it takes; others are an error */
    /* the block for a rank; where all get the same, this rank is asked for its own */
    void (*give)(const struct node_blocks *blocks, int rank, void *to);
    void (*take)(const struct node_blocks *blocks, int rank, const void *from); /* the block of a rank */
} node_blocks_t;

/* N5. bytes: that a rank gives at once. */
static inline int node_blocks_fit(const grp_t *grp, table_row_t row, size_t bytes)
{
    return table_is_few(row, grp_size(grp), grp_nodes(grp), bytes);
}

/* Each rank's block to the root; the root's blocks to each (it is asked for all); each rank's block to all; a block of each
 * rank for each. take is called for the own block, too; of a scatter with the own rank. */
int node_gather(node_set_t *set, const node_blocks_t *blocks, int root);
int node_scatter(node_set_t *set, const node_blocks_t *blocks, int root);
int node_allgather(node_set_t *set, const node_blocks_t *blocks);
int node_alltoall(node_set_t *set, const node_blocks_t *blocks);

/* Barrier to allreduce where the ranks of this node, levels->inside, have slots, and others are on other nodes (node_levels.c).
 * More than node_reduce_fits goes in pieces, where node_pieces_ready has said 1. */
int node_levels_barrier(grp_t *grp);
int node_levels_bcast(grp_t *grp, void *buffer, size_t length, int root);
int node_levels_reduce(grp_t *grp, const void *mine, void *result, size_t count, const grp_reduce_t *reduce, int root);
int node_levels_allreduce(grp_t *grp, const void *mine, void *result, size_t count, const grp_reduce_t *reduce);
/* The ranks of each node follow one another (L2). */
int node_levels_scan(grp_t *grp, const void *mine, void *result, size_t count, const grp_reduce_t *reduce,
                     int exclusive);

/* Rank 0 knows that all have come; half of a barrier, of which a broadcast of rank 0 is the other one. */
int node_arrive(node_set_t *set);

/* ---- phases (node_phase.c) */

static inline void node_is(node_set_t *set, node_kind_t kind, size_t bytes)
{
    set->what = (uint32_t)kind << 24 | (uint32_t)(bytes & 0xffffff);
}

/* Begins the next phase. */
static inline uint64_t node_begin(node_set_t *set)
{
    return ++set->phase;
}

/* Where this rank's data of the phase goes; waits for those that still read what was there. NULL: the set has failed. */
void *node_room(node_set_t *set, uint64_t phase, size_t length);
/* The data is there: the others may read. */
void node_publish(node_set_t *set, uint64_t phase, size_t length);
/* The data of a rank; waits for it. NULL: the set has failed, or the rank has other data, of which the set's status says. */
const void *node_data(node_set_t *set, uint64_t phase, int rank, size_t length);
/* Wakes ranks that sleep until this one has said something. */
void node_tell(node_set_t *set, int rank);
void node_tell_all(node_set_t *set);
/* The set fails here, and with that at all members. */
void node_break(node_set_t *set, int status);
/* The status of a set that has failed before, with a text. */
int node_failed(const node_set_t *set);
/* This rank has read all. */
static inline void node_done(node_set_t *set, uint64_t phase)
{
    atomic_store_explicit(&set->slots[set->rank]->done, phase, memory_order_release);
}

#endif
