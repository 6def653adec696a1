/* SPDX-License-Identifier: Apache-2.0
 * gather.c - gather and scatter, the root with all at once; allgather round a ring; alltoall pairwise, in windows.
 */
#include "grp/grp.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW 32 /* messages of a rank that are under way at a time */

static int worse(int rc, int other)
{
    return rc < 0 ? rc : other < 0 ? other : 0;
}

/* The root's side: one message with every other rank, WINDOW at a time. */
static int with_all(grp_t *grp, const grp_blocks_t *blocks, int gathers)
{
    const int size = grp_size(grp);
    const int rank = grp_rank(grp);
    grp_op_t *ops = calloc(WINDOW, sizeof(*ops));
    int rc = ops == NULL ? VBN_ERR_NO_MEMORY : 0;
    for (int first = 1; first < size && rc == 0; first += WINDOW) {
        const int end = first + WINDOW < size ? first + WINDOW : size;
        for (int i = first; i < end; i++) {
            const int other = (rank + i) % size;
            const size_t length = blocks->length(blocks, other);
            if (gathers)
                grp_irecv(grp, &ops[i - first], other, 0, grp_block(blocks, other), length);
            else
                grp_isend(grp, &ops[i - first], other, 0, grp_block(blocks, other), length);
        }
        for (int i = first; i < end; i++)
            rc = worse(rc, grp_wait(&ops[i - first]));
    }
    free(ops);
    return rc;
}

int grp_gather(grp_t *grp, const void *mine, size_t length, const grp_blocks_t *blocks, int root)
{
    int rc;
    if (grp_rank(grp) != root) {
        rc = grp_send(grp, root, 0, mine, length);
    } else {
        const size_t room = blocks->length(blocks, root);
        if (mine != NULL && length > 0)
            memcpy(grp_block(blocks, root), mine, length < room ? length : room);
        rc = mine != NULL && length > room ? VBN_ERR_TRUNCATED : with_all(grp, blocks, 1);
    }
    grp->number++;
    return rc < 0 ? rc : 0;
}

int grp_scatter(grp_t *grp, const grp_blocks_t *blocks, void *mine, size_t length, int root)
{
    int rc;
    if (grp_rank(grp) != root) {
        rc = grp_recv(grp, root, 0, mine, length);
    } else {
        const size_t own = blocks->length(blocks, root);
        rc = with_all(grp, blocks, 0);
        if (mine != NULL && own > length)
            rc = worse(rc, VBN_ERR_TRUNCATED);
        else if (mine != NULL && own > 0)
            memcpy(mine, grp_block(blocks, root), own);
    }
    grp->number++;
    return rc < 0 ? rc : 0;
}

/* In step i everybody passes on the block that it got in the step before. */
int grp_allgather(grp_t *grp, const grp_blocks_t *blocks)
{
    const int size = grp_size(grp);
    const int rank = grp_rank(grp);
    int rc = 0;
    for (int i = 0; i + 1 < size && rc >= 0; i++) {
        const int out = (rank - i + size) % size;
        const int in = (rank - i - 1 + size) % size;
        rc = grp_sendrecv(grp, (rank + 1) % size, grp_block(blocks, out), blocks->length(blocks, out),
                          (rank - 1 + size) % size, grp_block(blocks, in), blocks->length(blocks, in), 0);
    }
    grp->number++;
    return rc < 0 ? rc : 0;
}

static int exchange(grp_t *grp, const grp_blocks_t *send, const grp_blocks_t *receive, grp_op_t *ops)
{
    const int size = grp_size(grp);
    const int rank = grp_rank(grp);
    int rc = 0;
    for (int first = 1; first < size && rc == 0; first += WINDOW) {
        const int end = first + WINDOW < size ? first + WINDOW : size;
        for (int i = first; i < end; i++) {
            const int from = (rank - i + size) % size;
            grp_irecv(grp, &ops[i - first], from, 0, grp_block(receive, from), receive->length(receive, from));
        }
        for (int i = first; i < end; i++) {
            const int to = (rank + i) % size;
            grp_isend(grp, &ops[WINDOW + i - first], to, 0, grp_block(send, to), send->length(send, to));
        }
        for (int i = first; i < end; i++)
            rc = worse(worse(rc, grp_wait(&ops[WINDOW + i - first])), grp_wait(&ops[i - first]));
    }
    return rc;
}

int grp_alltoall(grp_t *grp, const grp_blocks_t *send, const grp_blocks_t *receive)
{
    const int rank = grp_rank(grp);
    const size_t own = send->length(send, rank);
    if (own > receive->length(receive, rank))
        return VBN_ERR_TRUNCATED;
    grp_op_t *ops = calloc(2 * WINDOW, sizeof(*ops));
    if (ops == NULL)
        return VBN_ERR_NO_MEMORY;
    const int rc = exchange(grp, send, receive, ops);
    if (own > 0)
        memcpy(grp_block(receive, rank), grp_block(send, rank), own);
    free(ops);
    grp->number++;
    return rc < 0 ? rc : 0;
}
