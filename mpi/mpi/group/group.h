/* SPDX-License-Identifier: Apache-2.0
 * group.h - groups: ordered sets of processes, as handles.
 */
#ifndef VERBENA_MPI_GROUP_H
#define VERBENA_MPI_GROUP_H

#include "group/session.h"
#include "rt/rt.h"

typedef struct mpi_group {
    obj_t obj;
    rt_group_t *ranks;
    mpi_session_t *session; /* that it was derived of; NULL: of none */
} mpi_group_t;

/* MPI_SUCCESS with the ranks behind a handle, which stay the handle's; or MPI_ERR_GROUP. */
int group_find(MPI_Group handle, const char *name, rt_group_t **ranks_p);
/* A handle for these ranks, which the call takes over also when it fails (NULL: no memory left). */
int group_make(rt_group_t *ranks, mpi_session_t *session, MPI_Group *handle_p);
/* The session of a handle that group_find has accepted; NULL: none. */
mpi_session_t *group_session(MPI_Group handle);
/* How two groups compare, as MPI_IDENT (same order), MPI_SIMILAR or MPI_UNEQUAL. */
int group_compare(const rt_group_t *a, const rt_group_t *b);

#endif
