/* SPDX-License-Identifier: Apache-2.0
 * make.h - how constructors make a datatype: a draft that gets node, signature and bounds, then a type of it.
 */
#ifndef VERBENA_MPI_DT_MAKE_H
#define VERBENA_MPI_DT_MAKE_H

#include "dt/contents.h"
#include "dt/dt.h"

/* Starts zeroed. The first failure stays in rc, and what comes after it does nothing. */
typedef struct dt_draft {
    int rc;
    dt_node_t *node;
    dt_sig_t *sig;
    size_t align;
    int bounded; /* lb and ub are there */
    int sticky;
    MPI_Aint lb;
    MPI_Aint ub;
} dt_draft_t;

/* The type behind a handle; NULL, with the failure in the draft. */
dt_type_t *dt_draft_old(dt_draft_t *draft, MPI_Datatype handle);
/* Counts among the bounds: `count` elements of old side by side from offset on. */
void dt_draft_bound(dt_draft_t *draft, const dt_type_t *old, MPI_Count count, MPI_Aint offset);
/* `count` blocks of `length` elements, `stride` bytes apart. */
void dt_draft_strided(dt_draft_t *draft, dt_type_t *old, MPI_Count count, MPI_Count length, MPI_Aint stride);
/* Bounds as they are set by hand. */
void dt_draft_resize(dt_draft_t *draft, MPI_Aint lb, MPI_Aint extent);
/* A product, or the failure. */
MPI_Aint dt_draft_times(dt_draft_t *draft, MPI_Aint a, MPI_Aint b);
/* The type, or why there is none; the draft is used up. */
int dt_draft_end(dt_draft_t *draft, int combiner, const dt_argument_t *arguments, size_t n, const MPI_Datatype *types,
                 size_t n_types, MPI_Datatype *newtype);

#endif
