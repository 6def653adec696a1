/* SPDX-License-Identifier: Apache-2.0
 * units.c - units of ranks, and their data side by side (units.h).
 */
#include "grp/units.h"

units_t units_of(const sched_t *sched)
{
    units_t units = {.ranks = sched->ranks, .count = sched_size(sched), .mine = sched_rank(sched)};
    if (sched->levels == NULL || !sched->levels->ordered)
        return units;
    units.levels = sched->levels;
    units.count = units.levels->heads->size;
    units.mine = units.levels->place;
    return units;
}

int units_find(const units_t *units, int rank)
{
    return units->levels == NULL ? rank : levels_place(units->levels, rank);
}

int units_first(const units_t *units, int unit)
{
    if (unit == units->count)
        return units->ranks->size;
    if (units->levels == NULL)
        return unit;
    if (units->levels->each > 0)
        return unit * units->levels->each;
    return rt_group_find(units->ranks, rt_group_world(units->levels->heads, unit));
}

int units_ranks(const units_t *units, int unit, int count)
{
    const int end = unit + count;
    if (end <= units->count)
        return units_first(units, end) - units_first(units, unit);
    return units->ranks->size - units_first(units, unit) + units_first(units, end - units->count);
}

int units_speaker(const units_t *units, int unit, int root)
{
    return units_find(units, root) == unit ? root : units_first(units, unit);
}

typedef void (*run_func_t)(sched_t *sched, char *block, char *packed, size_t length);

/* Blocks that lie side by side are one step. */
static void each_run(sched_t *sched, const grp_blocks_t *blocks, int first, char *packed, run_func_t run)
{
    const int size = sched_size(sched);
    char *begin = NULL;
    size_t length = 0;
    for (int i = 0; i < size; i++) {
        const int rank = (first + i) % size;
        char *block = grp_block(blocks, rank);
        const size_t bytes = blocks->length(blocks, rank);
        if (length > 0 && block != begin + length) {
            run(sched, begin, packed, length);
            packed += length;
            length = 0;
        }
        if (length == 0)
            begin = block;
        length += bytes;
    }
    run(sched, begin, packed, length);
}

static void pack_run(sched_t *sched, char *block, char *packed, size_t length)
{
    sched_copy(sched, packed, block, length);
}

static void unpack_run(sched_t *sched, char *block, char *packed, size_t length)
{
    sched_copy(sched, block, packed, length);
}

void units_pack(sched_t *sched, const grp_blocks_t *blocks, int first, void *packed)
{
    each_run(sched, blocks, first, packed, pack_run);
}

void units_unpack(sched_t *sched, const grp_blocks_t *blocks, int first, const void *packed)
{
    each_run(sched, blocks, first, (void *)(uintptr_t)packed, unpack_run);
}
