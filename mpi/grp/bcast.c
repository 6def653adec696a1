/* SPDX-License-Identifier: Apache-2.0
 * bcast.c - barrier by dissemination, broadcast by a binomial tree.
 */
#include "grp/levels.h"
#include "grp/node.h"
#include "grp/steps.h"

void steps_barrier(sched_t *sched)
{
    if (sched->levels != NULL) {
        levels_barrier(sched);
        return;
    }
    const int size = sched_size(sched);
    const int rank = sched_rank(sched);
    for (int distance = 1; distance < size; distance *= 2) {
        sched_recv(sched, (rank - distance + size) % size, NULL, 0);
        sched_send(sched, (rank + distance) % size, NULL, 0);
        sched_wait(sched, 0);
    }
}

void steps_bcast(sched_t *sched, void *buffer, size_t length, int root)
{
    if (sched->levels != NULL) {
        levels_bcast(sched, buffer, length, root);
        return;
    }
    const int size = sched_size(sched);
    const int place = (sched_rank(sched) - root + size) % size; /* in the tree; the root is 0 */
    int bit = 1;
    while (bit < size && (place & bit) == 0)
        bit *= 2;
    if (bit < size) {
        sched_recv(sched, (place - bit + root) % size, buffer, length);
        sched_wait(sched, 0);
    }
    for (bit /= 2; bit > 0; bit /= 2)
        if (place + bit < size)
            sched_send(sched, (place + bit + root) % size, buffer, length);
}

int grp_barrier(grp_t *grp)
{
    const int near = node_ready(grp);
    if (near != 0)
        return near < 0 ? near : node_barrier(grp->node);
    sched_t *sched = sched_open(grp);
    if (sched != NULL)
        steps_barrier(sched);
    return sched_run(sched);
}

int grp_bcast(grp_t *grp, void *buffer, size_t length, int root)
{
    const int near = node_bcast_fits(grp, length) ? node_ready(grp) : 0;
    if (near != 0)
        return near < 0 ? near : node_bcast(grp->node, buffer, length, root);
    sched_t *sched = sched_open(grp);
    if (sched != NULL)
        steps_bcast(sched, buffer, length, root);
    return sched_run(sched);
}
