/* SPDX-License-Identifier: Apache-2.0
 * spread.c - allgather of small blocks in ceil(log2) rounds between the units (units.h): Bruck's algorithm, in each round twice as
 * many units as before. Within a unit the first rank collects before and spreads afterwards. Every rank has all blocks
 * side by side, its own unit first, in memory of the schedule, and then copies them to where they belong.
 */
#include "grp/steps.h"
#include "grp/table.h"
#include "grp/units.h"

#define WINDOW 32

typedef struct spread {
    sched_t *sched;
    units_t units;
    const grp_blocks_t *blocks;
    size_t *ends; /* by rank: bytes of the blocks before it */
    char *packed;
} spread_t;

static size_t between(const spread_t *spread, int unit, int count)
{
    const size_t begin = spread->ends[units_first(&spread->units, unit)];
    const int end = unit + count;
    if (end <= spread->units.count)
        return spread->ends[units_first(&spread->units, end)] - begin;
    return spread->ends[spread->units.ranks->size] - begin +
           spread->ends[units_first(&spread->units, end - spread->units.count)];
}

static void collect(const spread_t *spread, int first, int end)
{
    sched_t *sched = spread->sched;
    for (int rank = first; rank < end; rank++) {
        char *place = spread->packed + (spread->ends[rank] - spread->ends[first]);
        const size_t length = spread->blocks->length(spread->blocks, rank);
        if (rank == sched_rank(sched))
            sched_copy(sched, place, grp_block(spread->blocks, rank), length);
        else
            sched_recv(sched, rank, place, length);
        if (rank - first >= WINDOW)
            sched_wait(sched, WINDOW - 1);
    }
    sched_wait(sched, 0);
}

static void double_up(const spread_t *spread)
{
    const units_t *units = &spread->units;
    sched_t *sched = spread->sched;
    for (int have = 1; have < units->count; have *= 2) {
        const int more = have < units->count - have ? have : units->count - have;
        const int from = (units->mine + have) % units->count;
        const int to = (units->mine - have + units->count) % units->count;
        sched_recv(sched, units_first(units, from), spread->packed + between(spread, units->mine, have),
                   between(spread, from, more));
        sched_send(sched, units_first(units, to), spread->packed, between(spread, units->mine, more));
        sched_wait(sched, 0);
    }
}

/* Whether it is for these blocks: the same at all ranks, which know all lengths. */
static int open(spread_t *spread, sched_t *sched, const grp_blocks_t *blocks)
{
    const int size = sched_size(sched);
    size_t total = 0;
    for (int rank = 0; rank < size; rank++)
        total += blocks->length(blocks, rank);
    const size_t average = total / (size_t)size;
    if (!grp_choose(sched->call, GRP_SPREAD, table_is_few(TABLE_ALLGATHER_STEPS, size, sched->nodes, average), average))
        return 0;
    *spread = (spread_t){.sched = sched, .units = units_of(sched), .blocks = blocks};
    spread->ends = sched_memory(sched, ((size_t)size + 1) * sizeof(size_t));
    spread->packed = sched_memory(sched, total);
    if (spread->ends == NULL || spread->packed == NULL)
        return 1; /* the schedule will not start */
    spread->ends[0] = 0;
    for (int rank = 0; rank < size; rank++)
        spread->ends[rank + 1] = spread->ends[rank] + blocks->length(blocks, rank);
    return 1;
}

int steps_spread(sched_t *sched, const grp_blocks_t *blocks)
{
    const int rank = sched_rank(sched);
    spread_t spread;
    if (!open(&spread, sched, blocks))
        return 0;
    if (sched->status < 0)
        return 1;
    const int first = units_first(&spread.units, spread.units.mine);
    const int end = units_first(&spread.units, spread.units.mine + 1);
    if (rank == first) {
        collect(&spread, first, end);
        double_up(&spread);
    } else {
        sched_send(sched, first, grp_block(blocks, rank), blocks->length(blocks, rank));
    }
    if (end - first > 1)
        levels_near_bcast(sched, spread.units.levels, spread.packed, spread.ends[sched_size(sched)]);
    sched_wait(sched, 0);
    units_unpack(sched, blocks, first, spread.packed);
    return 1;
}
