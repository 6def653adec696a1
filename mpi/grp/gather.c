/* SPDX-License-Identifier: Apache-2.0
 * gather.c - of blocks of any length: gather and scatter, the root with all at once; allgather round a ring; alltoall pairwise, in
 * windows; exchange with neighbours. Small blocks: tree.c, spread.c, exchange.c.
 */
#include "grp/steps.h"

#define WINDOW 32 /* messages in each direction that a rank has in flight */

static int too_long(void *arg)
{
    (void)arg;
    return VBN_ERR_TRUNCATED;
}

void steps_own(sched_t *sched, void *to, size_t room, const void *from, size_t length)
{
    if (length > room)
        sched_call(sched, too_long, NULL);
    else
        sched_copy(sched, to, from, length);
}

void steps_gather(sched_t *sched, const void *mine, size_t length, const grp_blocks_t *blocks, int root)
{
    const int size = sched_size(sched);
    if (sched_rank(sched) != root) {
        sched_send(sched, root, mine, length);
        return;
    }
    if (mine != NULL)
        steps_own(sched, grp_block(blocks, root), blocks->length(blocks, root), mine, length);
    for (int i = 1; i < size; i++) {
        const int other = (root + i) % size;
        sched_recv(sched, other, grp_block(blocks, other), blocks->length(blocks, other));
        if (i >= WINDOW)
            sched_wait(sched, WINDOW - 1);
    }
    sched_wait(sched, 0);
}

void steps_scatter(sched_t *sched, const grp_blocks_t *blocks, void *mine, size_t length, int root)
{
    const int size = sched_size(sched);
    if (sched_rank(sched) != root) {
        sched_recv(sched, root, mine, length);
        sched_wait(sched, 0);
        return;
    }
    for (int i = 1; i < size; i++) {
        const int other = (root + i) % size;
        sched_send(sched, other, grp_block(blocks, other), blocks->length(blocks, other));
        if (i >= WINDOW)
            sched_wait(sched, WINDOW - 1);
    }
    if (mine != NULL)
        steps_own(sched, mine, length, grp_block(blocks, root), blocks->length(blocks, root));
}

/* In step i everybody passes on the block that it got in the step before. */
void steps_allgather(sched_t *sched, const grp_blocks_t *blocks)
{
    const int size = sched_size(sched);
    const int rank = sched_rank(sched);
    if (size > 2 && steps_spread(sched, blocks))
        return;
    for (int i = 0; i + 1 < size; i++) {
        const int out = (rank - i + size) % size;
        const int in = (rank - i - 1 + size) % size;
        sched_recv(sched, (rank - 1 + size) % size, grp_block(blocks, in), blocks->length(blocks, in));
        sched_send(sched, (rank + 1) % size, grp_block(blocks, out), blocks->length(blocks, out));
        sched_wait(sched, 0);
    }
}

void steps_alltoall(sched_t *sched, const grp_blocks_t *send, const grp_blocks_t *receive)
{
    const int size = sched_size(sched);
    const int rank = sched_rank(sched);
    for (int i = 1; i < size; i++) {
        const int from = (rank - i + size) % size;
        const int to = (rank + i) % size;
        sched_recv(sched, from, grp_block(receive, from), receive->length(receive, from));
        sched_send(sched, to, grp_block(send, to), send->length(send, to));
        if (i >= WINDOW)
            sched_wait(sched, 2 * (WINDOW - 1));
    }
    steps_own(sched, grp_block(receive, rank), receive->length(receive, rank), grp_block(send, rank),
              send->length(send, rank));
    sched_wait(sched, 0);
}

void steps_neighbors(sched_t *sched, const steps_edges_t *out, const steps_edges_t *in, int paired)
{
    for (int i = 0; i < in->count; i++) {
        const int edge = paired ? i ^ 1 : i;
        if (in->ranks[edge] >= 0)
            sched_recv(sched, in->ranks[edge], grp_block(in->blocks, edge), in->blocks->length(in->blocks, edge));
    }
    for (int edge = 0; edge < out->count; edge++)
        if (out->ranks[edge] >= 0)
            sched_send(sched, out->ranks[edge], grp_block(out->blocks, edge), out->blocks->length(out->blocks, edge));
    sched_wait(sched, 0);
}

int grp_allgather(grp_t *grp, const grp_blocks_t *blocks)
{
    sched_t *sched = sched_open(grp);
    if (sched != NULL)
        steps_allgather(sched, blocks);
    return sched_run(sched);
}

int grp_alltoall(grp_t *grp, const grp_blocks_t *send, const grp_blocks_t *receive)
{
    sched_t *sched = sched_open(grp);
    if (sched != NULL)
        steps_alltoall(sched, send, receive);
    return sched_run(sched);
}
