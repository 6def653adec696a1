/* SPDX-License-Identifier: Apache-2.0
 * parts.h - the vector of a reduce_scatter, which has a part for each rank (grp_parts_t), while its algorithms cut it: whose
 * parts share a node, parts side by side in another order than that of the ranks, and partial results that are joined.
 *
 * J1 Partial results are joined in the binomial tree of the ranks of a node, and these in that of the nodes, as flat_reduce and
 *    levels_reduce do it. So both algorithms have the bits of a reduce, whichever message comes first.
 */
#ifndef VERBENA_PARTS_H
#define VERBENA_PARTS_H

#include "grp/levels.h"
#include "grp/steps.h"

typedef struct parts {
    sched_t *sched;
    grp_parts_t given;
    int nodes;          /* each rank is one where the set takes one level */
    int node;           /* of this rank */
    int near;           /* ranks of this node */
    int own;            /* number of this rank in its node */
    const int *members; /* ranks by node; NULL: one level */
    const int *firsts;  /* by node: its first one of `members`; then all of them */
} parts_t;

/* two: by levels. 0: no memory left, and the schedule will not start. */
int parts_open(parts_t *parts, sched_t *sched, const grp_parts_t *given, int two);

/* How many ranks are on nodes before this one; the i-th rank of a node; how many it has. */
static inline int parts_first(const parts_t *parts, int node)
{
    return parts->members == NULL ? node : parts->firsts[node];
}

static inline int parts_rank(const parts_t *parts, int node, int i)
{
    return parts->members == NULL ? node : parts->members[parts->firsts[node] + i];
}

static inline int parts_ranks(const parts_t *parts, int node)
{
    return parts_first(parts, node + 1) - parts_first(parts, node);
}

/* All parts in an order; both arrays live as long as the schedule. */
typedef struct parts_list {
    grp_parts_t given;
    int *ranks;     /* by place in the list */
    size_t *starts; /* bytes before each place; then all */
} parts_list_t;

/* Places [from, end), as an operand: so many elements of a reduction. */
typedef struct parts_piece {
    const grp_reduce_t *reduce;
    size_t count;
} parts_piece_t;

/* 0: no memory left. The caller fills in the ranks, then parts_list_end computes the rest. */
int parts_list_open(const parts_t *parts, parts_list_t *list, int places);
void parts_list_end(parts_list_t *list, int places);
/* A step: this rank's elements, side by side. */
void parts_pack(sched_t *sched, const parts_list_t *list, int from, int end, void *to);
parts_piece_t parts_piece(sched_t *sched, const parts_list_t *list, int from, int end);

static inline size_t parts_bytes(const parts_list_t *list, int from, int end)
{
    return list->starts[end] - list->starts[from];
}

/* Partial results of one piece on their way to the whole tree: J1. They come in an order where, but for two gaps, neighbours follow
 * one another, so few are held at a time. */
#define JOIN_MOST 128 /* three times the rounds of a tree, and a window of messages */
typedef struct join {
    sched_t *sched;
    parts_piece_t piece;
    size_t bytes;
    int leaves;
    int held;
    int free;
    struct {
        char *at;
        int level; /* of the tree; leaves: 0 */
        int index; /* in its level */
    } parts[JOIN_MOST];
    char *rooms[JOIN_MOST]; /* free ones */
} join_t;

void join_open(join_t *join, sched_t *sched, int leaves, size_t bytes, parts_piece_t piece);
/* Memory for one leaf; NULL: none left, and the schedule will not start. */
char *join_room(join_t *join);
/* Steps: a leaf's data is in this room; it may be reduced now. */
void join_take(join_t *join, int leaf, char *room);
/* After all leaves. */
char *join_result(const join_t *join);

/* Column q is the parts of those ranks that are number q in their node, by node. Of a node of P ranks, rank i collects the data of
 * its ranks for the columns that are i modulo P: one, or more if other nodes have more ranks. So each node sends every part once,
 * however many ranks it has. */
typedef struct columns {
    parts_list_t list; /* by rank of this node, column and node */
    int *firsts;       /* by rank of this node: the first place of its columns; then all */
    int *nodes;        /* of this rank's columns, by column and node: the first place; behind each column its end */
    int count;         /* of this rank's columns, the first of which has its own part */
} columns_t;

static inline int columns_first(const parts_t *parts, const columns_t *columns, int column, int node)
{
    return columns->nodes[(size_t)column * ((size_t)parts->nodes + 1) + (size_t)node];
}

/* The rank of a node that has this one's i-th column. */
static inline int columns_rank(const parts_t *parts, int column, int node)
{
    return parts_rank(parts, node, (parts->own + column * parts->near) % parts_ranks(parts, node));
}

/* two: by levels. */
void parts_reduce_scatter(sched_t *sched, const grp_parts_t *given, void *result, int two);

/* The two algorithms. This rank's columns, of all ranks of its node: NULL is a lack of memory. */
const char *halving_among_near(const parts_t *parts, const columns_t *columns);
const char *pairs_among_near(const parts_t *parts, const columns_t *columns);
/* This rank's part, out of all nodes' columns. */
void halving_between_nodes(const parts_t *parts, const columns_t *columns, const char *near, void *result);
void pairs_between_nodes(const parts_t *parts, const columns_t *columns, const char *near, void *result);

#endif
