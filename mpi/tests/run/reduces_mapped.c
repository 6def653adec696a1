/* SPDX-License-Identifier: Apache-2.0
 * reduces_mapped.c - reductions of data in memory that the ranks of a node share, of data in private memory, and of both at
 * different ranks: each has the bits of the form that does not block, whose data goes by messages. In place, too; blocks of
 * reduce_scatter have different lengths, some have none.
 * ranks: 1 2 3 4 5 9 nodes
 */
#include "rule.h"

#define MOST 70001

static double *memory_of(int shared, size_t count)
{
    double *memory;
    const MPI_Aint bytes = (MPI_Aint)((count + 8) * sizeof(double));
    if (!shared)
        return malloc((size_t)bytes);
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory);
    return memory;
}

static void give_back(double *memory, int shared)
{
    if (shared)
        MPI_Free_mem(memory);
    else
        free(memory);
}

static double element(int round, int i)
{
    return (rank * 7919 + i % 1000 + round + 1) / 3.0 * (rank % 2 == 0 ? 1e-9 : 1e9);
}

static void set_elements(double *mine, int count, int round)
{
    for (int i = 0; i < count; i++)
        mine[i] = element(round, i);
}

static int same(const double *a, const double *b, int count)
{
    return memcmp(a, b, (size_t)count * sizeof(double)) == 0;
}

static void allreduce(double *mine, double *result, double *expected, int count)
{
    MPI_Request request;
    MPI_Iallreduce(mine, expected, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    result[count] = 17;
    MPI_Allreduce(mine, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(same(result, expected, count) && result[count] == 17);
    memcpy(result, mine, (size_t)count * sizeof(double));
    MPI_Allreduce(MPI_IN_PLACE, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(same(result, expected, count) && result[count] == 17);
}

static void reduce(double *mine, double *result, double *expected, int count, int root)
{
    MPI_Request request;
    MPI_Ireduce(mine, expected, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    result[count] = 17;
    MPI_Reduce(mine, result, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    CHECK(rank != root || (same(result, expected, count) && result[count] == 17));
    memcpy(result, mine, (size_t)count * sizeof(double));
    MPI_Reduce(rank == root ? MPI_IN_PLACE : mine, result, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    CHECK(rank != root || (same(result, expected, count) && result[count] == 17));
}

/* Rank i gets i parts of so many; rank 0 nothing, the last one the rest. */
static int split(int *counts, int count)
{
    int first = 0;
    int left = count;
    for (int i = 0; i < size; i++) {
        counts[i] = i == size - 1 ? left : count / (size * size) * i;
        left -= counts[i];
        first += i < rank ? counts[i] : 0;
    }
    return first;
}

static void reduce_scatter(double *mine, double *result, double *expected, int count)
{
    int counts[64];
    MPI_Request request;
    const int first = split(counts, count);
    const int own = counts[rank];
    MPI_Ireduce(mine, expected, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Bcast(expected, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    result[own] = 17;
    MPI_Reduce_scatter(mine, result, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(same(result, expected + first, own) && result[own] == 17);
    memcpy(result, mine, (size_t)count * sizeof(double));
    MPI_Reduce_scatter(MPI_IN_PLACE, result, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(same(result, expected + first, own));
    MPI_Ireduce_scatter(mine, result, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(same(result, expected + first, own));
    if (count % size != 0)
        return;
    MPI_Reduce_scatter_block(mine, result, count / size, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(same(result, expected + count / size * rank, count / size));
}

static void test(void)
{
    static const int counts[] = {1, 40, 5040, 8193, MOST};
    for (int round = 0; round < 20; round++) {
        const int count = counts[round % 5];
        const int is_shared = round / 5 == 3 ? 1 : (round / 5 >> (rank % 2)) & 1;
        const int gets_shared = round / 5 == 3 || (round + rank) % 3 == 0;
        double *mine = memory_of(is_shared, MOST);
        double *result = memory_of(gets_shared, MOST);
        double *expected = malloc((MOST + 1) * sizeof(double));
        set_elements(mine, count, round);
        allreduce(mine, result, expected, count);
        reduce(mine, result, expected, count, round % size);
        reduce_scatter(mine, result, expected, count);
        for (int i = 0; i < count; i++)
            CHECK(mine[i] == element(round, i));
        give_back(mine, is_shared);
        give_back(result, gets_shared);
        free(expected);
    }
}
