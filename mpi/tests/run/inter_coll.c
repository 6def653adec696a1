/* SPDX-License-Identifier: Apache-2.0
 * inter_coll.c - collectives on intercommunicators: each group gets what the other one gives.
 * ranks: 2 3 4 5 tcp
 */
#include "rule.h"

#define MOST 8 /* ranks */

static MPI_Comm inter;
static int side;   /* 0: the lower part of the job, 1: the upper */
static int mine;   /* size of my side */
static int theirs; /* size of the other */
static int me;     /* my rank on my side */

/* What rank `which` of a side gives to rank `to`, at place i. */
static int value(int of_side, int which, int to, int i)
{
    return of_side * 1000000 + which * 10000 + to * 100 + i;
}

static int root_for(int root_side, int root)
{
    return side != root_side ? root : me == root ? MPI_ROOT : MPI_PROC_NULL;
}

static int size_of(int of_side)
{
    return of_side == side ? mine : theirs;
}

static void bcast(int root_side, int root, int length)
{
    int *data = calloc((size_t)length, sizeof(int));
    if (side == root_side && me == root)
        for (int i = 0; i < length; i++)
            data[i] = value(root_side, root, 0, i);
    MPI_Bcast(data, length, MPI_INT, root_for(root_side, root), inter);
    for (int i = 0; i < length && side != root_side; i++)
        CHECK(data[i] == value(root_side, root, 0, i));
    free(data);
}

static void gather_and_scatter(int root_side, int root)
{
    const int at = root_for(root_side, root);
    int all[3 * MOST];
    int part[3] = {value(side, me, 0, 0), value(side, me, 0, 1), value(side, me, 0, 2)};
    MPI_Gather(part, 3, MPI_INT, all, 3, MPI_INT, at, inter);
    for (int i = 0; at == MPI_ROOT && i < 3 * theirs; i++)
        CHECK(all[i] == value(!side, i / 3, 0, i % 3));
    for (int i = 0; at == MPI_ROOT && i < 3 * theirs; i++)
        all[i] = value(side, me, i / 3, i % 3);
    MPI_Scatter(all, 3, MPI_INT, part, 3, MPI_INT, at, inter);
    for (int i = 0; side != root_side && i < 3; i++)
        CHECK(part[i] == value(root_side, root, me, i));
}

/* Rank i of the other side gives i + 1 elements, laid from the end on. */
static void gatherv_and_scatterv(int root_side, int root)
{
    const int at = root_for(root_side, root);
    int all[MOST * MOST] = {0};
    int part[MOST];
    int counts[MOST];
    int displs[MOST];
    for (int i = 0; i < theirs; i++) {
        counts[i] = i + 1;
        displs[i] = (theirs - 1 - i) * MOST;
    }
    for (int i = 0; i <= me; i++)
        part[i] = value(side, me, 1, i);
    MPI_Gatherv(part, me + 1, MPI_INT, all, counts, displs, MPI_INT, at, inter);
    for (int i = 0; at == MPI_ROOT && i < theirs; i++)
        for (int j = 0; j <= i; j++)
            CHECK(all[displs[i] + j] == value(!side, i, 1, j));
    MPI_Scatterv(all, counts, displs, MPI_INT, part, me + 1, MPI_INT, at, inter); /* back again */
    for (int i = 0; side != root_side && i <= me; i++)
        CHECK(part[i] == value(side, me, 1, i));
}

static void all_to_all(void)
{
    int out[2 * MOST];
    int in[2 * MOST];
    int counts[MOST];
    int displs[MOST];
    for (int i = 0; i < 2 * theirs; i++)
        out[i] = value(side, me, i / 2, i % 2);
    MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, inter);
    for (int i = 0; i < 2 * theirs; i++)
        CHECK(in[i] == value(!side, i / 2, me, i % 2));
    for (int i = 0; i < theirs; i++) {
        counts[i] = 1 + (i + me) % 2;
        displs[i] = 2 * i;
    }
    memset(in, 0, sizeof(in));
    MPI_Alltoallv(out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, inter);
    for (int i = 0; i < 2 * theirs; i++)
        CHECK(in[i] == (i % 2 < counts[i / 2] ? value(!side, i / 2, me, i % 2) : 0));
}

static void all_gather(void)
{
    int in[MOST * MOST] = {0};
    int out[MOST];
    int counts[MOST];
    int displs[MOST];
    for (int i = 0; i < MOST; i++)
        out[i] = value(side, me, 7, i);
    MPI_Allgather(out, 2, MPI_INT, in, 2, MPI_INT, inter);
    for (int i = 0; i < 2 * theirs; i++)
        CHECK(in[i] == value(!side, i / 2, 7, i % 2));
    for (int i = 0; i < theirs; i++) {
        counts[i] = i + 1;
        displs[i] = i * MOST;
    }
    MPI_Allgatherv(out, me + 1, MPI_INT, in, counts, displs, MPI_INT, inter);
    for (int i = 0; i < theirs; i++)
        for (int j = 0; j <= i; j++)
            CHECK(in[displs[i] + j] == value(!side, i, 7, j));
}

static int sum(int of_side, int i)
{
    int total = 0;
    for (int j = 0; j < size_of(of_side); j++)
        total += value(of_side, j, 0, i);
    return total;
}

static void reductions(void)
{
    int out[MOST * MOST];
    int in[MOST * MOST];
    int counts[MOST];
    int before = 0;
    for (int i = 0; i < MOST * MOST; i++)
        out[i] = value(side, me, 0, i);
    MPI_Allreduce(out, in, 5, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < 5; i++)
        CHECK(in[i] == sum(!side, i));
    MPI_Reduce_scatter_block(out, in, theirs, MPI_INT, MPI_SUM, inter); /* mine * theirs elements on both sides */
    for (int i = 0; i < theirs; i++)
        CHECK(in[i] == sum(!side, me * theirs + i));
    for (int i = 0; i < mine; i++) /* 12 elements, most of them at the last rank */
        counts[i] = i + 1 < mine ? 1 : 12 - (mine - 1);
    before = me;
    MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < counts[me]; i++)
        CHECK(in[i] == sum(!side, before + i));
    for (int root_side = 0; root_side < 2; root_side++) {
        const int last = size_of(root_side) - 1;
        MPI_Reduce(out, in, 3, MPI_INT, MPI_SUM, root_for(root_side, last), inter);
        for (int i = 0; side == root_side && me == last && i < 3; i++)
            CHECK(in[i] == sum(!side, i));
    }
}

static void wrong(void)
{
    int data[2] = {0};
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Allreduce(MPI_IN_PLACE, data, 1, MPI_INT, MPI_SUM, inter)) == MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Bcast(data, 1, MPI_INT, theirs, inter)) == MPI_ERR_ROOT);
}

static void test(void)
{
    MPI_Comm local;
    side = rank >= size / 2;
    mine = side == 0 ? size / 2 : size - size / 2;
    theirs = size - mine;
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &local);
    MPI_Comm_rank(local, &me);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, side == 0 ? size / 2 : 0, 1, &inter);
    for (int root_side = 0; root_side < 2; root_side++)
        for (int root = 0; root < size_of(root_side); root++) {
            bcast(root_side, root, 1);
            bcast(root_side, root, 100000);
            gather_and_scatter(root_side, root);
            gatherv_and_scatterv(root_side, root);
            MPI_Barrier(inter);
        }
    all_to_all();
    all_gather();
    reductions();
    wrong();
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
}
