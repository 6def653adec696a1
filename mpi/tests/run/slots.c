/* SPDX-License-Identifier: Apache-2.0
 * slots.c - collectives of ranks that share a node go over slots of its memory: lines and buffers are used again and again,
 * sizes around what a line and a buffer hold, more communicators than there are slots, those that end and begin, and the
 * same bits as the forms that do not block.
 * ranks: 2 3 4 5 9 tcp nodes
 */
#include "rule.h"

#define MOST 1000000

static unsigned char bytes[MOST];
static double mine[MOST / 8];
static double sum[MOST / 8];
static double other[MOST / 8];

static unsigned char byte_of(int round, int at)
{
    return (unsigned char)(round * 31 + at * 7);
}

/* The root runs ahead of the others as far as it may. */
static void broadcasts(MPI_Comm comm, int rounds)
{
    static const int sizes[] = {0, 1, 47, 48, 49, 8191, 8192, 8193, 40000, 65536, 65537};
    int me;
    int n;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    for (int round = 0; round < rounds; round++) {
        const int size = sizes[round % 11];
        const int root = round / 64 % n;
        for (int i = 0; i < size; i++)
            bytes[i] = me == root ? byte_of(round, i) : 0;
        MPI_Bcast(bytes, size, MPI_BYTE, root, comm);
        for (int i = 0; i < size; i++)
            CHECK(bytes[i] == byte_of(round, i));
    }
}

/* Those that are not the root run ahead of it. */
static void reductions(MPI_Comm comm, int rounds)
{
    int me;
    int n;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    for (int round = 0; round < rounds; round++) {
        const int root = round / 40 % n;
        int value = me + round;
        int total = -1;
        MPI_Reduce(&value, &total, 1, MPI_INT, MPI_SUM, root, comm);
        CHECK(total == (me == root ? n * (n - 1) / 2 + n * round : -1));
    }
}

/* Sums of numbers of different sizes depend on the order: both forms must have the same. */
static void same_bits(int count)
{
    MPI_Request request;
    for (int i = 0; i < count; i++)
        mine[i] = (double)(rank * 7919 + i + 1) / 3.0 * (rank % 2 == 0 ? 1e-9 : 1e9);
    MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Iallreduce(mine, other, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(memcmp(sum, other, (size_t)count * sizeof(double)) == 0);
    for (int root = 0; root < size; root++) {
        MPI_Reduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
        MPI_Ireduce(mine, other, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(rank != root || memcmp(sum, other, (size_t)count * sizeof(double)) == 0);
    }
    memcpy(other, mine, (size_t)count * sizeof(double));
    MPI_Allreduce(MPI_IN_PLACE, mine, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(other, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(memcmp(sum, mine, (size_t)count * sizeof(double)) == 0);
}

static void check_sum(MPI_Comm comm)
{
    int me;
    int n;
    int one = 1;
    int total = 0;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    MPI_Allreduce(&one, &total, 1, MPI_INT, MPI_SUM, comm);
    CHECK(total == n);
}

/* More than 31, of which some get none; half of them end, new ones of other ranks take their slots. */
static void many(void)
{
    MPI_Comm comms[40];
    for (int i = 0; i < 40; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        check_sum(comms[i]);
    }
    for (int i = 0; i < 40; i += 2)
        MPI_Comm_free(&comms[i]);
    for (int i = 0; i < 40; i += 2) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comms[i]);
        check_sum(comms[i]);
        broadcasts(comms[i], 20);
    }
    for (int round = 0; round < 100; round++) /* those without slots ask again */
        for (int i = 0; i < 40; i++)
            check_sum(comms[i]);
    for (int i = 0; i < 40; i++)
        MPI_Comm_free(&comms[i]);
}

/* A communicator ends at some ranks while others are still inside its last collective. */
static void ends_and_begins(void)
{
    for (int round = 0; round < 200; round++) {
        MPI_Comm comm;
        int value = rank == 0 ? round : -1;
        MPI_Comm_split(MPI_COMM_WORLD, rank != round % size, rank, &comm);
        check_sum(comm);
        MPI_Bcast(&value, 1, MPI_INT, 0, comm);
        MPI_Comm_free(&comm);
    }
}

/* What is not one piece of memory, and differs from rank to rank. */
static void pieces(int n)
{
    MPI_Datatype column;
    int *block = malloc(2 * (size_t)n * sizeof(int));
    MPI_Type_vector(n, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < 2 * n; i++)
        block[i] = rank == 0 ? i : -1;
    if (rank % 2 == 0)
        MPI_Bcast(block, 1, column, 0, MPI_COMM_WORLD);
    else
        MPI_Bcast(block, n, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++)
        CHECK(block[rank % 2 == 0 ? 2 * i : i] == 2 * i);
    MPI_Type_free(&column);
    free(block);
}

static void test(void)
{
    static const int counts[] = {1, 6, 7, 100, 227, 228, 256, 512, 1024, 1025, 2000, 8192, 8193, 16385, 33333, 125000};
    broadcasts(MPI_COMM_WORLD, 1000);
    reductions(MPI_COMM_WORLD, 1000);
    for (int i = 0; i < 16; i++)
        same_bits(counts[i]);
    many();
    ends_and_begins();
    pieces(5);
    pieces(10000);
}
