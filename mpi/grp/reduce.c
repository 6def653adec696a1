/* SPDX-License-Identifier: Apache-2.0
 * reduce.c - reduce by a binomial tree in the order of the ranks; allreduce by recursive doubling, of much data by a
 * reduce-scatter and an allgather, the ranks beyond a power of two folded into their neighbours.
 */
#include "grp/flat.h"
#include "grp/steps.h"
#include "grp/table.h"

/* This rank's elements while they are reduced. Both buffers change places instead of being copied. */
typedef struct pair {
    sched_t *sched;
    const grp_reduce_t *reduce;
    size_t count;
    size_t length; /* bytes */
    void *mine;
    void *other;
} pair_t;

void *flat_room(sched_t *sched, size_t count, const grp_reduce_t *reduce)
{
    unsigned char *memory = sched_memory(sched, reduce->before + count * reduce->element + reduce->after);
    return memory == NULL ? NULL : memory + reduce->before;
}

static int pair_open(pair_t *pair, sched_t *sched, void *inout, size_t count, const grp_reduce_t *reduce)
{
    *pair = (pair_t){
        .sched = sched, .reduce = reduce, .count = count, .length = count * reduce->element, .mine = inout};
    pair->other = sched_size(sched) == 1 ? inout : flat_room(sched, count, reduce);
    return pair->other != NULL;
}

/* The other buffer has arrived: the lower ranks' elements come first in the operation. */
static void combine(pair_t *pair, int other_is_lower)
{
    sched_wait(pair->sched, 0);
    if (other_is_lower) {
        sched_reduce(pair->sched, pair->reduce, pair->other, pair->mine, pair->count);
        return;
    }
    void *in = pair->mine;
    sched_reduce(pair->sched, pair->reduce, in, pair->other, pair->count);
    pair->mine = pair->other;
    pair->other = in;
}

/* Rank 0 collects; another root gets the result from it, as the order of the ranks allows no rotated tree. */
void flat_reduce(sched_t *sched, void *inout, size_t count, const grp_reduce_t *reduce, int root)
{
    const int rank = sched_rank(sched);
    pair_t pair;
    if (!pair_open(&pair, sched, inout, count, reduce))
        return;
    for (int bit = 1; bit < sched_size(sched); bit *= 2) {
        if (rank & bit) {
            sched_send(sched, rank - bit, pair.mine, pair.length);
            break;
        }
        if (rank + bit < sched_size(sched)) {
            sched_recv(sched, rank + bit, pair.other, pair.length);
            combine(&pair, 0);
        }
    }
    if (rank == 0 && root != 0)
        sched_send(sched, root, pair.mine, pair.length);
    sched_wait(sched, 0);
    if (rank == 0 && root == 0)
        sched_copy(sched, inout, pair.mine, pair.length);
    if (rank == root && root != 0) {
        sched_recv(sched, 0, inout, pair.length);
        sched_wait(sched, 0);
    }
}

/* Of the first 2 * extra ranks the even ones hand theirs to the odd ones; whether this rank goes on. */
static int fold(pair_t *pair, int extra)
{
    const int rank = sched_rank(pair->sched);
    if (rank >= 2 * extra)
        return 1;
    if (rank % 2 == 0) {
        sched_send(pair->sched, rank + 1, pair->mine, pair->length);
        sched_wait(pair->sched, 0);
        return 0;
    }
    sched_recv(pair->sched, rank - 1, pair->other, pair->length);
    combine(pair, 1);
    return 1;
}

/* The rank at a place among the power of two. */
static int rank_at(int place, int extra)
{
    return place < extra ? 2 * place + 1 : place + extra;
}

static void double_up(pair_t *pair, int power, int extra)
{
    const int rank = sched_rank(pair->sched);
    const int place = rank < 2 * extra ? rank / 2 : rank - extra; /* among the power-of-two ranks */
    for (int bit = 1; bit < power; bit *= 2) {
        const int partner = place ^ bit;
        const int with = rank_at(partner, extra);
        sched_recv(pair->sched, with, pair->other, pair->length);
        sched_send(pair->sched, with, pair->mine, pair->length);
        combine(pair, partner < place);
    }
}

/* Elements of the vector: [first, end). */
typedef struct span {
    size_t first;
    size_t end;
} span_t;

static void *at(const pair_t *pair, void *buffer, size_t element)
{
    return (unsigned char *)buffer + element * pair->reduce->element;
}

/* The half of a span that a place keeps in the round of this bit. */
static span_t half_of(span_t span, int place, int bit)
{
    const size_t middle = span.first + (span.end - span.first) / 2;
    return (place & bit) == 0 ? (span_t){span.first, middle} : (span_t){middle, span.end};
}

/* What partners keep is reduced where the lower one's elements come first; the result is in pair->mine. */
static void halve(pair_t *pair, int place, int extra, int bit, span_t *span_p)
{
    const int partner = place ^ bit;
    const span_t keep = half_of(*span_p, place, bit);
    const span_t give = half_of(*span_p, partner, bit);
    sched_t *sched = pair->sched;
    const size_t element = pair->reduce->element;
    sched_recv(sched, rank_at(partner, extra), at(pair, pair->other, keep.first), (keep.end - keep.first) * element);
    sched_send(sched, rank_at(partner, extra), at(pair, pair->mine, give.first), (give.end - give.first) * element);
    sched_wait(sched, 0);
    if (partner < place) {
        sched_reduce(sched, pair->reduce, at(pair, pair->other, keep.first), at(pair, pair->mine, keep.first),
                     keep.end - keep.first);
    } else {
        sched_reduce(sched, pair->reduce, at(pair, pair->mine, keep.first), at(pair, pair->other, keep.first),
                     keep.end - keep.first);
        sched_copy(sched, at(pair, pair->mine, keep.first), at(pair, pair->other, keep.first),
                   (keep.end - keep.first) * element);
    }
    *span_p = keep;
}

/* Rabenseifner: a reduce-scatter by halving, nearest partners first, then an allgather on the way back. Each element is
 * combined in the same tree as by recursive doubling, so the bits are the same, and the order of the ranks is kept. */
static void halve_and_gather(pair_t *pair, int power, int extra)
{
    const int rank = sched_rank(pair->sched);
    const int place = rank < 2 * extra ? rank / 2 : rank - extra;
    const size_t element = pair->reduce->element;
    span_t spans[32]; /* of this place after each round */
    int rounds = 0;
    spans[0] = (span_t){0, pair->count};
    for (int bit = 1; bit < power; bit *= 2, rounds++) {
        spans[rounds + 1] = spans[rounds];
        halve(pair, place, extra, bit, &spans[rounds + 1]);
    }
    for (int bit = power / 2; bit > 0; bit /= 2, rounds--) {
        const int partner = place ^ bit;
        const span_t mine = spans[rounds];
        const span_t theirs = half_of(spans[rounds - 1], partner, bit);
        sched_recv(pair->sched, rank_at(partner, extra), at(pair, pair->mine, theirs.first),
                   (theirs.end - theirs.first) * element);
        sched_send(pair->sched, rank_at(partner, extra), at(pair, pair->mine, mine.first),
                   (mine.end - mine.first) * element);
        sched_wait(pair->sched, 0);
    }
}

void flat_allreduce(sched_t *sched, void *inout, size_t count, const grp_reduce_t *reduce)
{
    const int rank = sched_rank(sched);
    int power = 1;
    pair_t pair;
    if (!pair_open(&pair, sched, inout, count, reduce))
        return;
    while (power * 2 <= sched_size(sched))
        power *= 2;
    const int extra = sched_size(sched) - power;
    const int goes_on = fold(&pair, extra);
    if (goes_on) {
        const int is_few = table_is_few(TABLE_ALLREDUCE_STEPS, sched_size(sched), sched->nodes, pair.length);
        const int doubles = is_few || count < (size_t)power || power <= 2;
        (grp_choose(sched->call, GRP_DOUBLING, doubles, pair.length) ? double_up : halve_and_gather)(&pair, power,
                                                                                                     extra);
        if (rank < 2 * extra)
            sched_send(sched, rank - 1, pair.mine, pair.length);
        sched_copy(sched, inout, pair.mine, pair.length);
    } else {
        sched_recv(sched, rank + 1, inout, pair.length);
    }
    sched_wait(sched, 0);
}
