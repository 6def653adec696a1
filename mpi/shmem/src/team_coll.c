/* SPDX-License-Identifier: Apache-2.0
 * team_coll.c - collectives of teams.
 */
#include "shmem/src/group_coll.h"

/* What was put is visible before others go on: the first half of a barrier. */
static void complete(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&shm.touched, memory_order_relaxed) != 0)
        shm_wake_touched();
    if (atomic_load_explicit(&shm_default.pending, memory_order_acquire) != 0)
        shm_drain(&shm_default);
}

void shm_barrier_all(const char *function)
{
    shm_check_ready(function);
    rt_enter();
    complete();
    shm_group_barrier(&shm_world.grp, function);
    rt_leave();
}

void shm_sync_all(const char *function)
{
    shm_check_ready(function);
    rt_enter();
    atomic_thread_fence(memory_order_seq_cst);
    shm_wake_touched();
    shm_group_barrier(&shm_world.grp, function);
    rt_leave();
}

/* The set of the team, entered; NULL: the call is an error that the program sees. */
static grp_t *enter(shmem_team_t team, const char *function)
{
    if (team == SHMEM_TEAM_INVALID)
        return NULL;
    grp_t *grp = &shm_team_find(team, function)->grp;
    rt_enter();
    return grp;
}

int shm_team_sync(shmem_team_t team, const char *function)
{
    grp_t *grp = enter(team, function);
    if (grp == NULL)
        return -1;
    atomic_thread_fence(memory_order_seq_cst);
    shm_wake_touched();
    shm_group_barrier(grp, function);
    rt_leave();
    return 0;
}

int shm_broadcast(shmem_team_t team, void *dest, const void *source, size_t length, int root, const char *function)
{
    grp_t *grp = enter(team, function);
    if (grp == NULL)
        return -1;
    shm_group_broadcast(grp, dest, source, length, root, 1, function);
    rt_leave();
    return 0;
}

int shm_collect(shmem_team_t team, void *dest, const void *source, size_t length, const char *function)
{
    grp_t *grp = enter(team, function);
    if (grp == NULL)
        return -1;
    shm_group_collect(grp, dest, source, length, function);
    rt_leave();
    return 0;
}

int shm_fcollect(shmem_team_t team, void *dest, const void *source, size_t length, const char *function)
{
    grp_t *grp = enter(team, function);
    if (grp == NULL)
        return -1;
    shm_group_fcollect(grp, dest, source, length, function);
    rt_leave();
    return 0;
}

int shm_alltoall(shmem_team_t team, void *dest, const void *source, size_t length, const char *function)
{
    grp_t *grp = enter(team, function);
    if (grp == NULL)
        return -1;
    shm_group_alltoall(grp, dest, source, length, function);
    rt_leave();
    return 0;
}

int shm_alltoalls(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t element,
                  size_t count, const char *function)
{
    grp_t *grp = enter(team, function);
    if (grp == NULL)
        return -1;
    shm_group_alltoalls(grp, dest, source, dst, sst, element, count, function);
    rt_leave();
    return 0;
}

int shm_reduce(shmem_team_t team, void *dest, const void *source, size_t count, size_t element, MPI_Op op,
               MPI_Datatype type, const char *function)
{
    grp_t *grp = enter(team, function);
    if (grp == NULL)
        return -1;
    shm_group_reduce(grp, dest, source, count, element, op, type, function);
    rt_leave();
    return 0;
}

int shm_scan(shmem_team_t team, void *dest, const void *source, size_t count, size_t element, MPI_Datatype type,
             int exclusive, const char *function)
{
    grp_t *grp = enter(team, function);
    if (grp == NULL)
        return -1;
    shm_group_scan(grp, dest, source, count, element, type, exclusive, function);
    rt_leave();
    return 0;
}
