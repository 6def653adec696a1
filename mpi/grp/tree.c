/* SPDX-License-Identifier: Apache-2.0
 * tree.c - gather and scatter of small blocks of one length: a binomial tree over the units (units.h), in each of which one
 * rank speaks for the others. Whoever speaks has the blocks of its part of the tree side by side in memory of the schedule.
 */
#include "grp/steps.h"
#include "grp/table.h"
#include "grp/units.h"

#define WINDOW 32 /* messages within a unit that are in flight at a time */

/* This rank's place in the tree. */
typedef struct tree {
    sched_t *sched;
    units_t units;
    int root;
    int speaker; /* of this rank's unit */
    int above;   /* units between the root's and this one */
    int covers;  /* units of its part, this one first */
    int low;     /* distance to the unit above it; at the root more than there are */
    size_t length;
    char *packed; /* blocks of its part */
} tree_t;

static tree_t tree_of(sched_t *sched, size_t length, int root)
{
    tree_t tree = {.sched = sched, .units = units_of(sched), .root = root, .low = 1, .length = length};
    const units_t *units = &tree.units;
    tree.speaker = units_speaker(units, units->mine, root);
    tree.above = (units->mine - units_find(units, root) + units->count) % units->count;
    while (tree.low < units->count && (tree.above & tree.low) == 0)
        tree.low *= 2;
    tree.covers = tree.low < units->count - tree.above ? tree.low : units->count - tree.above;
    return tree;
}

static int open_packed(tree_t *tree)
{
    const size_t blocks = (size_t)units_ranks(&tree->units, tree->units.mine, tree->covers);
    tree->packed = sched_memory(tree->sched, blocks * tree->length);
    return tree->packed != NULL;
}

/* The speaker of the unit so far behind this one. */
static int speaker_at(const tree_t *tree, int distance)
{
    const int unit = (tree->units.mine + distance + tree->units.count) % tree->units.count;
    return units_speaker(&tree->units, unit, tree->root);
}

/* The blocks of the part that begins so far behind this unit. */
static char *part_at(const tree_t *tree, int distance, size_t *bytes_p)
{
    const int unit = (tree->units.mine + distance) % tree->units.count;
    const int left = tree->covers - distance;
    *bytes_p = (size_t)units_ranks(&tree->units, unit, distance < left ? distance : left) * tree->length;
    return tree->packed + (size_t)units_ranks(&tree->units, tree->units.mine, distance) * tree->length;
}

typedef void (*message_t)(sched_t *sched, int rank, void *at, size_t length);

static void receive(sched_t *sched, int rank, void *at, size_t length)
{
    sched_recv(sched, rank, at, length);
}

static void give(sched_t *sched, int rank, void *at, size_t length)
{
    sched_send(sched, rank, at, length);
}

/* A message with each other rank of the unit. Returns the place of this rank's block. */
static char *within(const tree_t *tree, message_t message)
{
    const int first = units_first(&tree->units, tree->units.mine);
    const int end = units_first(&tree->units, tree->units.mine + 1);
    for (int rank = first; rank < end; rank++) {
        if (rank == tree->speaker)
            continue;
        message(tree->sched, rank, tree->packed + (size_t)(rank - first) * tree->length, tree->length);
        if (rank - first >= WINDOW)
            sched_wait(tree->sched, WINDOW - 1);
    }
    return tree->packed + (size_t)(tree->speaker - first) * tree->length;
}

static int is_for(table_row_t row, const tree_t *tree)
{
    const int is_few = table_is_few(row, sched_size(tree->sched), tree->sched->nodes, tree->length);
    return grp_choose(tree->sched->call, GRP_TREE, is_few, tree->length) && tree->units.count > 1;
}

void steps_gather_each(sched_t *sched, const void *mine, size_t length, const grp_blocks_t *blocks, int root)
{
    const int is_root = sched_rank(sched) == root;
    tree_t tree = tree_of(sched, is_root ? blocks->length(blocks, root) : length, root);
    size_t bytes;
    if (!is_for(TABLE_GATHER_STEPS, &tree)) {
        steps_gather(sched, mine, length, blocks, root);
        return;
    }
    if (sched_rank(sched) != tree.speaker) {
        sched_send(sched, tree.speaker, mine, length);
        return;
    }
    if (!open_packed(&tree))
        return;
    char *own = within(&tree, receive);
    steps_own(sched, own, tree.length, mine != NULL ? mine : grp_block(blocks, root),
              mine != NULL ? length : tree.length);
    for (int bit = 1; bit < tree.covers; bit *= 2) {
        char *part = part_at(&tree, bit, &bytes);
        sched_recv(sched, speaker_at(&tree, bit), part, bytes);
    }
    sched_wait(sched, 0);
    if (is_root)
        units_unpack(sched, blocks, units_first(&tree.units, tree.units.mine), tree.packed);
    else
        sched_send(sched, speaker_at(&tree, -tree.low), tree.packed,
                   (size_t)units_ranks(&tree.units, tree.units.mine, tree.covers) * tree.length);
}

void steps_scatter_each(sched_t *sched, const grp_blocks_t *blocks, void *mine, size_t length, int root)
{
    const int is_root = sched_rank(sched) == root;
    tree_t tree = tree_of(sched, is_root ? blocks->length(blocks, root) : length, root);
    size_t bytes;
    int bit = 1;
    if (!is_for(TABLE_SCATTER_STEPS, &tree)) {
        steps_scatter(sched, blocks, mine, length, root);
        return;
    }
    if (sched_rank(sched) != tree.speaker) {
        sched_recv(sched, tree.speaker, mine, length);
        sched_wait(sched, 0);
        return;
    }
    if (!open_packed(&tree))
        return;
    if (is_root)
        units_pack(sched, blocks, units_first(&tree.units, tree.units.mine), tree.packed);
    else
        sched_recv(sched, speaker_at(&tree, -tree.low), tree.packed,
                   (size_t)units_ranks(&tree.units, tree.units.mine, tree.covers) * tree.length);
    sched_wait(sched, 0);
    while (bit < tree.covers)
        bit *= 2;
    for (bit /= 2; bit > 0; bit /= 2) {
        char *part = part_at(&tree, bit, &bytes);
        sched_send(sched, speaker_at(&tree, bit), part, bytes);
    }
    const char *own = within(&tree, give);
    if (mine != NULL)
        steps_own(sched, mine, length, own, tree.length);
}
