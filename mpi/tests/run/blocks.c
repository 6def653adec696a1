/* SPDX-License-Identifier: Apache-2.0
 * blocks.c - gather, scatter, allgather and alltoall of equal blocks: sizes around what slots of node memory hold, every
 * root, in place, elements with gaps that differ from rank to rank; a rank with another count is an error, not a wait.
 * ranks: 2 3 5 9 tcp nodes
 */
#include "rule.h"

#define MOST 16 /* ranks */
#define LONGEST 9000

static unsigned char out[MOST * LONGEST];
static unsigned char in[MOST * LONGEST];

static unsigned char byte_of(int from, int to, int round, int at)
{
    return (unsigned char)(from * 31 + to * 17 + round * 7 + at);
}

static void fill_block(unsigned char *block, int from, int to, int round, int length)
{
    for (int i = 0; i < length; i++)
        block[i] = byte_of(from, to, round, i);
}

static void check_block(const unsigned char *block, int from, int to, int round, int length)
{
    for (int i = 0; i < length; i++)
        CHECK(block[i] == byte_of(from, to, round, i));
}

static void gathers(int length, int root, int round, int in_place)
{
    unsigned char *mine = in_place && rank == root ? in + rank * length : out;
    memset(in, 0, sizeof(in));
    fill_block(mine, rank, 0, round, length);
    MPI_Gather(mine == out ? out : MPI_IN_PLACE, length, MPI_BYTE, in, length, MPI_BYTE, root, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        if (rank == root)
            check_block(in + i * length, i, 0, round, length);
}

static void scatters(int length, int root, int round, int in_place)
{
    const int stays = in_place && rank == root;
    memset(in, 0, (size_t)length);
    for (int i = 0; i < size; i++)
        fill_block(out + i * length, root, i, round, length);
    MPI_Scatter(out, length, MPI_BYTE, stays ? MPI_IN_PLACE : in, length, MPI_BYTE, root, MPI_COMM_WORLD);
    check_block(stays ? out + rank * length : in, root, rank, round, length);
}

static void allgathers(int length, int round, int in_place)
{
    memset(in, 0, sizeof(in));
    fill_block(in_place ? in + rank * length : out, rank, 0, round, length);
    MPI_Allgather(in_place ? MPI_IN_PLACE : out, length, MPI_BYTE, in, length, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        check_block(in + i * length, i, 0, round, length);
}

static void alltoalls(int length, int round, int in_place)
{
    unsigned char *from = in_place ? in : out;
    memset(in, 0, sizeof(in));
    for (int i = 0; i < size; i++)
        fill_block(from + i * length, rank, i, round, length);
    MPI_Alltoall(in_place ? MPI_IN_PLACE : out, length, MPI_BYTE, in, length, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        check_block(in + i * length, i, rank, round, length);
}

/* Pairs of ints with a gap at even ranks, side by side at odd ones. */
static void with_gaps(void)
{
    MPI_Datatype gaps;
    MPI_Datatype pair;
    int mine[2 * MOST * 3];
    int got[2 * MOST * 3];
    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
    MPI_Type_create_resized(gaps, 0, 3 * sizeof(int), &pair);
    MPI_Type_commit(&pair);
    const int step = rank % 2 == 0 ? 3 : 2; /* ints from one pair to the next; its second one is step - 1 further */
    for (int i = 0; i < 2 * MOST * 3; i++)
        mine[i] = got[i] = -1;
    for (int i = 0; i < size; i++) {
        mine[i * step] = rank * 100 + i;
        mine[i * step + step - 1] = -rank * 100 - i;
    }
    MPI_Alltoall(mine, rank % 2 == 0 ? 1 : 2, rank % 2 == 0 ? pair : MPI_INT, got, rank % 2 == 0 ? 1 : 2,
                 rank % 2 == 0 ? pair : MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) {
        CHECK(got[i * step] == i * 100 + rank && got[i * step + step - 1] == -i * 100 - rank);
        CHECK(step == 2 || got[i * step + 1] == -1);
    }
    MPI_Allgather(mine, rank % 2 == 0 ? 1 : 2, rank % 2 == 0 ? pair : MPI_INT, got, rank % 2 == 0 ? 1 : 2,
                  rank % 2 == 0 ? pair : MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        CHECK(got[i * step] == i * 100 && got[i * step + step - 1] == -i * 100);
    MPI_Type_free(&pair);
    MPI_Type_free(&gaps);
}

/* The last rank says another count: it fails, or those do to whom it gives something, and all come to their end. */
static void other_counts(void)
{
    MPI_Comm comm;
    int failed = 0;
    int any = 0;
    for (int family = 0; family < 4; family++) {
        const int count = rank == size - 1 ? 3 : 2;
        int code = MPI_SUCCESS;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        MPI_Barrier(comm);
        switch (family) {
        case 0: code = MPI_Gather(out, count, MPI_BYTE, in, 2, MPI_BYTE, 0, comm); break;
        case 1: code = MPI_Scatter(out, 2, MPI_BYTE, in, count, MPI_BYTE, 0, comm); break;
        case 2: code = MPI_Allgather(out, count, MPI_BYTE, in, 2, MPI_BYTE, comm); break;
        case 3: code = MPI_Alltoall(out, count, MPI_BYTE, in, 2, MPI_BYTE, comm); break;
        }
        failed = code != MPI_SUCCESS;
        MPI_Comm_free(&comm);
        MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
        CHECK(any);
    }
}

static void test(void)
{
    static const int lengths[] = {0, 1, 48 / 9, 24, 25, 48, 49, 910, 911, 4096, 4097, 8192, 8193, LONGEST};
    for (int round = 0; round < 14 * 6; round++) {
        const int length = lengths[round % 14];
        gathers(length, round / 14 % size, round, round % 3 == 0);
        scatters(length, round / 14 % size, round, round % 3 == 0);
        allgathers(length, round, round % 3 == 0);
        alltoalls(length, round, round % 3 == 0);
    }
    with_gaps();
    other_counts();
}
