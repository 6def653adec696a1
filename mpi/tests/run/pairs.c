/* SPDX-License-Identifier: Apache-2.0
 * pairs.c - broadcast and alltoall of two ranks with much data: again and again, so that each way of theirs is taken; in place, and
 * with types that have gaps at one rank or at both. More ranks have one way.
 * ranks: 2 3
 */
#include "rule.h"

#define MOST 200001

static int out[4 * MOST];
static int in[4 * MOST];

static int element(int round, int from, int to, int i)
{
    return round * 1000003 + from * 7919 + to * 104729 + i;
}

static void broadcasts(int round, int count)
{
    const int root = round % size;
    for (int i = 0; i < count; i++)
        in[i] = rank == root ? element(round, root, 0, i) : -1;
    in[count] = 17;
    MPI_Bcast(in, count, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        CHECK(in[i] == element(round, root, 0, i));
    CHECK(in[count] == 17);
}

/* Every other int at rank `gaps`, or at all. */
static void broadcasts_with_gaps(int round, int count, MPI_Datatype every, int gaps)
{
    const int root = round % size;
    const int step = rank == gaps || gaps < 0 ? 2 : 1;
    for (int i = 0; i < 2 * count; i++)
        in[i] = -1;
    for (int i = 0; i < count && rank == root; i++)
        in[i * step] = element(round, root, 0, i);
    MPI_Bcast(in, count, step == 2 ? every : MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        CHECK(in[i * step] == element(round, root, 0, i) && (step == 1 || in[i * 2 + 1] == -1));
}

/* out_step, in_step: ints from one element to the next. */
static void exchange(int round, int count, MPI_Datatype every, int out_step, int in_step)
{
    for (int i = 0; i < 2 * size * count; i++)
        in[i] = -1;
    for (int to = 0; to < size; to++)
        for (int i = 0; i < count; i++)
            out[(to * count + i) * out_step] = element(round, rank, to, i);
    MPI_Alltoall(out, count, out_step == 2 ? every : MPI_INT, in, count, in_step == 2 ? every : MPI_INT,
                 MPI_COMM_WORLD);
    for (int from = 0; from < size; from++)
        for (int i = 0; i < count; i++) {
            CHECK(in[(from * count + i) * in_step] == element(round, from, rank, i));
            CHECK(in_step == 1 || in[(from * count + i) * 2 + 1] == -1);
        }
}

static void exchange_in_place(int round, int count)
{
    for (int to = 0; to < size; to++)
        for (int i = 0; i < count; i++)
            in[to * count + i] = element(round, rank, to, i);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, count, MPI_INT, MPI_COMM_WORLD);
    for (int from = 0; from < size; from++)
        for (int i = 0; i < count; i++)
            CHECK(in[from * count + i] == element(round, from, rank, i));
}

static void test(void)
{
    static const int counts[] = {2048, 8191, 8192, 8193, 16384, 24577, 66000};
    MPI_Datatype every;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every);
    MPI_Type_commit(&every);
    for (int round = 0; round < 70; round++) {
        const int count = counts[round % 7];
        broadcasts(round, count);
        broadcasts_with_gaps(round, count, every, round % 3 - 1);
        exchange(round, count, every, 1, 1);
        exchange(round, count, every, rank == round % 2 ? 2 : 1, round % 4 / 2 + 1);
        exchange_in_place(round, count);
    }
    MPI_Type_free(&every);
}
