/* SPDX-License-Identifier: Apache-2.0
 * idup.c - duplicates without blocking: several at a time, out of different communicators, beside calls that block; no two
 * communicators share a context.
 * ranks: 1 2 3 4 5 tcp
 */
#include "rule.h"

#define MANY 12

static void all_differ(MPI_Comm *comms, int n)
{
    MPI_Request requests[2 * MANY];
    int in[MANY];
    int out[MANY];
    for (int i = 0; i < n; i++) { /* received in the other order: each finds its own only by its context */
        const int at = n - 1 - i;
        MPI_Irecv(&in[at], 1, MPI_INT, (rank - 1 + size) % size, 0, comms[at], &requests[i]);
    }
    for (int i = 0; i < n; i++) {
        out[i] = 100 + i;
        MPI_Isend(&out[i], 1, MPI_INT, (rank + 1) % size, 0, comms[i], &requests[n + i]);
    }
    MPI_Waitall(2 * n, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++)
        CHECK(in[i] == 100 + i);
}

/* A duplicate has the topology. */
static void of_ring(void)
{
    const int periodic = 1;
    MPI_Comm ring;
    MPI_Comm copy;
    MPI_Request request;
    int before;
    int after;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Comm_idup(ring, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Cart_shift(copy, 0, 1, &before, &after);
    CHECK(before == (rank - 1 + size) % size && after == (rank + 1) % size);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&ring);
}

static void test(void)
{
    MPI_Comm comms[MANY];
    MPI_Comm parents[3];
    MPI_Request requests[MANY];
    int key;
    int value = 5;
    int *found;
    int flag;
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    for (int i = 0; i < 3; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]);
    MPI_Comm_set_attr(parents[0], key, &value);
    for (int i = 0; i < MANY; i++) {
        requests[i] = MPI_REQUEST_NULL;
        if (i % 4 == 3) /* while others are under way */
            MPI_Comm_dup(parents[i % 3], &comms[i]);
        else
            MPI_Comm_idup(parents[i % 3], &comms[i], &requests[i]);
    }
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_get_attr(comms[0], key, &found, &flag);
    CHECK(flag && *found == 5);
    all_differ(comms, MANY);
    for (int i = 0; i < MANY; i++)
        MPI_Comm_free(&comms[i]);
    for (int i = 0; i < 3; i++)
        MPI_Comm_free(&parents[i]);
    MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comms[0], &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    all_differ(comms, 1);
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free_keyval(&key);
    of_ring();
}
