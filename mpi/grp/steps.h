/* SPDX-License-Identifier: Apache-2.0
 * steps.h - the collectives as steps of a schedule, one file per family. Each function adds this rank's steps; several
 * may follow one another in a schedule. Arguments are as those of the blocking calls in grp.h, which use these.
 */
#ifndef VERBENA_STEPS_H
#define VERBENA_STEPS_H

#include "grp/sched.h"

void steps_barrier(sched_t *sched);
void steps_bcast(sched_t *sched, void *buffer, size_t length, int root);

void steps_reduce(sched_t *sched, void *inout, size_t count, const grp_reduce_t *reduce, int root);
void steps_allreduce(sched_t *sched, void *inout, size_t count, const grp_reduce_t *reduce);
void steps_scan(sched_t *sched, const void *mine, void *result, size_t count, const grp_reduce_t *reduce,
                int exclusive);

void steps_gather(sched_t *sched, const void *mine, size_t length, const grp_blocks_t *blocks, int root);
void steps_scatter(sched_t *sched, const grp_blocks_t *blocks, void *mine, size_t length, int root);
void steps_allgather(sched_t *sched, const grp_blocks_t *blocks);
void steps_alltoall(sched_t *sched, const grp_blocks_t *send, const grp_blocks_t *receive);

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
