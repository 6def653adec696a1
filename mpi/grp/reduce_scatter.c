/* SPDX-License-Identifier: Apache-2.0
 * reduce_scatter.c - reduce_scatter: each rank's part of the vector that all combine to (parts.h). Long parts go by pairs of
 * ranks, short ones by halving; both on one level or two.
 */
#include "grp/parts.h"
#include "grp/table.h"

static int columns_open(const parts_t *parts, columns_t *columns)
{
    int place = 0;
    columns->firsts = sched_memory(parts->sched, ((size_t)parts->near + 1) * sizeof(int));
    columns->nodes = sched_memory(parts->sched, ((size_t)parts->nodes + 1) * sizeof(int));
    if (!parts_list_open(parts, &columns->list) || columns->firsts == NULL || columns->nodes == NULL)
        return 0;
    for (int q = 0; q < parts->near; q++) {
        columns->firsts[q] = place;
        for (int node = 0; node < parts->nodes; node++) {
            if (q == parts->own)
                columns->nodes[node] = place;
            for (int i = q; i < parts_ranks(parts, node); i += parts->near)
                columns->list.ranks[place++] = parts_rank(parts, node, i);
        }
        if (q == parts->own)
            columns->nodes[parts->nodes] = place;
    }
    columns->firsts[parts->near] = place;
    parts_list_end(&columns->list, place);
    return 1;
}

/* Of two levels; else each node is one rank. */
static int are_equal(const parts_t *parts)
{
    int equal = 1;
    for (int node = 0; node < parts->nodes; node++)
        equal &= parts_ranks(parts, node) == parts->near;
    return equal;
}

void parts_reduce_scatter(sched_t *sched, const grp_parts_t *given, void *result, int two)
{
    const int size = sched_size(sched);
    const size_t average = given->starts[size] / (size_t)size;
    const int is_few = grp_choose(sched->call, GRP_HALVING,
                                  table_is_few(TABLE_REDUCE_SCATTER_STEPS, size, sched->nodes, average), average);
    const char *column = given->from;
    parts_t parts;
    columns_t columns;
    if (!parts_open(&parts, sched, given, two) || !columns_open(&parts, &columns))
        return;
    if (two)
        column = (is_few ? halving_among_near : pairs_among_near)(&parts, &columns);
    (is_few && are_equal(&parts) ? halving_between_nodes : pairs_between_nodes)(&parts, &columns, column, result);
}
