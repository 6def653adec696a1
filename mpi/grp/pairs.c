/* SPDX-License-Identifier: Apache-2.0
 * pairs.c - reduce_scatter of long parts: every rank sends each other rank that one's part, and joins what it gets for its own
 * (parts.h, J1). Among the ranks of a node each sends each other one its column, between nodes the parts of its own column.
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

/* The parts of a node's ranks in this rank's column. */
static void send_parts(const parts_t *parts, const columns_t *columns, const char *column, int node)
{
    for (int place = columns->nodes[node]; place < columns->nodes[node + 1]; place++) {
        const size_t at = parts_bytes(&columns->list, columns->nodes[0], place);
        const size_t bytes = parts_bytes(&columns->list, place, place + 1);
        if (bytes > 0)
            sched_send(parts->sched, columns->list.ranks[place], column + at, bytes);
    }
}

void pairs_between_nodes(const parts_t *parts, const columns_t *columns, const char *column, void *result)
{
    const int place = columns->nodes[parts->node];
    const size_t bytes = parts_bytes(&columns->list, place, place + 1);
    sched_t *sched = parts->sched;
    rounds_t rounds = {.mine = parts->node};
    join_open(&rounds.join, sched, parts->nodes, bytes, parts_piece(sched, &columns->list, place, place + 1));
    char *own = join_room(&rounds.join);
    sched_copy(sched, own, column + parts_bytes(&columns->list, columns->nodes[0], place), bytes);
    join_take(&rounds.join, parts->node, own);
    for (int round = 1; round < parts->nodes; round++) {
        const int from = before(&rounds, round);
        receive(&rounds, round, parts_rank(parts, from, parts->own % parts_ranks(parts, from)));
        send_parts(parts, columns, column, behind(&rounds, round));
        end_round(&rounds, round);
    }
    sched_copy(sched, result, join_result(&rounds.join), bytes);
}
