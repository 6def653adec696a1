/* SPDX-License-Identifier: Apache-2.0
 * ranges.c - sorted ranges; those that touch become one. */
#include "mem/ranges.h"

#include <stdlib.h>
#include <string.h>

/* The first range that ends at or behind `at`. */
static size_t first_from(const mem_ranges_t *ranges, size_t at)
{
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges->all[middle].end < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t mem_ranges_missing(const mem_ranges_t *ranges, size_t start, size_t end)
{
    size_t missing = end - start;
    for (size_t i = first_from(ranges, start); i < ranges->count && ranges->all[i].start < end; i++) {
        size_t from = ranges->all[i].start > start ? ranges->all[i].start : start;
        size_t to = ranges->all[i].end < end ? ranges->all[i].end : end;
        missing -= to > from ? to - from : 0;
    }
    return missing;
}

static bool has_place(mem_ranges_t *ranges)
{
    if (ranges->count < ranges->capacity)
        return true;
    size_t capacity = ranges->capacity == 0 ? 8 : 2 * ranges->capacity;
    mem_range_t *all = realloc(ranges->all, capacity * sizeof(*all));
    if (all == NULL)
        return false;
    ranges->all = all;
    ranges->capacity = capacity;
    return true;
}

void mem_ranges_add(mem_ranges_t *ranges, size_t start, size_t end)
{
    size_t first = first_from(ranges, start), last = first;
    mem_range_t whole = {start, end};
    if (start >= end || !has_place(ranges))
        return;
    for (; last < ranges->count && ranges->all[last].start <= end; last++) {
        whole.start = ranges->all[last].start < whole.start ? ranges->all[last].start : whole.start;
        whole.end = ranges->all[last].end > whole.end ? ranges->all[last].end : whole.end;
    }
    memmove(ranges->all + first + 1, ranges->all + last, (ranges->count - last) * sizeof(*ranges->all));
    ranges->count += 1 - (last - first);
    ranges->all[first] = whole;
}

/* What is left of the last range touched, behind `end`, becomes one of its own. */
static void cut_within(mem_ranges_t *ranges, size_t at, size_t start, size_t end)
{
    mem_range_t behind = {end, ranges->all[at].end};
    ranges->all[at].end = start;
    if (!has_place(ranges))
        return;
    memmove(ranges->all + at + 2, ranges->all + at + 1, (ranges->count - at - 1) * sizeof(*ranges->all));
    ranges->all[at + 1] = behind;
    ranges->count++;
}

void mem_ranges_remove(mem_ranges_t *ranges, size_t start, size_t end)
{
    size_t first = first_from(ranges, start), last;
    if (start >= end || first == ranges->count)
        return;
    if (ranges->all[first].start < start) {
        if (ranges->all[first].end > end) {
            cut_within(ranges, first, start, end);
            return;
        }
        ranges->all[first++].end = start;
    }
    for (last = first; last < ranges->count && ranges->all[last].end <= end; last++)
        continue;
    memmove(ranges->all + first, ranges->all + last, (ranges->count - last) * sizeof(*ranges->all));
    ranges->count -= last - first;
    if (first < ranges->count && ranges->all[first].start < end)
        ranges->all[first].start = end;
}

void mem_ranges_clear(mem_ranges_t *ranges)
{
    free(ranges->all);
    *ranges = (mem_ranges_t){0};
}
