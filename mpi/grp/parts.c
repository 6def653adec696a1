/* SPDX-License-Identifier: Apache-2.0
 * parts.c - parts of a vector by node and in any order; joining partial results (parts.h).
 */
#include "grp/parts.h"

#include <string.h>

/* Ranks by node, in each in their order. */
static int sort_by_node(parts_t *parts)
{
    const levels_t *levels = parts->sched->levels;
    const int size = sched_size(parts->sched);
    const int nodes = levels->heads->size;
    int *members = sched_memory(parts->sched, (size_t)size * sizeof(int));
    int *firsts = sched_memory(parts->sched, ((size_t)nodes + 1) * sizeof(int));
    if (members == NULL || firsts == NULL)
        return 0;
    memset(firsts, 0, ((size_t)nodes + 1) * sizeof(int));
    for (int rank = 0; rank < size; rank++)
        firsts[levels_place(levels, rank) + 1]++;
    for (int node = 0; node < nodes; node++)
        firsts[node + 1] += firsts[node];
    for (int rank = 0; rank < size; rank++)
        members[firsts[levels_place(levels, rank)]++] = rank;
    memmove(firsts + 1, firsts, (size_t)nodes * sizeof(int));
    firsts[0] = 0;
    parts->members = members;
    parts->firsts = firsts;
    return 1;
}

int parts_open(parts_t *parts, sched_t *sched, const grp_parts_t *given, int two)
{
    *parts = (parts_t){
        .sched = sched, .given = *given, .nodes = sched_size(sched), .node = sched_rank(sched), .near = 1};
    if (!two)
        return 1;
    parts->nodes = sched->levels->heads->size;
    parts->node = sched->levels->place;
    parts->near = sched->levels->near->size;
    parts->own = sched->levels->near->rank;
    return sort_by_node(parts);
}

int parts_list_open(const parts_t *parts, parts_list_t *list, int places)
{
    const size_t size = (size_t)places;
    list->given = parts->given;
    list->ranks = sched_memory(parts->sched, size * sizeof(*list->ranks));
    list->starts = sched_memory(parts->sched, (size + 1) * sizeof(*list->starts));
    return list->ranks != NULL && list->starts != NULL;
}

static size_t length_of(const grp_parts_t *given, int rank)
{
    return given->starts[rank + 1] - given->starts[rank];
}

void parts_list_end(parts_list_t *list, int places)
{
    list->starts[0] = 0;
    for (int place = 0; place < places; place++)
        list->starts[place + 1] = list->starts[place] + length_of(&list->given, list->ranks[place]);
}

/* Places of a list, for steps. */
typedef struct range {
    grp_reduce_t reduce; /* of all of them as one element */
    parts_list_t list;
    int from;
    int end;
    char *to;
} range_t;

static range_t *range_of(sched_t *sched, const parts_list_t *list, int from, int end)
{
    range_t *range = sched_memory(sched, sizeof(*range));
    if (range != NULL)
        *range = (range_t){.list = *list, .from = from, .end = end};
    return range;
}

static int pack(void *arg)
{
    const range_t *range = arg;
    const parts_list_t *list = &range->list;
    for (int place = range->from; place < range->end; place++) {
        const int rank = list->ranks[place];
        const size_t length = length_of(&list->given, rank);
        if (length > 0) /* a vector of no bytes may have no address */
            memcpy(range->to + parts_bytes(list, range->from, place),
                   (const char *)list->given.from + list->given.starts[rank], length);
    }
    return 0;
}

void parts_pack(sched_t *sched, const parts_list_t *list, int from, int end, void *to)
{
    range_t *range = range_of(sched, list, from, end);
    if (range == NULL)
        return;
    range->to = to;
    sched_call(sched, pack, range);
}

static void apply_to_each(const grp_reduce_t *reduce, const void *in, void *inout, size_t count)
{
    const range_t *range = reduce->arg;
    (void)count;
    for (int place = range->from; place < range->end; place++) {
        const grp_reduce_t *one = range->list.given.whole[range->list.ranks[place]];
        const size_t at = parts_bytes(&range->list, range->from, place) + one->before;
        if (parts_bytes(&range->list, place, place + 1) > 0)
            one->apply(one, (const char *)in + at, (char *)inout + at, 1);
    }
}

parts_piece_t parts_piece(sched_t *sched, const parts_list_t *list, int from, int end)
{
    const grp_reduce_t *reduce = list->given.reduce;
    const size_t bytes = parts_bytes(list, from, end);
    if (list->given.whole == NULL)
        return (parts_piece_t){reduce, reduce->element == 0 ? 0 : bytes / reduce->element};
    range_t *range = range_of(sched, list, from, end);
    if (range == NULL)
        return (parts_piece_t){reduce, 0};
    range->reduce = (grp_reduce_t){.apply = apply_to_each,
                                   .arg = range,
                                   .element = bytes,
                                   .commutes = reduce->commutes,
                                   .foreign = reduce->foreign};
    return (parts_piece_t){&range->reduce, bytes > 0};
}

void join_open(join_t *join, sched_t *sched, int leaves, size_t bytes, parts_piece_t piece)
{
    join->sched = sched;
    join->piece = piece;
    join->bytes = bytes;
    join->leaves = leaves;
    join->held = 0;
    join->free = 0;
}

char *join_room(join_t *join)
{
    return join->free > 0 ? join->rooms[--join->free] : sched_memory(join->sched, join->bytes);
}

static void hold(join_t *join, int level, int index, char *at)
{
    join->parts[join->held].at = at;
    join->parts[join->held].level = level;
    join->parts[join->held].index = index;
    join->held++;
}

/* Takes it out; NULL: it is not there yet. */
static char *find(join_t *join, int level, int index)
{
    for (int i = 0; i < join->held; i++) {
        if (join->parts[i].level != level || join->parts[i].index != index)
            continue;
        char *at = join->parts[i].at;
        join->parts[i] = join->parts[--join->held];
        return at;
    }
    return NULL;
}

/* Up the tree as far as neighbours are there. The higher operand's room has the result. */
void join_take(join_t *join, int leaf, char *room)
{
    int level = 0;
    int index = leaf;
    if (room == NULL)
        return;
    for (; 1LL << level < join->leaves; level++, index /= 2) {
        const int other = index ^ 1;
        if ((long long)other << level >= join->leaves)
            continue; /* nobody there */
        char *found = find(join, level, other);
        if (found == NULL)
            break;
        char *lower = index < other ? room : found;
        char *upper = index < other ? found : room;
        sched_reduce(join->sched, join->piece.reduce, lower, upper, join->piece.count);
        join->rooms[join->free++] = lower;
        room = upper;
    }
    hold(join, level, index, room);
}

char *join_result(const join_t *join)
{
    return join->held > 0 ? join->parts[0].at : NULL;
}
