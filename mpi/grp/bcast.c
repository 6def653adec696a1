/* SPDX-License-Identifier: Apache-2.0
 * bcast.c - barrier by dissemination, broadcast by a binomial tree.
 */
#include "grp/flat.h"

void flat_barrier(sched_t *sched)
{
    const int size = sched_size(sched);
    const int rank = sched_rank(sched);
    for (int distance = 1; distance < size; distance *= 2) {
        sched_recv(sched, (rank - distance + size) % size, NULL, 0);
        sched_send(sched, (rank + distance) % size, NULL, 0);
        sched_wait(sched, 0);
    }
}

void flat_bcast(sched_t *sched, void *buffer, size_t length, int root)
{
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
