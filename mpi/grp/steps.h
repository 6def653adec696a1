/* SPDX-License-Identifier: Apache-2.0
 * steps.h - the collectives as steps of a schedule, one file per family. Each function adds this rank's steps; several
 * may follow one another in a schedule. The blocking calls in grp.h have the same arguments.
 */
#ifndef VERBENA_STEPS_H
#define VERBENA_STEPS_H

#include "grp/sched.h"

void steps_barrier(sched_t *sched);
void steps_bcast(sched_t *sched, void *buffer, size_t length, int root);

/* inout: this rank's elements; at the root the result. Its contents elsewhere are undefined afterwards. */
void steps_reduce(sched_t *sched, void *inout, size_t count, const grp_reduce_t *reduce, int root);
void steps_allreduce(sched_t *sched, void *inout, size_t count, const grp_reduce_t *reduce);
void steps_scan(sched_t *sched, const void *mine, void *result, size_t count, const grp_reduce_t *reduce,
                int exclusive);

/* What is reduced and scattered: a part for each rank, in the order of the ranks. */
typedef struct grp_parts {
    const void *from;     /* this rank's elements; read only, and not after the result is written */
    const size_t *starts; /* by rank: bytes before its part; then all bytes. Lives as long as the schedule */
    const grp_reduce_t *reduce;
    /* NULL, or by rank: its part is one element, of this reduction, between its `before` and `after`; a part may be longer than
     * that. Lives as long. */
    const grp_reduce_t *const *whole;
} grp_parts_t;
/* result: this rank's part; it may be where `from` is. */
#define STEPS_HALVING_MOST 8192u /* bytes of a part, on average, that other ranks pass on */
void steps_reduce_scatter(sched_t *sched, const grp_parts_t *given, void *result);

/* mine NULL: this rank's block is in place already. blocks matters at the root only. */
void steps_gather(sched_t *sched, const void *mine, size_t length, const grp_blocks_t *blocks, int root);
void steps_scatter(sched_t *sched, const grp_blocks_t *blocks, void *mine, size_t length, int root);
void steps_allgather(sched_t *sched, const grp_blocks_t *blocks);
void steps_alltoall(sched_t *sched, const grp_blocks_t *send, const grp_blocks_t *receive);

/* The same where every rank knows that all blocks have one length: small ones go in fewer steps. blocks counts at the root only. */
#define STEPS_TREE_MOST 8192u    /* bytes of a block that are copied in each round of a tree */
#define STEPS_SPREAD_MOST 4096u  /* of the blocks of an allgather, on average */
#define STEPS_EXCHANGE_MOST 256u /* of a block of an alltoall that is copied six times */
#define STEPS_DOUBLING_MOST                                                                                            \
    ((32u << 10) - 1) /* beyond, a rank of an allreduce sends each element twice, not once in each round */
#define STEPS_CHAIN_MOST ((128u << 10) - 1) /* of a scan; beyond, the ranks work on different pieces at a time */
void steps_gather_each(sched_t *sched, const void *mine, size_t length, const grp_blocks_t *blocks, int root);
void steps_scatter_each(sched_t *sched, const grp_blocks_t *blocks, void *mine, size_t length, int root);
void steps_alltoall_each(sched_t *sched, const grp_blocks_t *send, const grp_blocks_t *receive);
/* An allgather of small blocks; 0: they are not, and nothing was added. */
int steps_spread(sched_t *sched, const grp_blocks_t *blocks);

/* The neighbours of this rank along its edges; a negative rank is none, and its block is not touched. */
typedef struct steps_edges {
    int count;
    const int *ranks;
    const grp_blocks_t *blocks; /* by the number of the edge */
} steps_edges_t;
/* paired: edges 2 * d and 2 * d + 1 lead in opposite directions, and what was sent in one direction arrives from the
 * other one, also where both neighbours are the same rank. Otherwise several edges between two ranks are in the same
 * order at both. */
void steps_neighbors(sched_t *sched, const steps_edges_t *out, const steps_edges_t *in, int paired);

/* This rank's own block; too long for its place, it fails the schedule. */
void steps_own(sched_t *sched, void *to, size_t room, const void *from, size_t length);

#endif
