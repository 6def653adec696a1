/* SPDX-License-Identifier: Apache-2.0
 * set_coll.c - the deprecated collectives of active sets: PEs start, start + 2^log, ... Each set is kept once it was used.
 *
 * All sets share the tags of their messages: between two PEs messages are matched in the order in which both call
 * collectives, whichever sets those are of.
 */
#include <stdlib.h>

#include "shmem/src/entry.h"
#include "shmem/src/group_coll.h"

#define BASE (6ull << 60)

typedef struct set {
    struct set *next;
    int start;
    int log;
    int size;
    grp_t grp;
} set_t;

static set_t *sets;

void shm_sets_close(void)
{
    for (set_t *set; (set = sets) != NULL; free(set)) {
        sets = set->next;
        grp_end(&set->grp);
        rt_group_release((rt_group_t *)(uintptr_t)set->grp.ranks);
    }
}

static void check(int start, int log, int size, const char *function)
{
    shm_check_ready(function);
    if (start < 0 || log < 0 || log > 30 || size < 1 || (int64_t)start + ((int64_t)(size - 1) << log) >= shm.pes)
        shm_fatal(function, "arguments PE_start, logPE_stride, PE_size are %d, %d, %d, but the PEs are 0 to %d", start,
                  log, size, shm.pes - 1);
    const int distance = shm.pe - start;
    if (distance < 0 || distance & ((1 << log) - 1) || distance >> log >= size)
        shm_fatal(function, "this PE is not in the active set %d, %d, %d", start, log, size);
}

/* Enters the runtime. */
static grp_t *enter(int start, int log, int size, const char *function)
{
    check(start, log, size, function);
    rt_enter();
    for (set_t *set = sets; set != NULL; set = set->next)
        if (set->start == start && set->log == log && set->size == size)
            return &set->grp;
    set_t *set = calloc(1, sizeof(*set));
    rt_group_t *ranks = rt_group_range(start, 1 << log, size);
    if (set == NULL || ranks == NULL)
        shm_fatal(function, "no memory left for an active set");
    *set = (set_t){.next = sets, .start = start, .log = log, .size = size, .grp = {.ranks = ranks, .base = BASE}};
    sets = set;
    return &set->grp;
}

void shm_set_barrier(int start, int log, int size, int complete, const char *function)
{
    grp_t *grp = enter(start, log, size, function);
    if (complete)
        shm_quiet(&shm_default);
    shm_group_barrier(grp, function);
    rt_leave();
}

void shm_set_broadcast(void *dest, const void *source, size_t length, int root, int start, int log, int size,
                       const char *function)
{
    grp_t *grp = enter(start, log, size, function);
    shm_group_broadcast(grp, dest, source, length, root, 0, function);
    rt_leave();
}

void shm_set_collect(void *dest, const void *source, size_t length, int start, int log, int size, const char *function)
{
    grp_t *grp = enter(start, log, size, function);
    shm_group_collect(grp, dest, source, length, function);
    rt_leave();
}

void shm_set_fcollect(void *dest, const void *source, size_t length, int start, int log, int size, const char *function)
{
    grp_t *grp = enter(start, log, size, function);
    shm_group_fcollect(grp, dest, source, length, function);
    rt_leave();
}

void shm_set_alltoall(void *dest, const void *source, size_t length, int start, int log, int size, const char *function)
{
    grp_t *grp = enter(start, log, size, function);
    shm_group_alltoall(grp, dest, source, length, function);
    rt_leave();
}

void shm_set_alltoalls(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t element, size_t count,
                       int start, int log, int size, const char *function)
{
    grp_t *grp = enter(start, log, size, function);
    shm_group_alltoalls(grp, dest, source, dst, sst, element, count, function);
    rt_leave();
}

void shm_set_reduce(void *dest, const void *source, int count, size_t element, MPI_Op op, MPI_Datatype type, int start,
                    int log, int size, const char *function)
{
    if (count < 0)
        shm_fatal(function, "argument nreduce is %d", count);
    grp_t *grp = enter(start, log, size, function);
    shm_group_reduce(grp, dest, source, (size_t)count, element, op, type, function);
    rt_leave();
}
