/* SPDX-License-Identifier: Apache-2.0
 * reduce_scatter.c - reduce_scatter: each rank's part of the vector that all combine to (parts.h). Long parts go by pairs of
 * ranks, short ones by halving; both on one level or two.
 */
#include "grp/parts.h"
#include "grp/table.h"

/* Adds those of a rank of this node: columns i, i + P and so on of as many as the largest node has ranks. */
static int add_columns(const parts_t *parts, columns_t *columns, int i, int most, int place)
{
    int *next = i == parts->own ? columns->nodes : NULL;
    for (int q = i; q < most; q += parts->near) {
        for (int node = 0; node < parts->nodes; node++) {
            if (next != NULL)
                *next++ = place;
            if (q < parts_ranks(parts, node))
                columns->list.ranks[place++] = parts_rank(parts, node, q);
        }
        if (next != NULL)
            *next++ = place;
    }
    return place;
}

static int columns_open(const parts_t *parts, columns_t *columns)
{
    int most = 0;
    int place = 0;
    for (int node = 0; node < parts->nodes; node++)
        most = parts_ranks(parts, node) > most ? parts_ranks(parts, node) : most;
    columns->count = (most - parts->own + parts->near - 1) / parts->near;
    columns->firsts = sched_memory(parts->sched, ((size_t)parts->near + 1) * sizeof(int));
    columns->nodes = sched_memory(parts->sched, (size_t)columns->count * ((size_t)parts->nodes + 1) * sizeof(int));
    if (!parts_list_open(parts, &columns->list, sched_size(parts->sched)) || columns->firsts == NULL ||
        columns->nodes == NULL)
        return 0;
    for (int i = 0; i < parts->near; i++) {
        columns->firsts[i] = place;
        place = add_columns(parts, columns, i, most, place);
    }
    columns->firsts[parts->near] = place;
    parts_list_end(&columns->list, place);
    return 1;
}

/* Pairs have memory for windows of the largest part, which a few large ones make many times the vector. */
static int is_uneven(const grp_parts_t *given, int size, size_t average)
{
    size_t most = 0;
    for (int rank = 0; rank < size; rank++) {
        const size_t bytes = given->starts[rank + 1] - given->starts[rank];
        most = bytes > most ? bytes : most;
    }
    return most / 4 > average;
}

void parts_reduce_scatter(sched_t *sched, const grp_parts_t *given, void *result, int two)
{
    const int size = sched_size(sched);
    const size_t average = given->starts[size] / (size_t)size;
    const size_t counted = is_uneven(given, size, average) ? 0 : average; /* halving, unless the table is forced */
    const int is_few = grp_choose(sched->call, GRP_HALVING,
                                  table_is_few(TABLE_REDUCE_SCATTER_STEPS, size, sched->nodes, counted), average);
    const char *near = given->from;
    parts_t parts;
    columns_t columns;
    if (!parts_open(&parts, sched, given, two) || !columns_open(&parts, &columns))
        return;
    if (two)
        near = (is_few ? halving_among_near : pairs_among_near)(&parts, &columns);
    (is_few ? halving_between_nodes : pairs_between_nodes)(&parts, &columns, near, result);
}
