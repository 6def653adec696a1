/* SPDX-License-Identifier: Apache-2.0
 * flat.h - collectives of one level as steps of a schedule, among all its ranks, whichever nodes they are on. The arguments
 * are those of steps.h, whose functions choose between these and the ones of two levels (levels.h).
 */
#ifndef VERBENA_FLAT_H
#define VERBENA_FLAT_H

#include "grp/sched.h"

/* bcast.c */
void flat_barrier(sched_t *sched);
void flat_bcast(sched_t *sched, void *buffer, size_t length, int root);

/* reduce.c: memory of the schedule for so many elements, which apply may write. NULL: none is left. */
void *flat_room(sched_t *sched, size_t count, const grp_reduce_t *reduce);
void flat_reduce(sched_t *sched, void *inout, size_t count, const grp_reduce_t *reduce, int root);
void flat_allreduce(sched_t *sched, void *inout, size_t count, const grp_reduce_t *reduce);

/* scan.c: elements of a message of a scan, which has one level only. */
size_t flat_scan_piece(sched_t *sched, size_t count, const grp_reduce_t *reduce);

#endif
