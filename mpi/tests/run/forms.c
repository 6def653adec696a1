/* SPDX-License-Identifier: Apache-2.0
 * forms.c - each collective gives the same result in its blocking, non-blocking and persistent form, each start of the
 * last with the data of that time.
 * ranks: 1 2 3 4 5 tcp
 */
#include "rule.h"

#define MOST 6000 /* elements of a block */

static int n;    /* elements of a block */
static int root;
static int seed; /* of the data */
static int *out;
static int *in;
static int *own; /* one block */
static int counts[64];
static int displs[64];
static int bytes[64]; /* displs in bytes */
static MPI_Datatype types[64];

#define EACH_FORM(fill_data, check, BLOCKING, NONBLOCKING, ...)                                                        \
    do {                                                                                                               \
        MPI_Request request;                                                                                           \
        fill_data();                                                                                                   \
        MPI_##BLOCKING(__VA_ARGS__);                                                                                   \
        check();                                                                                                       \
        fill_data();                                                                                                   \
        MPI_I##NONBLOCKING(__VA_ARGS__, &request);                                                                     \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                         \
        check();                                                                                                       \
        MPI_##BLOCKING##_init(__VA_ARGS__, MPI_INFO_NULL, &request);                                                   \
        for (int start = 0; start < 3; start++) {                                                                      \
            fill_data();                                                                                               \
            MPI_Start(&request);                                                                                       \
            MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                     \
            check();                                                                                                   \
        }                                                                                                              \
        MPI_Request_free(&request);                                                                                    \
    } while (0)

/* Element i of the block that a rank has for another one. */
static int element(int from, int to, int i)
{
    return seed * 1000003 + from * 10007 + to * 101 + i;
}

/* Every rank's block i is for rank i; own is the one for nobody in particular. */
static void fill_all(void)
{
    seed++;
    for (int to = 0; to < size; to++)
        for (int i = 0; i < n; i++)
            out[to * n + i] = element(rank, to, i);
    for (int i = 0; i < n; i++)
        own[i] = element(rank, 0, i);
    for (int i = 0; i < n * size; i++)
        in[i] = -1;
}

static void fill_root(void)
{
    fill_all();
    for (int i = 0; rank == root && i < n; i++)
        in[i] = element(root, 0, i);
}

static void check_root(void)
{
    for (int i = 0; i < n; i++)
        CHECK(in[i] == element(root, 0, i));
}

static void check_gathered(void)
{
    for (int from = 0; from < size; from++)
        for (int i = 0; i < n; i++)
            CHECK(in[from * n + i] == element(from, 0, i));
}

static void check_gathered_at_root(void)
{
    if (rank == root)
        check_gathered();
}

static void check_scattered(void)
{
    for (int i = 0; i < n; i++)
        CHECK(in[i] == element(root, rank, i));
}

static void check_exchanged(void)
{
    for (int from = 0; from < size; from++)
        for (int i = 0; i < n; i++)
            CHECK(in[from * n + i] == element(from, rank, i));
}

static int sum(int ranks, int to, int i)
{
    int result = 0;
    for (int from = 0; from < ranks; from++)
        result += element(from, to, i);
    return result;
}

static void check_sum(void)
{
    for (int i = 0; i < n; i++)
        CHECK(in[i] == sum(size, 0, i));
}

static void check_sum_at_root(void)
{
    if (rank == root)
        check_sum();
}

static void check_scan(void)
{
    for (int i = 0; i < n; i++)
        CHECK(in[i] == sum(rank + 1, 0, i));
}

static void check_exscan(void)
{
    for (int i = 0; i < n; i++)
        CHECK(in[i] == (rank == 0 ? -1 : sum(rank, 0, i)));
}

static void check_block_of_sum(void)
{
    for (int i = 0; i < n; i++)
        CHECK(in[i] == sum(size, rank, i));
}

static void nothing(void)
{
}

static void moves(void)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    EACH_FORM(nothing, nothing, Barrier, barrier, world);
    EACH_FORM(fill_root, check_root, Bcast, bcast, in, n, MPI_INT, root, world);
    EACH_FORM(fill_all, check_gathered_at_root, Gather, gather, own, n, MPI_INT, in, n, MPI_INT, root, world);
    EACH_FORM(fill_all, check_gathered_at_root, Gatherv, gatherv, own, n, MPI_INT, in, counts, displs, MPI_INT, root,
              world);
    EACH_FORM(fill_all, check_scattered, Scatter, scatter, out, n, MPI_INT, in, n, MPI_INT, root, world);
    EACH_FORM(fill_all, check_scattered, Scatterv, scatterv, out, counts, displs, MPI_INT, in, n, MPI_INT, root,
              world);
    EACH_FORM(fill_all, check_gathered, Allgather, allgather, own, n, MPI_INT, in, n, MPI_INT, world);
    EACH_FORM(fill_all, check_gathered, Allgatherv, allgatherv, own, n, MPI_INT, in, counts, displs, MPI_INT, world);
    EACH_FORM(fill_all, check_exchanged, Alltoall, alltoall, out, n, MPI_INT, in, n, MPI_INT, world);
    EACH_FORM(fill_all, check_exchanged, Alltoallv, alltoallv, out, counts, displs, MPI_INT, in, counts, displs,
              MPI_INT, world);
    EACH_FORM(fill_all, check_exchanged, Alltoallw, alltoallw, out, counts, bytes, types, in, counts, bytes, types,
              world);
}

static void reductions(void)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    EACH_FORM(fill_all, check_sum_at_root, Reduce, reduce, own, in, n, MPI_INT, MPI_SUM, root, world);
    EACH_FORM(fill_all, check_sum, Allreduce, allreduce, own, in, n, MPI_INT, MPI_SUM, world);
    EACH_FORM(fill_all, check_scan, Scan, scan, own, in, n, MPI_INT, MPI_SUM, world);
    EACH_FORM(fill_all, check_exscan, Exscan, exscan, own, in, n, MPI_INT, MPI_SUM, world);
    EACH_FORM(fill_all, check_block_of_sum, Reduce_scatter, reduce_scatter, out, in, counts, MPI_INT, MPI_SUM, world);
    EACH_FORM(fill_all, check_block_of_sum, Reduce_scatter_block, reduce_scatter_block, out, in, n, MPI_INT, MPI_SUM,
              world);
}

static void test(void)
{
    const int lengths[] = {0, 1, 7, MOST};
    out = malloc((size_t)(size * MOST) * sizeof(int));
    in = malloc((size_t)(size * MOST) * sizeof(int));
    own = malloc(MOST * sizeof(int));
    for (int k = 0; k < 4; k++) {
        n = lengths[k];
        for (int i = 0; i < size; i++) {
            counts[i] = n;
            displs[i] = i * n;
            bytes[i] = i * n * (int)sizeof(int);
            types[i] = MPI_INT;
        }
        for (root = 0; root < size; root++)
            moves();
        root = size - 1;
        reductions();
    }
    free(out);
    free(in);
    free(own);
}
