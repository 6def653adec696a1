/* SPDX-License-Identifier: Apache-2.0
 * split.c - split makes communicators by colour, ordered by key; their collectives stay among themselves.
 * ranks: 1 2 3 4 tcp
 */
#include "rule.h"

static void test(void)
{
    MPI_Comm half;
    MPI_Comm none;
    int place;
    int count;
    int sum;
    int expected = 0;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_rank(half, &place);
    MPI_Comm_size(half, &count);
    CHECK(count == (size - rank % 2 + 1) / 2 && place == count - 1 - rank / 2);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
    for (int i = rank % 2; i < size; i += 2)
        expected += i;
    CHECK(sum == expected);
    int first = rank;
    MPI_Bcast(&first, 1, MPI_INT, 0, half);
    CHECK(first == (size - 1 - rank % 2) / 2 * 2 + rank % 2); /* rank 0 of it is the largest */
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 5 : MPI_UNDEFINED, 0, &none);
    CHECK((none == MPI_COMM_NULL) == (rank != 0));
    if (rank == 0)
        MPI_Comm_free(&none);
    MPI_Comm_free(&half);
    CHECK(half == MPI_COMM_NULL);
}
