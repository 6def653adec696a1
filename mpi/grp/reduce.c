/* SPDX-License-Identifier: Apache-2.0
 * reduce.c - reduce by a binomial tree in the order of the ranks; allreduce by recursive doubling, the ranks beyond a
 * power of two folded into their neighbours; scan along the ranks.
 */
#include "grp/levels.h"
#include "grp/node.h"
#include "grp/steps.h"

/* This rank's elements while they are reduced. Both buffers change places instead of being copied. */
typedef struct pair {
    sched_t *sched;
    const grp_reduce_t *reduce;
    size_t count;
    size_t length; /* bytes */
    void *mine;
    void *other;
} pair_t;

static int pair_open(pair_t *pair, sched_t *sched, void *inout, size_t count, const grp_reduce_t *reduce)
{
    *pair =
        (pair_t){.sched = sched, .reduce = reduce, .count = count, .length = count * reduce->element, .mine = inout};
    pair->other = sched_size(sched) == 1 ? inout : sched_memory(sched, pair->length);
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
void steps_reduce(sched_t *sched, void *inout, size_t count, const grp_reduce_t *reduce, int root)
{
    const int rank = sched_rank(sched);
    pair_t pair;
    if (levels_fit(sched->levels, reduce)) {
        levels_reduce(sched, inout, count, reduce, root);
        return;
    }
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

static void double_up(pair_t *pair, int power, int extra)
{
    const int rank = sched_rank(pair->sched);
    const int place = rank < 2 * extra ? rank / 2 : rank - extra; /* among the power-of-two ranks */
    for (int bit = 1; bit < power; bit *= 2) {
        const int partner = place ^ bit;
        const int with = partner < extra ? 2 * partner + 1 : partner + extra;
        sched_recv(pair->sched, with, pair->other, pair->length);
        sched_send(pair->sched, with, pair->mine, pair->length);
        combine(pair, partner < place);
    }
}

void steps_allreduce(sched_t *sched, void *inout, size_t count, const grp_reduce_t *reduce)
{
    const int rank = sched_rank(sched);
    int power = 1;
    pair_t pair;
    if (levels_fit(sched->levels, reduce)) {
        levels_allreduce(sched, inout, count, reduce);
        return;
    }
    if (!pair_open(&pair, sched, inout, count, reduce))
        return;
    while (power * 2 <= sched_size(sched))
        power *= 2;
    const int extra = sched_size(sched) - power;
    const int goes_on = fold(&pair, extra);
    if (goes_on) {
        double_up(&pair, power, extra);
        if (rank < 2 * extra)
            sched_send(sched, rank - 1, pair.mine, pair.length);
        sched_copy(sched, inout, pair.mine, pair.length);
    } else {
        sched_recv(sched, rank + 1, inout, pair.length);
    }
    sched_wait(sched, 0);
}

/* Inclusive: the result is what goes to the next rank. Exclusive: it is what comes from the rank before. */
void steps_scan(sched_t *sched, const void *mine, void *result, size_t count, const grp_reduce_t *reduce, int exclusive)
{
    const size_t length = count * reduce->element;
    const int rank = sched_rank(sched);
    void *scratch = sched_memory(sched, length);
    void *before = exclusive ? result : scratch;
    void *upto = exclusive ? scratch : result;
    if (scratch == NULL)
        return;
    sched_copy(sched, upto, mine, length);
    if (rank > 0) {
        sched_recv(sched, rank - 1, before, length);
        sched_wait(sched, 0);
        sched_reduce(sched, reduce, before, upto, count);
    }
    if (rank + 1 < sched_size(sched))
        sched_send(sched, rank + 1, upto, length);
    sched_wait(sched, 0);
}

int grp_reduce(grp_t *grp, void *inout, size_t count, const grp_reduce_t *reduce, int root)
{
    const int near = node_reduce_fits(grp, count, reduce) ? node_ready(grp) : 0;
    if (near != 0)
        return near < 0 ? near : node_reduce(grp->node, inout, inout, count, reduce, root);
    sched_t *sched = sched_open(grp);
    if (sched != NULL)
        steps_reduce(sched, inout, count, reduce, root);
    return sched_run(sched);
}

int grp_allreduce(grp_t *grp, void *inout, size_t count, const grp_reduce_t *reduce)
{
    const int near = node_reduce_fits(grp, count, reduce) ? node_ready(grp) : 0;
    if (near != 0)
        return near < 0 ? near : node_allreduce(grp->node, inout, inout, count, reduce);
    sched_t *sched = sched_open(grp);
    if (sched != NULL)
        steps_allreduce(sched, inout, count, reduce);
    return sched_run(sched);
}

int grp_scan(grp_t *grp, const void *mine, void *result, size_t count, const grp_reduce_t *reduce, int exclusive)
{
    sched_t *sched = sched_open(grp);
    if (sched != NULL)
        steps_scan(sched, mine, result, count, reduce, exclusive);
    return sched_run(sched);
}
