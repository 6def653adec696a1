/* SPDX-License-Identifier: Apache-2.0
 * node_pieces.c - reductions of much data within a node: of each piece every rank reduces its share out of all ranks' memory.
 * Two phases for each piece: a rank's elements are there; its reduced share is there. Shares are combined as node_reduce,
 * node_allreduce and node_scan do it (N4).
 *
 * Data in node memory (MPI_Alloc_mem, windows, OpenSHMEM's heap) is read where it lies, and results there are written by all. Other
 * data goes through a buffer in node memory: a rank copies its elements to it, but for its own share, which nobody else reads,
 * and puts its reduced share in that place. The lines of the first phase say where each rank's data and result lie. If no rank
 * needs a buffer, the whole is one piece. A scan has another result for each rank: who reduces a share puts it in the place of
 * that rank's elements, which nobody else reads.
 *
 * Data in heaps that all ranks have mapped to read (mpi.heap=node) is read where it lies, too. A result there gets its own rank's
 * share first, and the others read that share until they have said a third phase.
 *
 * Each rank has two buffers, for pieces in turns. Who has seen that all have begun a piece knows that all are done with the
 * one before it, so the buffer of that one is free for the next. Only ranks with a result wait for the second phase, and those
 * whose own data the others read.
 */
#include <stdio.h>
#include <string.h>

#include "grp/node.h"
#include "rt/heap.h"

enum { PIECES_NEW, PIECES_NO, PIECES_YES }; /* node_set_t.pieces_state */

/* Places of a rank: offsets in the parts of node memory, or */
#define PLACE_HEAP (UINT64_C(1) << 62)  /* and an offset in its heap, which the others have mapped to read */
#define PLACE_BUFFER UINT64_MAX         /* in memory of its own: through the buffer */
#define PLACE_NOWHERE (UINT64_MAX - 1u) /* it gets no result from here */

/* What a rank says in both phases. */
typedef struct piece_line {
    uint64_t bytes;
    uint64_t from; /* its elements */
    uint64_t to;   /* all of the result */
} piece_line_t;

_Static_assert(sizeof(piece_line_t) <= NODE_INLINE, "in a line");
_Static_assert(2 * NODE_SLOTS * NODE_PIECE <= RT_NODE_PIECES, "two buffers for each set of ranks");

/* A reduction at this rank. */
typedef struct work {
    const grp_reduce_t *reduce;
    node_order_t order;
    const unsigned char *mine;
    unsigned char *result;
    size_t count;      /* elements */
    size_t first, end; /* bytes that this rank gets, to result */
    piece_line_t line;
    uint64_t number;     /* of the piece */
    size_t at, length;   /* bytes of the piece */
    piece_line_t *lines; /* of all ranks */
    int buffered;        /* a rank has its result through the buffers */
    int heaped;          /* a rank's result is in its heap */
    int exclusive;       /* a scan of the ranks before each one */
} work_t;

static unsigned char *buffer_of(const node_set_t *set, int rank, uint64_t number)
{
    unsigned char *part = rt_node.parts + ((size_t)rt_node_index(set->ranks[rank]) << rt_node.shift);
    return part + (2 * (size_t)set->slot + number % 2) * NODE_PIECE;
}

/* The first byte of a rank's share of the piece. */
static size_t start_of(const node_set_t *set, const work_t *work, int rank)
{
    const size_t count = work->length / work->reduce->element;
    return (count / (size_t)set->size * (size_t)rank + count % (size_t)set->size * (size_t)rank / (size_t)set->size) *
           work->reduce->element;
}

static uint64_t node_place_of(const void *at, size_t length)
{
    const uintptr_t offset = (uintptr_t)at - (uintptr_t)rt_node.parts;
    const size_t most = (size_t)rt_node.count << rt_node.shift;
    return offset < most && length <= most - offset ? offset : PLACE_BUFFER;
}

static uint64_t place_of(const node_set_t *set, const void *at, size_t length)
{
    const uint64_t place = node_place_of(at, length);
    const uint64_t offset = place == PLACE_BUFFER && set->heaps ? rt_heap_offset(at, length) : RT_HEAP_NOWHERE;
    return offset == RT_HEAP_NOWHERE ? place : PLACE_HEAP | offset;
}

static int is_heap(uint64_t place)
{
    return place < PLACE_NOWHERE && (place & PLACE_HEAP) != 0;
}

int node_is_mapped(const void *at, size_t length)
{
    return node_place_of(at, length) != PLACE_BUFFER;
}

/* Where this rank has mapped another one's place. */
static const unsigned char *at_place(const node_set_t *set, int rank, uint64_t place)
{
    return is_heap(place) ? rt_heap_at(rt_node_index(set->ranks[rank]), place - PLACE_HEAP) : rt_node.parts + place;
}

/* Why there are none, or no heaps; the worst of all ranks counts. */
enum { LACK_NOTHING, LACK_HEAPS, LACK_MEMORY };

int node_pieces_ready(node_set_t *set)
{
    unsigned char key[VBN_KEY_MAX];
    if (set->pieces_state != PIECES_NEW)
        return set->pieces_state == PIECES_YES;
    int lack = rt_heap_key(key) > 0 ? LACK_NOTHING : LACK_HEAPS;
    if (rt_node_quarter() < RT_NODE_PIECES || rt_node_commit(buffer_of(set, set->rank, 0), 2 * (size_t)NODE_PIECE) != 0)
        lack = LACK_MEMORY;
    int status = node_highest(set, NODE_PIECES, &lack);
    if (status == 0 && lack == LACK_NOTHING)
        status = set->heaps = node_heaps_join(set);
    if (status < 0)
        return status;
    set->pieces_state = lack == LACK_MEMORY ? PIECES_NO : PIECES_YES;
    return lack != LACK_MEMORY;
}

/* All have said this phase, with the same bytes in all. */
static int meet(node_set_t *set, work_t *work, uint64_t phase)
{
    char text[160];
    for (int i = 1; i < set->size; i++) {
        const int rank = (set->rank + i) % set->size;
        const void *data = node_data(set, phase, rank, sizeof(piece_line_t));
        if (data == NULL)
            return set->status;
        memcpy(&work->lines[rank], data, sizeof(piece_line_t));
        if (work->lines[rank].bytes == work->line.bytes)
            continue;
        snprintf(text, sizeof(text), "rank %d of the job has %llu bytes where %llu are expected", set->ranks[rank],
                 (unsigned long long)work->lines[rank].bytes, (unsigned long long)work->line.bytes);
        node_break(set, grp_fail(VBN_ERR_TRUNCATED, text));
        return set->status;
    }
    set->known = phase - 1;
    return 0;
}

static int say(node_set_t *set, const work_t *work, uint64_t phase)
{
    void *room = node_room(set, phase, sizeof(work->line));
    if (room == NULL)
        return set->status;
    memcpy(room, &work->line, sizeof(work->line));
    node_publish(set, phase, sizeof(work->line));
    return 0;
}

/* Whether no rank needs a buffer; notes what is needed for results. A share is taken from its rank's result in a heap, else from
 * its buffer. */
static int needs_no_buffer(const node_set_t *set, work_t *work)
{
    int mapped = 1;
    int takes = 0;
    int heaps = 0;
    for (int rank = 0; rank < set->size; rank++) {
        const uint64_t to = work->lines[rank].to;
        heaps += is_heap(to);
        takes |= to == PLACE_BUFFER || is_heap(to);
        mapped &= work->lines[rank].from != PLACE_BUFFER;
    }
    work->heaped = heaps > 0;
    work->buffered = takes && heaps < set->size;
    return mapped && !work->buffered;
}

/* This rank's elements of the piece are there. */
static int give(node_set_t *set, work_t *work)
{
    const uint64_t phase = node_begin(set);
    if (work->line.from == PLACE_BUFFER) {
        unsigned char *buffer = buffer_of(set, set->rank, work->number);
        const unsigned char *mine = work->mine + work->at;
        const size_t start = start_of(set, work, set->rank);
        const size_t end = start_of(set, work, set->rank + 1);
        memcpy(buffer, mine, start);
        memcpy(buffer + end, mine + end, work->length - end);
    }
    if (say(set, work, phase) < 0 || meet(set, work, phase) < 0)
        return set->status;
    node_done(set, phase);
    if (needs_no_buffer(set, work))
        work->length = work->count * work->reduce->element;
    return 0;
}

/* A rank's elements, from this byte of the piece on. */
static const void *elements_of(const node_set_t *set, const work_t *work, int rank, size_t start)
{
    if (rank == set->rank)
        return work->mine + work->at + start;
    if (work->lines[rank].from != PLACE_BUFFER)
        return at_place(set, rank, work->lines[rank].from) + work->at + start;
    return buffer_of(set, rank, work->number) + start;
}

/* To each result in node memory, and to this rank's in its heap. */
static void spread(const node_set_t *set, const work_t *work, const void *reduced, size_t start, size_t length)
{
    for (int i = 1; i <= set->size; i++) {
        const uint64_t to = work->lines[(set->rank + i) % set->size].to;
        if (to < PLACE_NOWHERE && !is_heap(to))
            memcpy(rt_node.parts + to + work->at + start, reduced, length);
    }
    if (is_heap(work->line.to))
        memcpy(work->result + work->at + start, reduced, length);
}

/* This rank's share, in parts that the scratch memory of a reduction holds: so that they are in the processor's cache. */
static void reduce_share(const node_set_t *set, const work_t *work)
{
    static _Alignas(64) unsigned char apart[NODE_BYTES]; /* R1: one thread at a time, and nobody waits meanwhile */
    const size_t element = work->reduce->element;
    const size_t most = NODE_BYTES / element * element;
    const size_t end = start_of(set, work, set->rank + 1);
    const void *from[set->size];
    size_t length;
    for (size_t start = start_of(set, work, set->rank); start < end; start += length) {
        unsigned char *to = work->buffered ? buffer_of(set, set->rank, work->number) + start : apart;
        length = end - start < most ? end - start : most;
        for (int rank = 0; rank < set->size; rank++)
            from[rank] = elements_of(set, work, rank, start);
        node_combine(work->reduce, from, set->size, length / element, to, work->order);
        spread(set, work, to, start, length);
    }
}

/* Where this rank puts another one's result, or its own, of a scan. The first rank needs none. */
static unsigned char *result_of(const node_set_t *set, const work_t *work, int rank, size_t start)
{
    if (rank == set->rank)
        return work->result + work->at + start;
    if (work->lines[rank].to != PLACE_BUFFER)
        return rt_node.parts + work->lines[rank].to + work->at + start;
    return buffer_of(set, rank, work->number) + start;
}

/* Along the ranks. A result goes where the rank's elements may be, so those are read before it. */
static void scan_part(const node_set_t *set, const work_t *work, size_t start, size_t length)
{
    static _Alignas(64) unsigned char apart[2][NODE_BYTES]; /* R1, as in reduce_share */
    const size_t count = length / work->reduce->element;
    const void *before = elements_of(set, work, 0, start);
    for (int rank = 1; rank < set->size; rank++) {
        unsigned char *to = result_of(set, work, rank, start);
        void *upto = work->exclusive ? apart[rank % 2] : to;
        if (!work->exclusive || rank + 1 < set->size)
            node_join(work->reduce, before, elements_of(set, work, rank, start), upto, count);
        if (work->exclusive)
            memcpy(to, before, length);
        before = upto;
    }
}

/* This rank's share of a scan, as reduce_share. */
static void scan_share(const node_set_t *set, const work_t *work)
{
    const size_t most = NODE_BYTES / work->reduce->element * work->reduce->element;
    const size_t end = start_of(set, work, set->rank + 1);
    size_t length;
    for (size_t start = start_of(set, work, set->rank); start < end; start += length) {
        length = end - start < most ? end - start : most;
        scan_part(set, work, start, length);
    }
}

/* This rank's result of a scan, but for its own share. */
static void take_scanned(const node_set_t *set, const work_t *work)
{
    const unsigned char *buffer = buffer_of(set, set->rank, work->number);
    const size_t start = start_of(set, work, set->rank);
    const size_t end = start_of(set, work, set->rank + 1);
    memcpy(work->result + work->at, buffer, start);
    memcpy(work->result + work->at + end, buffer + end, work->length - end);
}

/* What this rank gets of a share, which is in the result or the buffer of the rank that has reduced it. */
static void take_share(const node_set_t *set, const work_t *work, int rank)
{
    const uint64_t place = work->lines[rank].to;
    const unsigned char *from = is_heap(place) ? at_place(set, rank, place) + work->at
                                               : buffer_of(set, rank, work->number);
    size_t start = work->at + start_of(set, work, rank);
    size_t end = work->at + start_of(set, work, rank + 1);
    start = start < work->first ? work->first : start;
    end = end > work->end ? work->end : end;
    if (start < end && !(rank == set->rank && is_heap(place)))
        memcpy(work->result + (start - work->first), from + (start - work->at), end - start);
}

static int takes_shares(const work_t *work)
{
    return work->line.to == PLACE_BUFFER || is_heap(work->line.to);
}

static int take(node_set_t *set, work_t *work)
{
    const uint64_t phase = node_begin(set);
    const int scans = work->order == NODE_ORDER_SCAN;
    (scans ? scan_share : reduce_share)(set, work);
    if (say(set, work, phase) < 0)
        return set->status;
    if (work->line.from == PLACE_BUFFER && work->line.to == PLACE_NOWHERE) {
        node_done(set, phase);
        return 0;
    }
    if (meet(set, work, phase) < 0)
        return set->status;
    for (int i = 0; !scans && i < set->size && takes_shares(work); i++)
        take_share(set, work, (set->rank + i) % set->size);
    if (scans && work->line.to == PLACE_BUFFER)
        take_scanned(set, work);
    node_done(set, phase);
    return 0;
}

/* A result in a heap belongs to the program again when all have read it. */
static int leave(node_set_t *set, work_t *work)
{
    const uint64_t phase = node_begin(set);
    if (say(set, work, phase) < 0 || (is_heap(work->line.to) && meet(set, work, phase) < 0))
        return set->status;
    node_done(set, phase);
    return 0;
}

static int reduce_pieces(node_set_t *set, work_t *work)
{
    piece_line_t lines[set->size];
    const size_t element = work->reduce->element;
    const size_t most = NODE_PIECE / element * element;
    const size_t bytes = work->count * element;
    node_is(set, NODE_PIECES, 0);
    if (set->status < 0)
        return node_failed(set);
    work->line.bytes = bytes;
    work->line.from = place_of(set, work->mine, bytes);
    lines[set->rank] = work->line;
    work->lines = lines;
    for (work->at = 0; work->at < bytes; work->at += work->length) {
        work->length = bytes - work->at < most ? bytes - work->at : most;
        work->number = set->pieces++;
        if (give(set, work) < 0 || take(set, work) < 0)
            return set->status;
    }
    return work->heaped ? leave(set, work) : 0;
}

int node_allreduce_pieces(node_set_t *set, const void *mine, void *result, size_t count, const grp_reduce_t *reduce)
{
    const size_t bytes = count * reduce->element;
    work_t work = {
        .reduce = reduce, .order = NODE_ORDER_ALL, .mine = mine, .result = result, .count = count, .end = bytes};
    work.line.to = place_of(set, result, bytes);
    return reduce_pieces(set, &work);
}

int node_reduce_pieces(node_set_t *set, const void *mine, void *result, size_t count, const grp_reduce_t *reduce,
                       int root)
{
    const size_t bytes = count * reduce->element;
    const int is_root = set->rank == root;
    work_t work = {.reduce = reduce, .order = NODE_ORDER_ROOT, .mine = mine, .result = result, .count = count};
    work.end = is_root ? bytes : 0;
    work.line.to = is_root ? place_of(set, result, bytes) : PLACE_NOWHERE;
    return reduce_pieces(set, &work);
}

int node_reduce_scatter_pieces(node_set_t *set, const void *mine, void *result, size_t count,
                               const grp_reduce_t *reduce, size_t first, size_t end)
{
    work_t work = {.reduce = reduce, .order = NODE_ORDER_ROOT, .mine = mine, .result = result, .count = count};
    work.first = first * reduce->element;
    work.end = end * reduce->element;
    work.line.to = first == end ? PLACE_NOWHERE : PLACE_BUFFER;
    return reduce_pieces(set, &work);
}

/* The first rank has its result already. */
int node_scan_pieces(node_set_t *set, const void *mine, void *result, size_t count, const grp_reduce_t *reduce,
                     int exclusive)
{
    const size_t bytes = count * reduce->element;
    work_t work = {.reduce = reduce, .order = NODE_ORDER_SCAN, .mine = mine, .result = result, .count = count};
    work.exclusive = exclusive;
    work.end = bytes;
    work.line.to = set->rank == 0 ? PLACE_NOWHERE : node_place_of(result, bytes);
    if (set->rank == 0 && !exclusive && result != mine && bytes > 0)
        memcpy(result, mine, bytes);
    return reduce_pieces(set, &work);
}

#define SWAP (NODE_PIECE / 2) /* bytes of an exchange at a time: so that both ranks' pieces stay in a cache */

/* One phase for each piece: this rank's is there. Buffers take turns as those of reductions. */
static int swap_piece(node_set_t *set, const void *out, void *in, size_t length)
{
    const uint64_t phase = node_begin(set);
    const uint64_t number = set->pieces++;
    memcpy(buffer_of(set, set->rank, number), out, length);
    if (node_room(set, phase, 0) == NULL)
        return set->status;
    node_publish(set, phase, 0);
    if (node_data(set, phase, 1 - set->rank, 0) == NULL)
        return set->status;
    memcpy(in, buffer_of(set, 1 - set->rank, number), length);
    set->known = phase - 1;
    node_done(set, phase);
    return 0;
}

int node_swap_pieces(node_set_t *set, const void *out, void *in, size_t length)
{
    int status = 0;
    node_is(set, NODE_SWAP, length);
    for (size_t at = 0; status == 0 && at < length; at += SWAP) {
        const size_t piece = length - at < SWAP ? length - at : SWAP;
        status = swap_piece(set, (const unsigned char *)out + at, (unsigned char *)in + at, piece);
    }
    return status;
}
