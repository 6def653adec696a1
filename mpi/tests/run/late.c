/* SPDX-License-Identifier: Apache-2.0
 * late.c - a rank that comes late to a collective is waited for, whatever others ask meanwhile (grp/watch.h): in each form, of
 * few and of many bytes, with roots that have ended it long before the others begin.
 * ranks: 2 4 tcp nodes
 */
#include "rule.h"

#include <string.h>
#include <unistd.h>

#define MOST 20000
#define LATE_US 2200000 /* others have asked twice */

static int out[8 * MOST];
static int in[8][8 * MOST];

static void be_late(int who)
{
    if (rank == who)
        usleep(LATE_US);
}

static void non_blocking(void)
{
    MPI_Request requests[8];
    be_late(0);
    for (int i = 0; i < 2; i++) {
        const int n = i == 0 ? 1 : MOST;
        MPI_Ibcast(in[4 * i], n, MPI_INT, 0, MPI_COMM_WORLD, &requests[4 * i]);
        MPI_Iallreduce(out, in[4 * i + 1], n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[4 * i + 1]);
        MPI_Iallgather(out, n, MPI_INT, in[4 * i + 2], n, MPI_INT, MPI_COMM_WORLD, &requests[4 * i + 2]);
        MPI_Gather_init(out, n, MPI_INT, in[4 * i + 3], n, MPI_INT, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &requests[4 * i + 3]);
        MPI_Start(&requests[4 * i + 3]);
    }
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; i++) {
        CHECK(in[4 * i + 1][0] == size && in[4 * i + 2][size - 1] == 1);
        MPI_Request_free(&requests[4 * i + 3]);
    }
}

/* The root has ended the call when the last rank begins it. */
static void blocking(int n)
{
    int *sum = in[0];
    memset(in, 0, sizeof(in));
    be_late(size - 1);
    MPI_Bcast(rank == 0 ? out : in[1], n, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(rank == 0 || in[1][n - 1] == 1);
    MPI_Alltoall(out, n, MPI_INT, in[2], n, MPI_INT, MPI_COMM_WORLD);
    CHECK(in[2][size * n - 1] == 1);
    MPI_Allreduce(out, sum, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum[n - 1] == size);
}

static void test(void)
{
    for (int i = 0; i < 8 * MOST; i++)
        out[i] = 1;
    non_blocking();
    blocking(1);
    blocking(MOST);
}
