/* SPDX-License-Identifier: Apache-2.0
 * inter.h - what the collectives on intercommunicators share. Their schedules stand on the local group; messages with the
 * remote group name its ranks.
 */
#ifndef VERBENA_MPI_COLL_INTER_H
#define VERBENA_MPI_COLL_INTER_H

#include "coll/coll.h"

/* A rank's part in a collective with a root. */
typedef enum inter_part { INTER_ROOT, INTER_NONE, INTER_OTHER_GROUP } inter_part_t;

static inline inter_part_t inter_part(int root)
{
    return root == MPI_ROOT ? INTER_ROOT : root == MPI_PROC_NULL ? INTER_NONE : INTER_OTHER_GROUP;
}

/* The first ranks of both groups send each other as many bytes; at other ranks no step. */
void inter_swap(coll_t *coll, const void *mine, void *theirs, size_t length);
/* An error for MPI_IN_PLACE. */
int inter_no_place(const void *buffer, const char *name);

#endif
