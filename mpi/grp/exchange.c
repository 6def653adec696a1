/* SPDX-License-Identifier: Apache-2.0
 * exchange.c - alltoall of small blocks of one length where several ranks share a node (units.h): between two nodes goes one
 * message each way, and the ranks of a node share the nodes that they speak with.
 *
 * Rank q of a node of P ranks speaks with the nodes whose numbers are q modulo P.
 *   1 each rank gives rank q the blocks for the nodes of q             by node, in it by rank
 *   2 rank q sends each of its nodes what its own node has for it      by source, in it by target
 *   3 rank q gives each rank of its node what came for it              by node, in it by source
 */
#include <string.h>

#include "grp/steps.h"
#include "grp/table.h"
#include "grp/units.h"

#define WINDOW 32

typedef struct exchange {
    units_t units;
    int first; /* rank of this node */
    int ranks; /* of this node: P */
    int own;   /* number of this rank in its node: q */
    size_t length;
    grp_blocks_t send;
    grp_blocks_t receive;
    char *apart; /* 1 and 3, what this rank gives: by rank of the node */
    char *near;  /* 1 and 3, what it takes: by rank of the node */
    char *out;   /* 2: by node */
    char *in;
} exchange_t;

/* Blocks of no bytes may have no address. */
static void move(char *to, const void *from, size_t length)
{
    if (length > 0)
        memcpy(to, from, length);
}

static int count_of(const exchange_t *exchange, int unit)
{
    return units_ranks(&exchange->units, unit, 1);
}

/* Blocks of one rank for the nodes with which rank q speaks. */
static size_t share(const exchange_t *exchange, int q)
{
    size_t blocks = 0;
    for (int unit = q; unit < exchange->units.count; unit += exchange->ranks)
        blocks += (size_t)count_of(exchange, unit);
    return blocks * exchange->length;
}

/* The others, who have one length, get notices (S2). */
static int fail_of_lengths(void *arg)
{
    (void)arg;
    return VBN_ERR_TRUNCATED;
}

/* 1: what this rank gives to each rank of its node. */
static int sort_out(void *arg)
{
    const exchange_t *exchange = arg;
    char *at = exchange->apart;
    for (int q = 0; q < exchange->ranks; q++)
        for (int unit = q; unit < exchange->units.count; unit += exchange->ranks)
            for (int i = 0; i < count_of(exchange, unit); i++, at += exchange->length)
                move(at, grp_block(&exchange->send, units_first(&exchange->units, unit) + i), exchange->length);
    return 0;
}

/* 2: what this node has for each of this rank's nodes. */
static int sort_by_node(void *arg)
{
    const exchange_t *exchange = arg;
    const size_t each = share(exchange, exchange->own);
    const char *from = exchange->near;
    char *at = exchange->out;
    for (int unit = exchange->own; unit < exchange->units.count; unit += exchange->ranks) {
        const size_t bytes = (size_t)count_of(exchange, unit) * exchange->length;
        for (int source = 0; source < exchange->ranks; source++, at += bytes)
            move(at, from + (size_t)source * each, bytes);
        from += bytes;
    }
    return 0;
}

/* 3: what came for each rank of this node. */
static int sort_by_target(void *arg)
{
    const exchange_t *exchange = arg;
    char *at = exchange->apart;
    for (int target = 0; target < exchange->ranks; target++) {
        const char *from = exchange->in + (size_t)target * exchange->length;
        for (int unit = exchange->own; unit < exchange->units.count; unit += exchange->ranks)
            for (int i = 0; i < count_of(exchange, unit); i++, at += exchange->length) {
                move(at, from, exchange->length);
                from += (size_t)exchange->ranks * exchange->length;
            }
    }
    return 0;
}

static int sort_in(void *arg)
{
    const exchange_t *exchange = arg;
    const char *from = exchange->near;
    for (int q = 0; q < exchange->ranks; q++)
        for (int unit = q; unit < exchange->units.count; unit += exchange->ranks)
            for (int i = 0; i < count_of(exchange, unit); i++, from += exchange->length)
                move(grp_block(&exchange->receive, units_first(&exchange->units, unit) + i), from, exchange->length);
    return 0;
}

/* A message with each rank of the node: out of `apart`, into `near`. give(q) and take(q): their bytes. */
static void among_near(sched_t *sched, const exchange_t *exchange, int gathers)
{
    size_t give = 0;
    size_t take = 0;
    for (int q = 0; q < exchange->ranks; q++) {
        const size_t out = share(exchange, gathers ? q : exchange->own);
        const size_t in = share(exchange, gathers ? exchange->own : q);
        if (q == exchange->own) {
            sched_copy(sched, exchange->near + take, exchange->apart + give, in);
        } else {
            sched_recv(sched, exchange->first + q, exchange->near + take, in);
            sched_send(sched, exchange->first + q, exchange->apart + give, out);
        }
        give += out;
        take += in;
        if (q >= WINDOW)
            sched_wait(sched, 2 * (WINDOW - 1));
    }
    sched_wait(sched, 0);
}

static void between_nodes(sched_t *sched, const exchange_t *exchange)
{
    const units_t *units = &exchange->units;
    size_t at = 0;
    for (int unit = exchange->own, i = 0; unit < units->count; unit += exchange->ranks, i++) {
        const size_t bytes = (size_t)count_of(exchange, unit) * (size_t)exchange->ranks * exchange->length;
        const int other = units_first(units, unit) + units->mine % count_of(exchange, unit);
        if (unit == units->mine) {
            sched_copy(sched, exchange->in + at, exchange->out + at, bytes);
        } else {
            sched_recv(sched, other, exchange->in + at, bytes);
            sched_send(sched, other, exchange->out + at, bytes);
        }
        at += bytes;
        if (i >= WINDOW)
            sched_wait(sched, 2 * (WINDOW - 1));
    }
    sched_wait(sched, 0);
}

/* NULL: no memory left; the schedule will not start. */
static exchange_t *open(sched_t *sched, const units_t *units, const grp_blocks_t *send, const grp_blocks_t *receive)
{
    exchange_t *exchange = sched_memory(sched, sizeof(*exchange));
    if (exchange == NULL)
        return NULL;
    *exchange = (exchange_t){
        .units = *units, .send = *send, .receive = *receive, .length = receive->length(receive, 0)};
    exchange->first = units_first(units, units->mine);
    exchange->ranks = count_of(exchange, units->mine);
    exchange->own = sched_rank(sched) - exchange->first;
    const size_t all = (size_t)sched_size(sched) * exchange->length;
    const size_t shared = share(exchange, exchange->own) * (size_t)exchange->ranks;
    exchange->apart = sched_memory(sched, all > shared ? all : shared);
    exchange->near = sched_memory(sched, all > shared ? all : shared);
    exchange->out = sched_memory(sched, shared);
    exchange->in = sched_memory(sched, shared);
    return sched->status < 0 ? NULL : exchange;
}

void steps_alltoall_each(sched_t *sched, const grp_blocks_t *send, const grp_blocks_t *receive)
{
    const units_t units = units_of(sched);
    const size_t length = receive->length(receive, 0);
    const int is_few = table_is_few(TABLE_ALLTOALL_STEPS, sched_size(sched), sched->nodes, length);
    if (units.levels == NULL || !grp_choose(sched->call, GRP_EXCHANGE, is_few, length)) {
        steps_alltoall(sched, send, receive);
        return;
    }
    exchange_t *exchange = open(sched, &units, send, receive);
    if (exchange == NULL)
        return;
    sched_call(sched, send->length(send, 0) == exchange->length ? sort_out : fail_of_lengths, exchange);
    among_near(sched, exchange, 1);
    sched_call(sched, sort_by_node, exchange);
    between_nodes(sched, exchange);
    sched_call(sched, sort_by_target, exchange);
    among_near(sched, exchange, 0);
    sched_call(sched, sort_in, exchange);
}
