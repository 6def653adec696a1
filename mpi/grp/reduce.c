/* SPDX-License-Identifier: Apache-2.0
 * reduce.c - reduce by a binomial tree in the order of the ranks; allreduce by recursive doubling, the ranks beyond a
 * power of two folded into their neighbours; scan along the ranks.
 */
#include "grp/grp.h"

#include <stdlib.h>
#include <string.h>

/* result = lower OP higher, into whichever of both buffers is inout. */
static void combine(const grp_reduce_t *reduce, void *mine, void *other, size_t count, int other_is_lower)
{
    if (other_is_lower) {
        reduce->apply(reduce, other, mine, count);
        return;
    }
    reduce->apply(reduce, mine, other, count);
    memcpy(mine, other, count * reduce->element);
}

static void *scratch(size_t length)
{
    return malloc(length > 0 ? length : 1);
}

/* Rank 0 collects; another root gets the result from it, as the order of the ranks allows no rotated tree. */
static int reduce_to_zero(grp_t *grp, void *inout, void *other, size_t count, const grp_reduce_t *reduce)
{
    const size_t length = count * reduce->element;
    const int rank = grp_rank(grp);
    int rc = 0;
    for (int bit = 1; bit < grp_size(grp) && rc >= 0; bit *= 2) {
        if (rank & bit)
            return grp_send(grp, rank - bit, 0, inout, length);
        if (rank + bit >= grp_size(grp))
            continue;
        rc = grp_recv(grp, rank + bit, 0, other, length);
        if (rc >= 0)
            combine(reduce, inout, other, count, 0);
    }
    return rc;
}

int grp_reduce(grp_t *grp, void *inout, size_t count, const grp_reduce_t *reduce, int root)
{
    const size_t length = count * reduce->element;
    void *other = scratch(length);
    if (other == NULL)
        return VBN_ERR_NO_MEMORY;
    int rc = reduce_to_zero(grp, inout, other, count, reduce);
    if (rc >= 0 && root != 0 && grp_rank(grp) == 0)
        rc = grp_send(grp, root, 1, inout, length);
    if (rc >= 0 && root != 0 && grp_rank(grp) == root)
        rc = grp_recv(grp, 0, 1, inout, length);
    free(other);
    grp->number++;
    return rc < 0 ? rc : 0;
}

/* Of the first 2 * extra ranks the even ones hand theirs to the odd ones and get the result at the end. */
static int fold(grp_t *grp, int extra, void *inout, void *other, size_t count, const grp_reduce_t *reduce)
{
    const size_t length = count * reduce->element;
    const int rank = grp_rank(grp);
    if (rank >= 2 * extra)
        return 0;
    if (rank % 2 == 0)
        return grp_send(grp, rank + 1, 0, inout, length);
    const int rc = grp_recv(grp, rank - 1, 0, other, length);
    if (rc >= 0)
        combine(reduce, inout, other, count, 1);
    return rc;
}

static int unfold(grp_t *grp, int extra, void *inout, size_t length)
{
    const int rank = grp_rank(grp);
    if (rank >= 2 * extra)
        return 0;
    return rank % 2 == 0 ? grp_recv(grp, rank + 1, 255, inout, length) : grp_send(grp, rank - 1, 255, inout, length);
}

static int double_up(grp_t *grp, int power, int extra, void *inout, void *other, size_t count,
                     const grp_reduce_t *reduce)
{
    const int rank = grp_rank(grp);
    const int place = rank < 2 * extra ? rank / 2 : rank - extra; /* among the power-of-two ranks */
    unsigned step = 1;
    int rc = 0;
    for (int bit = 1; bit < power && rc >= 0; bit *= 2, step++) {
        const int partner = place ^ bit;
        const int with = partner < extra ? 2 * partner + 1 : partner + extra;
        const size_t length = count * reduce->element;
        rc = grp_sendrecv(grp, with, inout, length, with, other, length, step);
        if (rc >= 0)
            combine(reduce, inout, other, count, partner < place);
    }
    return rc;
}

int grp_allreduce(grp_t *grp, void *inout, size_t count, const grp_reduce_t *reduce)
{
    const size_t length = count * reduce->element;
    int power = 1;
    while (power * 2 <= grp_size(grp))
        power *= 2;
    const int extra = grp_size(grp) - power;
    void *other = scratch(length);
    if (other == NULL)
        return VBN_ERR_NO_MEMORY;
    int rc = fold(grp, extra, inout, other, count, reduce);
    if (rc >= 0 && !(grp_rank(grp) < 2 * extra && grp_rank(grp) % 2 == 0))
        rc = double_up(grp, power, extra, inout, other, count, reduce);
    if (rc >= 0)
        rc = unfold(grp, extra, inout, length);
    free(other);
    grp->number++;
    return rc < 0 ? rc : 0;
}

int grp_scan(grp_t *grp, const void *mine, void *result, size_t count, const grp_reduce_t *reduce, int exclusive)
{
    const size_t length = count * reduce->element;
    const int rank = grp_rank(grp);
    void *before = scratch(length);
    void *upto = scratch(length);
    int rc = before == NULL || upto == NULL ? VBN_ERR_NO_MEMORY : 0;
    if (rc == 0) {
        memcpy(upto, mine, length);
        if (rank > 0 && (rc = grp_recv(grp, rank - 1, 0, before, length)) >= 0)
            reduce->apply(reduce, before, upto, count);
        if (rc >= 0 && rank + 1 < grp_size(grp))
            rc = grp_send(grp, rank + 1, 0, upto, length);
        if (rc >= 0 && (!exclusive || rank > 0))
            memcpy(result, exclusive ? before : upto, length);
    }
    free(before);
    free(upto);
    grp->number++;
    return rc < 0 ? rc : 0;
}
