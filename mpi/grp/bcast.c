/* SPDX-License-Identifier: Apache-2.0
 * bcast.c - barrier by dissemination, broadcast by a binomial tree.
 */
#include "grp/grp.h"

int grp_barrier(grp_t *grp)
{
    const int size = grp_size(grp);
    const int rank = grp_rank(grp);
    unsigned step = 0;
    int rc = 0;
    for (int distance = 1; distance < size && rc >= 0; distance *= 2, step++)
        rc = grp_sendrecv(grp, (rank + distance) % size, NULL, 0, (rank - distance + size) % size, NULL, 0, step);
    grp->number++;
    return rc < 0 ? rc : 0;
}

int grp_bcast(grp_t *grp, void *buffer, size_t length, int root)
{
    const int size = grp_size(grp);
    const int place = (grp_rank(grp) - root + size) % size; /* in the tree; the root is 0 */
    int bit = 1;
    int rc = 0;
    for (; bit < size; bit *= 2) {
        if (place & bit) {
            rc = grp_recv(grp, (place - bit + root) % size, 0, buffer, length);
            break;
        }
    }
    for (bit /= 2; bit > 0 && rc >= 0; bit /= 2)
        if (place + bit < size)
            rc = grp_send(grp, (place + bit + root) % size, 0, buffer, length);
    grp->number++;
    return rc < 0 ? rc : 0;
}
