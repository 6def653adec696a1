/* SPDX-License-Identifier: Apache-2.0
 * levels.c - which ranks of a set share a node (levels.h, L1 and L2).
 */
#include "grp/levels.h"

#include <stdlib.h>

enum { LEVELS_NEW, LEVELS_NONE, LEVELS_FOUND }; /* grp_t.levels_state */

typedef struct member {
    int node; /* the launcher's number */
    int rank; /* in the set */
} member_t;

/* The members on one node: consecutive entries of the list that is sorted by node. */
typedef struct range {
    const member_t *first;
    int count;
} range_t;

typedef struct map {
    const rt_group_t *ranks;
    member_t *members;
    range_t *ranges; /* in the order of their first ranks */
    int nodes;
    int ordered;
} map_t;

static int by_node(const void *a, const void *b)
{
    const member_t *one = a;
    const member_t *two = b;
    return one->node != two->node ? (one->node < two->node ? -1 : 1) : one->rank - two->rank;
}

static int by_first(const void *a, const void *b)
{
    return ((const range_t *)a)->first->rank - ((const range_t *)b)->first->rank;
}

/* 0: it has no levels. */
static int list(map_t *map, const rt_group_t *ranks)
{
    const int size = ranks->size;
    int pairs = 0;
    map->ranks = ranks;
    for (int i = 0; i < size; i++)
        map->members[i] = (member_t){.node = pmi_node(&rt.pmi, rt_group_world(ranks, i)), .rank = i};
    qsort(map->members, (size_t)size, sizeof(member_t), by_node);
    map->ordered = 1;
    for (int i = 0; i < size; i++) {
        const member_t *member = &map->members[i];
        if (i == 0 || member->node != member[-1].node) {
            map->ranges[map->nodes] = (range_t){.first = member};
            map->nodes++;
        } else {
            pairs++;
            map->ordered &= member->rank == member[-1].rank + 1;
        }
        map->ranges[map->nodes - 1].count++;
    }
    qsort(map->ranges, (size_t)map->nodes, sizeof(range_t), by_first);
    return map->nodes > 1 && pairs > 0 && map->members[0].node >= 0;
}

/* Ranks per node where all have so many but for the last one; else 0. */
static int ranks_each(const map_t *map)
{
    const int each = map->ranges[0].count;
    for (int i = 0; i < map->nodes; i++) {
        const int count = map->ranges[i].count;
        if (!map->ordered || (i + 1 < map->nodes ? count != each : count > each))
            return 0;
    }
    return each;
}

/* The ranks of one node, or the first one of each. */
static rt_group_t *group_of(const map_t *map, const range_t *range)
{
    const int count = range != NULL ? range->count : map->nodes;
    int *worlds = malloc((size_t)count * sizeof(int));
    if (worlds == NULL)
        return NULL;
    for (int i = 0; i < count; i++)
        worlds[i] = rt_group_world(map->ranks, range != NULL ? range->first[i].rank : map->ranges[i].first->rank);
    rt_group_t *group = rt_group_create(worlds, count);
    free(worlds);
    return group;
}

static int *places_of(const map_t *map)
{
    int *places = malloc((size_t)map->ranks->size * sizeof(*places));
    for (int i = 0; i < map->nodes && places != NULL; i++)
        for (int j = 0; j < map->ranges[i].count; j++)
            places[map->ranges[i].first[j].rank] = i;
    return places;
}

static levels_t *make(const map_t *map, grp_t *outer)
{
    levels_t *levels = calloc(1, sizeof(*levels));
    if (levels == NULL)
        return NULL;
    while (map->ranges[levels->place].first->node != pmi_node(&rt.pmi, rt.rank))
        levels->place++;
    levels->ordered = map->ordered;
    levels->each = ranks_each(map);
    levels->near = group_of(map, &map->ranges[levels->place]);
    levels->heads = group_of(map, NULL);
    levels->places = levels->each == 0 ? places_of(map) : NULL;
    levels->inside = (grp_t){.ranks = levels->near, .base = outer->base | GRP_INSIDE, .slots = 1, .outer = outer};
    if (levels->near != NULL && levels->heads != NULL && (levels->each > 0 || levels->places != NULL))
        return levels;
    levels_release(levels);
    return NULL;
}

static int find(grp_t *grp)
{
    const size_t size = (size_t)grp_size(grp);
    map_t map = {.members = malloc(size * sizeof(member_t)), .ranges = calloc(size, sizeof(range_t))};
    int status = map.members != NULL && map.ranges != NULL ? 0 : VBN_ERR_NO_MEMORY;
    const int has_levels = status == 0 && list(&map, grp->ranks);
    if (status == 0)
        grp->nodes = map.nodes;
    if (has_levels) {
        grp->levels = make(&map, grp);
        status = grp->levels != NULL ? 1 : VBN_ERR_NO_MEMORY;
    }
    free(map.members);
    free(map.ranges);
    return status;
}

int levels_find(grp_t *grp)
{
    if (grp->levels_state != LEVELS_NEW)
        return grp->levels_state == LEVELS_FOUND;
    if (grp->slots == 0 || rt.pmi.mapping == NULL) {
        grp->levels_state = LEVELS_NONE;
        grp->nodes = 1;
        return 0;
    }
    const int status = find(grp);
    if (status >= 0)
        grp->levels_state = status > 0 ? LEVELS_FOUND : LEVELS_NONE;
    return status;
}

void levels_release(levels_t *levels)
{
    if (levels == NULL)
        return;
    rt_group_release(levels->near);
    rt_group_release(levels->heads);
    free(levels->places);
    free(levels);
}

int levels_place(const levels_t *levels, int rank)
{
    return levels->each > 0 ? rank / levels->each : levels->places[rank];
}
