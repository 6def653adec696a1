/* SPDX-License-Identifier: Apache-2.0
 * group_coll.h - collectives on bytes over a set of ranks (coll.c), for teams (team_coll.c) and active sets (set_coll.c).
 * Inside the runtime; failures end the job.
 */
#ifndef VERBENA_SHMEM_GROUP_COLL_H
#define VERBENA_SHMEM_GROUP_COLL_H

#include "shmem/src/coll.h"

/* Ends the job when the status of a collective is a failure. */
void shm_done(const char *function, int status);
void shm_group_barrier(grp_t *grp, const char *function);
/* at_root: dest is written at the root, too. */
void shm_group_broadcast(grp_t *grp, void *dest, const void *source, size_t length, int root, int at_root,
                         const char *function);
void shm_group_collect(grp_t *grp, void *dest, const void *source, size_t length, const char *function);
void shm_group_fcollect(grp_t *grp, void *dest, const void *source, size_t length, const char *function);
void shm_group_alltoall(grp_t *grp, void *dest, const void *source, size_t length, const char *function);
void shm_group_alltoalls(grp_t *grp, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t element,
                         size_t count, const char *function);
void shm_group_reduce(grp_t *grp, void *dest, const void *source, size_t count, size_t element, MPI_Op op,
                      MPI_Datatype type, const char *function);
void shm_group_scan(grp_t *grp, void *dest, const void *source, size_t count, size_t element, MPI_Datatype type,
                    int exclusive, const char *function);

#endif
