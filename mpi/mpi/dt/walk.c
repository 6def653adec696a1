/* SPDX-License-Identifier: Apache-2.0
 * walk.c - the runs of a part of a node's packed form. The part may begin and end within a run: where it begins is
 * found without walking what lies before it.
 */
#include "dt/node.h"

static char *address(uintptr_t base, MPI_Aint offset)
{
    return (char *)(base + (uintptr_t)offset); /* base 0: offsets are addresses */
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void walk_runs(const dt_node_t *node, uintptr_t base, size_t from, size_t to, dt_sink_t *sink)
{
    const size_t skip = from % node->length;
    uintptr_t at = base + (uintptr_t)node->offset + (from / node->length) * (uintptr_t)node->stride;
    if (skip > 0) {
        const size_t part = least(node->length - skip, to - from);
        sink->take(sink, address(at, (MPI_Aint)skip), part, 0, 1);
        from += part;
        at += (uintptr_t)node->stride;
    }
    const size_t whole = (to - from) / node->length;
    if (whole > 0)
        sink->take(sink, address(at, 0), node->length, node->stride, whole);
    from += whole * node->length;
    if (from < to)
        sink->take(sink, address(at + whole * (uintptr_t)node->stride, 0), to - from, 0, 1);
}

static void walk_loop(const dt_node_t *node, uintptr_t base, size_t from, size_t to, dt_sink_t *sink)
{
    const size_t bytes = node->child->bytes;
    size_t index = from / bytes;
    uintptr_t at = base + (uintptr_t)node->offset + index * (uintptr_t)node->stride;
    for (; from < to; index++, at += (uintptr_t)node->stride) {
        const size_t start = index * bytes;
        const size_t end = least(to, start + bytes);
        dt_node_walk(node->child, at, from - start, end - start, sink);
        from = end;
    }
}

/* The entry that holds this byte of the packed form. */
static size_t find_entry(const dt_node_t *node, size_t byte)
{
    size_t low = 0;
    size_t high = node->count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (node->entries[middle].start <= byte)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Entries in a row that are runs and end before `to`. The end of the list starts there or later. */
static size_t whole_runs(const dt_entry_t *entry, size_t to)
{
    size_t count = 0;
    while (entry[count].start < to && entry[count].node == NULL && entry[count + 1].start <= to)
        count++;
    return count;
}

static void walk_list(const dt_node_t *node, uintptr_t base, size_t from, size_t to, dt_sink_t *sink)
{
    const dt_entry_t *entry = &node->entries[from == 0 ? 0 : find_entry(node, from)];
    while (from < to) {
        const size_t whole = from == entry->start ? whole_runs(entry, to) : 0;
        if (whole > 0) {
            sink->take_list(sink, base, entry, whole);
            entry += whole;
            from = entry->start;
            continue;
        }
        const size_t end = least(to, entry[1].start);
        const uintptr_t at = base + (uintptr_t)entry->offset;
        if (entry->node != NULL)
            dt_node_walk(entry->node, at, from - entry->start, end - entry->start, sink);
        else
            sink->take(sink, address(at, (MPI_Aint)(from - entry->start)), end - from, 0, 1);
        from = end;
        entry++;
    }
}

void dt_node_walk(const dt_node_t *node, uintptr_t base, size_t from, size_t to, dt_sink_t *sink)
{
    if (from >= to)
        return;
    if (node->shape == DT_RUNS)
        walk_runs(node, base, from, to, sink);
    else if (node->shape == DT_LOOP)
        walk_loop(node, base, from, to, sink);
    else
        walk_list(node, base, from, to, sink);
}
