/* SPDX-License-Identifier: Apache-2.0
 * pairs.c - reduce_scatter of long parts: every rank sends each other rank that one's part, and joins what it gets for its own
 * (parts.h, J1). Among the ranks of a node each sends each other one its columns, between nodes the parts of its own columns.
 *
 * Ranks exchange with a window of others at a time, so a rank has memory for a window of parts, not for those of all.
 */
#include "grp/parts.h"

#define WINDOW 16 /* messages in each direction at a time */

/* Rounds, in each of which a rank gets data of another one of `leaves`: of the one so many before it. */
typedef struct rounds {
    join_t join;
    int mine;
    char *in[WINDOW];
} rounds_t;

static int before(const rounds_t *rounds, int round)
{
    return (rounds->mine - round + rounds->join.leaves) % rounds->join.leaves;
}

static int behind(const rounds_t *rounds, int round)
{
    return (rounds->mine + round) % rounds->join.leaves;
}

static void receive(rounds_t *rounds, int round, int rank)
{
    char **in = &rounds->in[(round - 1) % WINDOW];
    if (rounds->join.bytes == 0)
        return;
    *in = join_room(&rounds->join);
    sched_recv(rounds->join.sched, rank, *in, rounds->join.bytes);
}

/* The end of a round, which may be that of a window. */
static void end_round(rounds_t *rounds, int round)
{
    const int of_window = (round - 1) % WINDOW + 1;
    if (of_window < WINDOW && round + 1 < rounds->join.leaves)
        return;
    sched_wait(rounds->join.sched, 0);
    for (int i = 0; i < of_window && rounds->join.bytes > 0; i++)
        join_take(&rounds->join, before(rounds, round - of_window + 1 + i), rounds->in[i]);
}

/* Memory for columns that are sent. */
static void staging(const parts_t *parts, const columns_t *columns, char **out)
{
    size_t most = 0;
    for (int q = 0; q < parts->near; q++) {
        const size_t bytes = parts_bytes(&columns->list, columns->firsts[q], columns->firsts[q + 1]);
        most = bytes > most ? bytes : most;
    }
    for (int i = 0; i < WINDOW; i++)
        out[i] = i + 1 < parts->near ? sched_memory(parts->sched, most) : NULL;
}

/* This rank's columns. */
const char *pairs_among_near(const parts_t *parts, const columns_t *columns)
{
    const parts_list_t *list = &columns->list;
    const int *firsts = columns->firsts;
    const int first = firsts[parts->own];
    const int end = firsts[parts->own + 1];
    sched_t *sched = parts->sched;
    rounds_t rounds = {.mine = parts->own};
    char *out[WINDOW];
    staging(parts, columns, out);
    join_open(&rounds.join, sched, parts->near, parts_bytes(list, first, end), parts_piece(sched, list, first, end));
    char *own = join_room(&rounds.join);
    parts_pack(sched, list, first, end, own);
    join_take(&rounds.join, parts->own, own);
    for (int round = 1; round < parts->near; round++) {
        const int to = behind(&rounds, round);
        const size_t bytes = parts_bytes(list, firsts[to], firsts[to + 1]);
        char *packed = out[(round - 1) % WINDOW];
        receive(&rounds, round, parts_rank(parts, parts->node, before(&rounds, round)));
        if (bytes > 0) {
            parts_pack(sched, list, firsts[to], firsts[to + 1], packed);
            sched_send(sched, parts_rank(parts, parts->node, to), packed, bytes);
        }
        end_round(&rounds, round);
    }
    return join_result(&rounds.join);
}

/* The part of a node's rank in one of this rank's columns, if there is one. */
static void send_part(const parts_t *parts, const columns_t *columns, const char *near, int column, int node)
{
    const int place = columns_first(parts, columns, column, node);
    const size_t bytes = parts_bytes(&columns->list, place, columns_first(parts, columns, column, node + 1));
    if (bytes > 0)
        sched_send(parts->sched, columns->list.ranks[place],
                   near + parts_bytes(&columns->list, columns->nodes[0], place), bytes);
}

/* Columns that have not this rank's part. */
static void send_others(const parts_t *parts, const columns_t *columns, const char *near, int column)
{
    for (int round = 1; round < parts->nodes; round++) {
        send_part(parts, columns, near, column, (parts->node + round) % parts->nodes);
        if (round >= WINDOW)
            sched_wait(parts->sched, WINDOW - 1);
    }
}

void pairs_between_nodes(const parts_t *parts, const columns_t *columns, const char *near, void *result)
{
    const int place = columns_first(parts, columns, 0, parts->node);
    const size_t bytes = parts_bytes(&columns->list, place, place + 1);
    sched_t *sched = parts->sched;
    rounds_t rounds = {.mine = parts->node};
    join_open(&rounds.join, sched, parts->nodes, bytes, parts_piece(sched, &columns->list, place, place + 1));
    char *own = join_room(&rounds.join);
    sched_copy(sched, own, near + parts_bytes(&columns->list, columns->nodes[0], place), bytes);
    join_take(&rounds.join, parts->node, own);
    for (int round = 1; round < parts->nodes; round++) {
        receive(&rounds, round, columns_rank(parts, 0, before(&rounds, round)));
        send_part(parts, columns, near, 0, behind(&rounds, round));
        end_round(&rounds, round);
    }
    for (int column = 1; column < columns->count; column++)
        send_others(parts, columns, near, column);
    sched_wait(sched, 0); /* the result may be where parts are sent from */
    sched_copy(sched, result, join_result(&rounds.join), bytes);
}
