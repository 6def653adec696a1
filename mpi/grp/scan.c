/* SPDX-License-Identifier: Apache-2.0
 * scan.c - scan along the ranks: each one reduces its elements behind those of the ranks before it and passes them on. Much data
 * goes in pieces, so that all ranks of the chain work at a time.
 */
#include "grp/flat.h"
#include "grp/steps.h"
#include "grp/table.h"

#define PIECE (64u << 10) /* bytes of a message at least, where the elements go in several */
#define PIECES 32u        /* at most */

size_t flat_scan_piece(sched_t *sched, size_t count, const grp_reduce_t *reduce)
{
    const size_t bytes = count * reduce->element;
    const int is_few = table_is_few(TABLE_SCAN_STEPS, sched_size(sched), sched->nodes, bytes);
    if (grp_choose(sched->call, GRP_CHAIN, is_few, bytes) || bytes == 0)
        return count;
    const size_t least = PIECE / reduce->element;
    const size_t share = (count + PIECES - 1) / PIECES;
    return share > least ? share : least > 0 ? least : 1;
}

/* Inclusive: the result is what goes to the next rank. Exclusive: it is what comes from the rank before. */
void steps_scan(sched_t *sched, const void *mine, void *result, size_t count, const grp_reduce_t *reduce, int exclusive)
{
    const size_t piece = flat_scan_piece(sched, count, reduce);
    const int rank = sched_rank(sched);
    unsigned char *scratch = flat_room(sched, count, reduce);
    unsigned char *before = exclusive ? result : scratch;
    unsigned char *upto = exclusive ? scratch : result;
    size_t at = 0;
    if (scratch == NULL)
        return;
    sched_copy(sched, upto, mine, count * reduce->element);
    do {
        const size_t elements = count - at < piece ? count - at : piece;
        const size_t offset = at * reduce->element;
        if (rank > 0) {
            sched_recv(sched, rank - 1, before + offset, elements * reduce->element);
            sched_wait(sched, 0);
            sched_reduce(sched, reduce, before + offset, upto + offset, elements);
        }
        if (rank + 1 < sched_size(sched))
            sched_send(sched, rank + 1, upto + offset, elements * reduce->element);
        at += elements;
    } while (at < count);
    sched_wait(sched, 0);
}
