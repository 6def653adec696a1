/* SPDX-License-Identifier: Apache-2.0
 * coll.h - collectives of teams and of active sets, over grp/.
 */
#ifndef VERBENA_SHMEM_COLL_H
#define VERBENA_SHMEM_COLL_H

#include <mpi.h> /* names of operations and types of op/ */

#include "shmem/src/shm.h"

void shm_barrier_all(const char *function);
void shm_sync_all(const char *function);
int shm_team_sync(shmem_team_t team, const char *function);
/* length, in bytes, of what a PE gives; strides and count in elements */
int shm_broadcast(shmem_team_t team, void *dest, const void *source, size_t length, int root, const char *function);
int shm_collect(shmem_team_t team, void *dest, const void *source, size_t length, const char *function);
int shm_fcollect(shmem_team_t team, void *dest, const void *source, size_t length, const char *function);
int shm_alltoall(shmem_team_t team, void *dest, const void *source, size_t length, const char *function);
int shm_alltoalls(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t element,
                  size_t count, const char *function);
int shm_reduce(shmem_team_t team, void *dest, const void *source, size_t count, size_t element, MPI_Op op,
               MPI_Datatype type, const char *function);
int shm_scan(shmem_team_t team, void *dest, const void *source, size_t count, size_t element, MPI_Datatype type,
             int exclusive, const char *function);

/* The deprecated forms: PEs start, start + 2^log, ... */
void shm_set_barrier(int start, int log, int size, int complete, const char *function);
void shm_set_broadcast(void *dest, const void *source, size_t length, int root, int start, int log, int size,
                       const char *function);
void shm_set_collect(void *dest, const void *source, size_t length, int start, int log, int size, const char *function);
void shm_set_fcollect(void *dest, const void *source, size_t length, int start, int log, int size,
                      const char *function);
void shm_set_alltoall(void *dest, const void *source, size_t length, int start, int log, int size,
                      const char *function);
void shm_set_alltoalls(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t element, size_t count,
                       int start, int log, int size, const char *function);
void shm_set_reduce(void *dest, const void *source, int count, size_t element, MPI_Op op, MPI_Datatype type, int start,
                    int log, int size, const char *function);

#endif
