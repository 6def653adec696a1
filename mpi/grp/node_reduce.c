/* SPDX-License-Identifier: Apache-2.0
 * node_reduce.c - reduce, allreduce and scan over slots: who needs the result reduces all lines by itself, in the order in
 * which the schedules of reduce.c and scan.c combine them (N4).
 */
#include <string.h>

#include "grp/node.h"

#define DEPTH 24 /* of a tree of ranks */

/* What is reduced: places of a tree, of which the first `pairs` are two neighbouring ranks and the others one. */
typedef struct tree {
    const grp_reduce_t *reduce;
    const void *const *from; /* by rank */
    size_t count;
    size_t length; /* bytes */
    int places;
    int pairs;
} tree_t;

/* R1: one thread at a time, and nobody waits while these are in use. */
static _Alignas(64) unsigned char scratch[DEPTH][NODE_BYTES];

/* One number is what is reduced most. */
static inline void copy(void *to, const void *from, size_t length)
{
    if (__builtin_expect(length == 8, 1))
        memcpy(to, from, 8);
    else if (length > 0) /* buffers of none may be NULL */
        memcpy(to, from, length);
}

void node_join(const grp_reduce_t *reduce, const void *lower, const void *upper, void *to, size_t count)
{
    if (reduce->combine != NULL) {
        reduce->combine(lower, upper, to, count);
        return;
    }
    if (upper != to)
        copy(to, upper, count * reduce->element);
    reduce->apply(reduce, lower, to, count);
}

static void join(const tree_t *tree, const void *lower, const void *upper, void *to)
{
    node_join(tree->reduce, lower, upper, to, tree->count);
}

/* Of the places from `first` on, as many as there are of a power of two: at `to`, or where a single rank's elements lie. */
static const void *combine(const tree_t *tree, int first, int power, void *to, int depth)
{
    const int half = power / 2;
    if (power == 1 && first >= tree->pairs)
        return tree->from[first + tree->pairs];
    if (power == 1) {
        join(tree, tree->from[2 * first], tree->from[2 * first + 1], to);
        return to;
    }
    if (first + half >= tree->places)
        return combine(tree, first, half, to, depth);
    const void *upper = combine(tree, first + half, half, to, depth + 1);
    join(tree, combine(tree, first, half, scratch[depth], depth + 1), upper, to);
    return to;
}

/* As recursive doubling does it: the ranks beyond a power of two are folded into their neighbours. */
static void like_allreduce(tree_t *tree, int size, void *to)
{
    int power = 1;
    if (size == 2) { /* as below, without a tree */
        copy(to, tree->from[1], tree->length);
        tree->reduce->apply(tree->reduce, tree->from[0], to, tree->count);
        return;
    }
    while (power * 2 <= size)
        power *= 2;
    tree->places = power;
    tree->pairs = size - power;
    (void)combine(tree, 0, power, to, 0); /* of two ranks at least: at `to` */
}

/* As the binomial tree does it. */
static void like_reduce(tree_t *tree, int size, void *to)
{
    int power = 1;
    while (power < size)
        power *= 2;
    tree->places = size;
    tree->pairs = 0;
    (void)combine(tree, 0, power, to, 0); /* of two ranks at least: at `to` */
}

/* As the chain of a scan does it: of one rank at least. */
static void along(const tree_t *tree, int size, void *to)
{
    const void *lower = tree->from[0];
    for (int rank = 1; rank < size; rank++) {
        void *upto = rank + 1 == size ? to : scratch[rank % 2];
        join(tree, lower, tree->from[rank], upto);
        lower = upto;
    }
    if (size == 1)
        copy(to, lower, tree->length);
}

void node_combine(const grp_reduce_t *reduce, const void *const *from, int size, size_t count, void *result,
                  node_order_t order)
{
    tree_t tree = {.reduce = reduce, .from = from, .count = count, .length = count * reduce->element};
    if (size == 2 && reduce->combine != NULL) { /* either order */
        reduce->combine(from[0], from[1], result, count);
        return;
    }
    (order == NODE_ORDER_ALL ? like_allreduce : like_reduce)(&tree, size, result);
}

typedef void (*order_t)(tree_t *tree, int size, void *to);

/* This rank's elements for the others, or for itself. */
static void *offer(node_set_t *set, uint64_t phase, const void *mine, size_t length)
{
    void *room = node_room(set, phase, length);
    if (room != NULL)
        copy(room, mine, length);
    return room;
}

static int collect(node_set_t *set, uint64_t phase, tree_t *tree, void *own, void *to, order_t order)
{
    const void *from[set->size];
    for (int i = 1; i < set->size; i++) {
        const int rank = (set->rank + i) % set->size;
        from[rank] = node_data(set, phase, rank, tree->length);
        if (from[rank] == NULL)
            return set->status;
    }
    from[set->rank] = own;
    tree->from = from;
    order(tree, set->size, to);
    set->known = phase - 1;
    node_done(set, phase);
    return 0;
}

static int reduce_at(node_set_t *set, tree_t *tree, const void *mine, void *result, int root, order_t order)
{
    const uint64_t phase = node_begin(set);
    if (set->status < 0)
        return node_failed(set);
    void *own = offer(set, phase, mine, tree->length);
    if (own == NULL)
        return set->status;
    if (set->rank != root) {
        node_publish(set, phase, tree->length);
        node_done(set, phase);
        return 0;
    }
    const int status = collect(set, phase, tree, own, result, order);
    node_tell_all(set);
    return status;
}

int node_reduce(node_set_t *set, const void *mine, void *result, size_t count, const grp_reduce_t *reduce, int root)
{
    node_is(set, NODE_TO_ROOT, 0);
    tree_t tree = {.reduce = reduce, .count = count, .length = count * reduce->element};
    return reduce_at(set, &tree, mine, result, root, like_reduce);
}

int node_allreduce_of(node_set_t *set, node_kind_t kind, const void *mine, void *result, size_t count,
                      const grp_reduce_t *reduce)
{
    node_is(set, kind, 0);
    tree_t tree = {.reduce = reduce, .count = count, .length = count * reduce->element};
    if (set->size > NODE_FLAT) {
        const int status = reduce_at(set, &tree, mine, result, 0, like_allreduce);
        return status < 0 ? status : node_bcast(set, result, tree.length, 0);
    }
    const uint64_t phase = node_begin(set);
    if (set->status < 0)
        return node_failed(set);
    void *own = offer(set, phase, mine, tree.length);
    if (own == NULL)
        return set->status;
    node_publish(set, phase, tree.length);
    return collect(set, phase, &tree, own, result, like_allreduce);
}

static void highest(const grp_reduce_t *reduce, const void *in, void *inout, size_t count)
{
    (void)reduce, (void)count;
    if (*(const int *)in > *(int *)inout)
        *(int *)inout = *(const int *)in;
}

int node_highest(node_set_t *set, node_kind_t kind, int *number)
{
    const grp_reduce_t reduce = {.apply = highest, .element = sizeof(*number), .commutes = 1};
    return node_allreduce_of(set, kind, number, number, 1, &reduce);
}

int node_allreduce(node_set_t *set, const void *mine, void *result, size_t count, const grp_reduce_t *reduce)
{
    return node_allreduce_of(set, NODE_TO_ALL, mine, result, count, reduce);
}

int node_scan(node_set_t *set, const void *mine, void *result, size_t count, const grp_reduce_t *reduce, int exclusive)
{
    const int ranks = exclusive ? set->rank : set->rank + 1;
    const void *from[set->size];
    const tree_t tree = {.reduce = reduce, .from = from, .count = count, .length = count * reduce->element};
    node_is(set, NODE_SCAN, 0);
    const uint64_t phase = node_begin(set);
    if (set->status < 0)
        return node_failed(set);
    from[set->rank] = offer(set, phase, mine, tree.length);
    if (from[set->rank] == NULL)
        return set->status;
    node_publish(set, phase, tree.length);
    for (int rank = 0; rank < set->rank; rank++) {
        from[rank] = node_data(set, phase, rank, tree.length);
        if (from[rank] == NULL)
            return set->status;
    }
    if (ranks > 0)
        along(&tree, ranks, result);
    node_done(set, phase);
    node_tell_all(set);
    return 0;
}
