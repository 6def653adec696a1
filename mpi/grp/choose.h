/* SPDX-License-Identifier: Apache-2.0
 * choose.h - which way a collective of two ranks with much data takes. Through node memory each rank reads lines that the other
 * one has just written; by messages the kernel copies from memory that may be in no cache. Which is faster depends on the
 * caches that both processors share, and may change while a job runs. So the set's first rank decides by what calls have taken.
 *
 * C1 The first calls of a class of bytes try each way twice; the second time counts. From then on the faster one is taken, and
 *    every CHOOSE_AGAIN-th call tries the other one.
 * C2 A single slow call does not change the choice: it counts as CHOOSE_OUTLIER times the time so far at most.
 * C3 Neither way changes a bit of the result, so no rank depends on the times of another job.
 */
#ifndef VERBENA_GRP_CHOOSE_H
#define VERBENA_GRP_CHOOSE_H

#include <stddef.h>
#include <stdint.h>

#define CHOOSE_LEAST (32u << 10) /* bytes; fewer go through node memory */
#define CHOOSE_CLASSES 16u       /* by powers of two, from CHOOSE_LEAST on */
#define CHOOSE_AGAIN 64u
#define CHOOSE_OUTLIER 2u

typedef enum choose_way { CHOOSE_PIECES, CHOOSE_MESSAGES, CHOOSE_WAYS } choose_way_t;

typedef struct choose {
    int forced; /* this way always; CHOOSE_WAYS: none */
    struct {
        uint32_t calls;
        uint64_t ns[CHOOSE_WAYS];
    } classes[CHOOSE_CLASSES];
} choose_t;

/* way: the value of the setting mpi.large_pairs. */
void choose_open(choose_t *choose, const char *way);
unsigned choose_class(size_t bytes);
/* Whether the setting, or a time of each way, says which one is taken for so many bytes. */
int choose_knows(const choose_t *choose, size_t bytes);
/* For the next call. */
choose_way_t choose_next(choose_t *choose, size_t bytes);
/* A call has taken so long. */
void choose_learn(choose_t *choose, unsigned row, choose_way_t way, uint64_t ns);

#endif
