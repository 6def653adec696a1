/* SPDX-License-Identifier: Apache-2.0
 * outstanding.c - many collectives of one communicator are pending at once; each rank completes them in an order of its
 * own, between blocking collectives and messages, and gets each one's result.
 * ranks: 1 2 3 4 5 tcp
 */
#include "rule.h"

#define PENDING 60

static unsigned drawn; /* each rank draws other numbers */

static unsigned draw(unsigned limit)
{
    drawn = drawn * 1103515245u + 12345u;
    return (drawn >> 16) % limit;
}

static long sums[PENDING];
static long mine[PENDING];
static int roots[PENDING];
static int all[PENDING][16];
static MPI_Request requests[PENDING];

static void start(int i)
{
    mine[i] = rank + 1000 * i;
    roots[i] = rank == i % size ? i : -1;
    all[i][rank] = i - rank;
    if (i % 4 == 0)
        MPI_Iallreduce(&mine[i], &sums[i], 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
    else if (i % 4 == 1)
        MPI_Ibcast(&roots[i], 1, MPI_INT, i % size, MPI_COMM_WORLD, &requests[i]);
    else if (i % 4 == 2)
        MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all[i], 1, MPI_INT, MPI_COMM_WORLD, &requests[i]);
    else
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]);
}

static void check(int i)
{
    if (i % 4 == 0)
        CHECK(sums[i] == (long)size * (size - 1) / 2 + 1000l * i * size);
    if (i % 4 == 1)
        CHECK(roots[i] == i);
    for (int from = 0; i % 4 == 2 && from < size; from++)
        CHECK(all[i][from] == i - from);
}

/* Any one of those that are pending, by a call that is drawn. */
static int complete_one(int pending)
{
    int index;
    int flag = 1;
    int indices[PENDING];
    int done = 1;
    switch (draw(4)) {
    case 0: MPI_Waitany(PENDING, requests, &index, MPI_STATUS_IGNORE); break;
    case 1: MPI_Testany(PENDING, requests, &index, &flag, MPI_STATUS_IGNORE); break;
    case 2:
        MPI_Waitsome(PENDING, requests, &done, indices, MPI_STATUSES_IGNORE);
        for (int i = 0; i < done; i++)
            check(indices[i]);
        return pending - done;
    default:
        index = (int)draw(PENDING);
        flag = requests[index] != MPI_REQUEST_NULL;
        if (flag)
            MPI_Wait(&requests[index], MPI_STATUS_IGNORE);
    }
    if (!flag)
        return pending;
    CHECK(requests[index] == MPI_REQUEST_NULL);
    check(index);
    return pending - 1;
}

static void test(void)
{
    drawn = (unsigned)rank * 7919u + 1;
    for (int round = 0; round < 20; round++) {
        int token = -1;
        int one = 1;
        int count = 0;
        for (int i = 0; i < PENDING; i++)
            start(i);
        MPI_Allreduce(&one, &count, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(count == size);
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &token, 1, MPI_INT, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(token == (rank + size - 1) % size);
        if (round % 4 == 3) {
            MPI_Waitall(PENDING, requests, MPI_STATUSES_IGNORE);
            for (int i = 0; i < PENDING; i++)
                check(i);
            continue;
        }
        for (int pending = PENDING; pending > 0;)
            pending = complete_one(pending);
    }
}
