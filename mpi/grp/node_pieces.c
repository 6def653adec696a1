/* SPDX-License-Identifier: Apache-2.0
 * node_pieces.c - reduce and allreduce of much data within a node: in pieces through node memory, of each of which every rank
 * reduces its share out of all ranks' memory. Two phases for each piece: a rank's elements are there, but for its own share,
 * which nobody else reads; its reduced share is there, in that place. Shares are combined as node_reduce and node_allreduce do
 * it (N4). A root alone waits for the second phase; the others begin the next piece.
 *
 * Each rank has two buffers, for pieces in turns. Who has seen that all have begun a piece knows that all are done with the
 * one before it, so the buffer of that one is free for the next.
 */
#include <stdio.h>
#include <string.h>

#include "grp/node.h"

enum { PIECES_NEW, PIECES_NO, PIECES_YES }; /* node_set_t.pieces_state */

typedef struct piece {
    const grp_reduce_t *reduce;
    const unsigned char *mine;
    unsigned char *result;
    size_t count; /* elements */
    uint64_t number;
    int root; /* -1: all have the result */
} piece_t;

_Static_assert(2 * NODE_SLOTS * NODE_PIECE <= RT_NODE_PIECES, "two buffers for each set of ranks");

static unsigned char *buffer_of(const node_set_t *set, int rank, uint64_t number)
{
    unsigned char *part = rt_node.parts + ((size_t)rt_node_index(set->ranks[rank]) << rt_node.shift);
    return part + (2 * (size_t)set->slot + number % 2) * NODE_PIECE;
}

/* The first byte of a rank's share. */
static size_t start_of(const node_set_t *set, const piece_t *piece, int rank)
{
    return piece->count * (size_t)rank / (size_t)set->size * piece->reduce->element;
}

static void highest(const grp_reduce_t *reduce, const void *in, void *inout, size_t count)
{
    (void)reduce, (void)count;
    if (*(const int *)in > *(int *)inout)
        *(int *)inout = *(const int *)in;
}

int node_pieces_ready(node_set_t *set)
{
    const grp_reduce_t reduce = {.apply = highest, .element = sizeof(int), .commutes = 1};
    int lacks = 0;
    if (set->pieces_state != PIECES_NEW)
        return set->pieces_state == PIECES_YES;
    if (rt_node_quarter() >= RT_NODE_PIECES)
        lacks = rt_node_commit(buffer_of(set, set->rank, 0), 2 * (size_t)NODE_PIECE) != 0;
    else
        lacks = 1;
    const int status = node_allreduce_of(set, NODE_PIECES, &lacks, &lacks, 1, &reduce);
    if (status < 0)
        return status;
    set->pieces_state = lacks ? PIECES_NO : PIECES_YES;
    return !lacks;
}

/* All have said this phase, with the same bytes in all. */
static int meet(node_set_t *set, uint64_t phase, uint64_t bytes)
{
    char text[160];
    for (int i = 1; i < set->size; i++) {
        const int rank = (set->rank + i) % set->size;
        const void *data = node_data(set, phase, rank, sizeof(bytes));
        uint64_t theirs;
        if (data == NULL)
            return set->status;
        memcpy(&theirs, data, sizeof(theirs));
        if (theirs == bytes)
            continue;
        snprintf(text, sizeof(text), "rank %d of the job has %llu bytes where %llu are expected", set->ranks[rank],
                 (unsigned long long)theirs, (unsigned long long)bytes);
        node_break(set, grp_fail(VBN_ERR_TRUNCATED, text));
        return set->status;
    }
    set->known = phase - 1;
    return 0;
}

static int say(node_set_t *set, uint64_t phase, uint64_t bytes)
{
    void *room = node_room(set, phase, sizeof(bytes));
    if (room == NULL)
        return set->status;
    memcpy(room, &bytes, sizeof(bytes));
    node_publish(set, phase, sizeof(bytes));
    return 0;
}

static int give(node_set_t *set, const piece_t *piece, uint64_t bytes)
{
    const uint64_t phase = node_begin(set);
    unsigned char *buffer = buffer_of(set, set->rank, piece->number);
    const size_t start = start_of(set, piece, set->rank);
    const size_t end = start_of(set, piece, set->rank + 1);
    memcpy(buffer, piece->mine, start);
    memcpy(buffer + end, piece->mine + end, piece->count * piece->reduce->element - end);
    if (say(set, phase, bytes) < 0 || meet(set, phase, bytes) < 0)
        return set->status;
    node_done(set, phase);
    return 0;
}

/* This rank's share, in parts that the scratch memory of a reduction holds. */
static void reduce_share(const node_set_t *set, const piece_t *piece)
{
    const size_t element = piece->reduce->element;
    const size_t most = NODE_BYTES / element * element;
    const size_t end = start_of(set, piece, set->rank + 1);
    const void *from[set->size];
    size_t length;
    for (size_t at = start_of(set, piece, set->rank); at < end; at += length) {
        length = end - at < most ? end - at : most;
        for (int rank = 0; rank < set->size; rank++)
            from[rank] = (rank == set->rank ? piece->mine : buffer_of(set, rank, piece->number)) + at;
        node_combine(piece->reduce, from, set->size, length / element, buffer_of(set, set->rank, piece->number) + at,
                     piece->root < 0 ? NODE_ORDER_ALL : NODE_ORDER_ROOT);
    }
}

static int take(node_set_t *set, const piece_t *piece, uint64_t bytes)
{
    const uint64_t phase = node_begin(set);
    reduce_share(set, piece);
    if (say(set, phase, bytes) < 0)
        return set->status;
    if (piece->root >= 0 && piece->root != set->rank) {
        node_done(set, phase);
        return 0;
    }
    if (meet(set, phase, bytes) < 0)
        return set->status;
    for (int i = 0; i < set->size; i++) {
        const int rank = (set->rank + i) % set->size;
        const size_t start = start_of(set, piece, rank);
        const size_t end = start_of(set, piece, rank + 1);
        memcpy(piece->result + start, buffer_of(set, rank, piece->number) + start, end - start);
    }
    node_done(set, phase);
    return 0;
}

static int reduce_pieces(node_set_t *set, const void *mine, void *result, size_t count, const grp_reduce_t *reduce,
                         int root)
{
    node_is(set, NODE_PIECES, 0);
    const size_t most = NODE_PIECE / reduce->element;
    const uint64_t bytes = count * reduce->element;
    if (set->status < 0)
        return node_failed(set);
    for (size_t at = 0; at < count; at += most) {
        const piece_t piece = {.reduce = reduce,
                               .mine = (const unsigned char *)mine + at * reduce->element,
                               .result = (unsigned char *)result + at * reduce->element,
                               .count = count - at < most ? count - at : most,
                               .number = set->pieces++,
                               .root = root};
        if (give(set, &piece, bytes) < 0 || take(set, &piece, bytes) < 0)
            return set->status;
    }
    return 0;
}

int node_allreduce_pieces(node_set_t *set, const void *mine, void *result, size_t count, const grp_reduce_t *reduce)
{
    return reduce_pieces(set, mine, result, count, reduce, -1);
}

int node_reduce_pieces(node_set_t *set, const void *mine, void *result, size_t count, const grp_reduce_t *reduce,
                       int root)
{
    return reduce_pieces(set, mine, result, count, reduce, root);
}
