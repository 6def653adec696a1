/* SPDX-License-Identifier: Apache-2.0
 * table.c - the windows of this process. While there are any the keeper answers for a rank that computes.
 */
#include "win/table.h"

#define BUCKETS 64

static mpi_win_t *windows[BUCKETS]; /* by context id */
static int opened;                  /* windows of this process */

mpi_win_t *win_find(uint32_t context)
{
    mpi_win_t *win = windows[context % BUCKETS];
    while (win != NULL && win->comm->context != context)
        win = win->next;
    return win;
}

void win_enlist(mpi_win_t *win)
{
    mpi_win_t **bucket = &windows[win->comm->context % BUCKETS];
    win->next = *bucket;
    *bucket = win;
    if (opened++ == 0)
        rt_keeper_serve(1);
}

void win_strike_off(mpi_win_t *win)
{
    mpi_win_t **at = &windows[win->comm->context % BUCKETS];
    while (*at != win)
        at = &(*at)->next;
    *at = win->next;
    if (--opened == 0)
        rt_keeper_serve(-1);
}
