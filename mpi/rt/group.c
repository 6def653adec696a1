/* SPDX-License-Identifier: Apache-2.0
 * group.c - ordered sets of ranks: what is regular takes no memory per rank.
 */
#include "rt/rt.h"

#include <stdlib.h>

static int is_regular(const int *ranks, int size)
{
    const int stride = size < 2 ? 1 : ranks[1] - ranks[0];
    for (int i = 2; i < size; i++)
        if (ranks[i] - ranks[i - 1] != stride)
            return 0;
    return stride != 0;
}

rt_group_t *rt_group_range(int first, int stride, int size)
{
    rt_group_t *group = calloc(1, sizeof(*group));
    if (group == NULL)
        return NULL;
    group->refs = 1;
    group->size = size;
    group->first = first;
    group->stride = stride;
    group->rank = rt_group_find(group, rt.rank);
    return group;
}

static int by_world(const void *a, const void *b, void *arg)
{
    const int *table = arg;
    return table[*(const int *)a] - table[*(const int *)b];
}

static int make_table(rt_group_t *group, const int *ranks)
{
    group->table = malloc((size_t)group->size * sizeof(int));
    group->index = malloc((size_t)group->size * sizeof(int));
    if (group->table == NULL || group->index == NULL)
        return -1;
    for (int i = 0; i < group->size; i++) {
        group->table[i] = ranks[i];
        group->index[i] = i;
    }
    qsort_r(group->index, (size_t)group->size, sizeof(int), by_world, group->table);
    return 0;
}

rt_group_t *rt_group_create(const int *ranks, int size)
{
    if (size == 0 || is_regular(ranks, size))
        return rt_group_range(size == 0 ? 0 : ranks[0], size < 2 ? 1 : ranks[1] - ranks[0], size);
    rt_group_t *group = calloc(1, sizeof(*group));
    if (group == NULL)
        return NULL;
    group->refs = 1;
    group->size = size;
    if (make_table(group, ranks) != 0) {
        rt_group_release(group);
        return NULL;
    }
    group->rank = rt_group_find(group, rt.rank);
    return group;
}

void rt_group_release(rt_group_t *group)
{
    if (group == NULL || --group->refs > 0)
        return;
    free(group->table);
    free(group->index);
    free(group);
}

static int find_in_table(const rt_group_t *group, int world_rank)
{
    int low = 0;
    int high = group->size;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const int at = group->table[group->index[middle]];
        if (at == world_rank)
            return group->index[middle];
        if (at < world_rank)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

int rt_group_find(const rt_group_t *group, int world_rank)
{
    if (group->table != NULL)
        return find_in_table(group, world_rank);
    const int distance = world_rank - group->first;
    if (distance % group->stride != 0 || distance / group->stride < 0 || distance / group->stride >= group->size)
        return -1;
    return distance / group->stride;
}
