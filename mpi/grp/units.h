/* SPDX-License-Identifier: Apache-2.0
 * units.h - a set of ranks as units that follow one another: the ranks of a node each, where these follow one another
 * (levels.h, L2), else each rank alone. Data of neighbouring units lies side by side, and travels as one message.
 */
#ifndef VERBENA_UNITS_H
#define VERBENA_UNITS_H

#include "grp/levels.h"

typedef struct units {
    const levels_t *levels; /* NULL: each rank is a unit */
    const rt_group_t *ranks;
    int count;
    int mine; /* the unit of this rank */
} units_t;

units_t units_of(const sched_t *sched);
/* The unit of a rank; the first rank of a unit, and of the one behind the last the number of ranks. */
int units_find(const units_t *units, int rank);
int units_first(const units_t *units, int unit);
/* Ranks of so many units from this one on; behind the last unit comes the first one. */
int units_ranks(const units_t *units, int unit, int count);
/* Who has messages with other units: the first rank, in the root's unit the root. */
int units_speaker(const units_t *units, int unit, int root);

/* Steps: between blocks and memory where they lie side by side from this rank's on; behind the last rank's comes that of rank 0. */
void units_pack(sched_t *sched, const grp_blocks_t *blocks, int first, void *packed);
void units_unpack(sched_t *sched, const grp_blocks_t *blocks, int first, const void *packed);

#endif
