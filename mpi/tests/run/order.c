/* SPDX-License-Identifier: Apache-2.0
 * order.c - messages from one rank to another are received in the order they were sent, whatever their sizes.
 * ranks: 2 4 tcp
 */
#include "rule.h"

#define MOST (1 << 20)

static const int lengths[] = {0, 1, 8, 100, 4096, 8191, 8192, 20000, 65536, MOST};
#define KINDS ((int)(sizeof(lengths) / sizeof(lengths[0])))

static void test(void)
{
    unsigned char *bytes = malloc(MOST);
    const int to = (rank + 1) % size;
    const int from = (rank - 1 + size) % size;
    MPI_Request requests[KINDS];
    unsigned char *copies[KINDS];
    for (int i = 0; i < KINDS; i++) {
        copies[i] = malloc(MOST);
        fill(copies[i], lengths[i], rank + i);
        MPI_Isend(copies[i], lengths[i], MPI_BYTE, to, 5, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < KINDS; i++) {
        MPI_Status status;
        int count;
        MPI_Recv(bytes, MOST, MPI_BYTE, from, 5, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK(count == lengths[i]);
        CHECK(status.MPI_SOURCE == from && status.MPI_TAG == 5);
        CHECK(is_filled(bytes, count, from + i));
    }
    MPI_Waitall(KINDS, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < KINDS; i++)
        free(copies[i]);
    free(bytes);
}
