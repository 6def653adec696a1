/* SPDX-License-Identifier: Apache-2.0
 * forms.c - each collective gives the same result in its blocking, non-blocking and persistent form, each start of the
 * last with the data of that time; also with elements that have gaps, which stay as they are.
 * ranks: 1 2 3 4 5 tcp nodes
 */
#include "rule.h"

#define MOST 6000 /* elements of a block */

static int n; /* elements of a block */
static int root;
static int seed; /* of the data */
static int step; /* ints from one element to the next */
static MPI_Datatype type;
static MPI_Op add;
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
        check_gaps();                                                                                                  \
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
            check_gaps();                                                                                              \
        }                                                                                                              \
        MPI_Request_free(&request);                                                                                    \
    } while (0)

/* Element i of the block that a rank has for another one. */
static int element(int from, int to, int i)
{
    return seed % 16 * 1000003 + from * 10007 + to * 101 + i; /* sums of all ranks stay below 2^31 */
}

/* Every rank's block i is for rank i; own is the one for nobody in particular. */
static void fill_all(void)
{
    seed++;
    for (int to = 0; to < size; to++)
        for (int i = 0; i < n; i++)
            out[(to * n + i) * step] = element(rank, to, i);
    for (int i = 0; i < n; i++)
        own[i * step] = element(rank, 0, i);
    for (int i = 0; i < step * n * size; i++)
        in[i] = -1;
}

/* What lies between the elements of the result. */
static void check_gaps(void)
{
    for (int i = 0; step > 1 && i < n * size; i++)
        CHECK(in[i * step + 1] == -1);
}

static void fill_root(void)
{
    fill_all();
    for (int i = 0; rank == root && i < n; i++)
        in[i * step] = element(root, 0, i);
}

static void check_root(void)
{
    for (int i = 0; i < n; i++)
        CHECK(in[i * step] == element(root, 0, i));
}

static void check_gathered(void)
{
    for (int from = 0; from < size; from++)
        for (int i = 0; i < n; i++)
            CHECK(in[(from * n + i) * step] == element(from, 0, i));
}

static void check_gathered_at_root(void)
{
    if (rank == root)
        check_gathered();
}

static void check_scattered(void)
{
    for (int i = 0; i < n; i++)
        CHECK(in[i * step] == element(root, rank, i));
}

static void check_exchanged(void)
{
    for (int from = 0; from < size; from++)
        for (int i = 0; i < n; i++)
            CHECK(in[(from * n + i) * step] == element(from, rank, i));
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
        CHECK(in[i * step] == sum(size, 0, i));
}

static void check_sum_at_root(void)
{
    if (rank == root)
        check_sum();
}

static void check_scan(void)
{
    for (int i = 0; i < n; i++)
        CHECK(in[i * step] == sum(rank + 1, 0, i));
}

static void check_exscan(void)
{
    for (int i = 0; i < n; i++)
        CHECK(in[i * step] == (rank == 0 ? -1 : sum(rank, 0, i)));
}

static void check_block_of_sum(void)
{
    for (int i = 0; i < n; i++)
        CHECK(in[i * step] == sum(size, rank, i));
}

static void nothing(void) {}

static void moves(void)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    EACH_FORM(fill_all, nothing, Barrier, barrier, world);
    EACH_FORM(fill_root, check_root, Bcast, bcast, in, n, type, root, world);
    EACH_FORM(fill_all, check_gathered_at_root, Gather, gather, own, n, type, in, n, type, root, world);
    EACH_FORM(fill_all, check_gathered_at_root, Gatherv, gatherv, own, n, type, in, counts, displs, type, root, world);
    EACH_FORM(fill_all, check_scattered, Scatter, scatter, out, n, type, in, n, type, root, world);
    EACH_FORM(fill_all, check_scattered, Scatterv, scatterv, out, counts, displs, type, in, n, type, root, world);
    EACH_FORM(fill_all, check_gathered, Allgather, allgather, own, n, type, in, n, type, world);
    EACH_FORM(fill_all, check_gathered, Allgatherv, allgatherv, own, n, type, in, counts, displs, type, world);
    EACH_FORM(fill_all, check_exchanged, Alltoall, alltoall, out, n, type, in, n, type, world);
    EACH_FORM(fill_all, check_exchanged, Alltoallv, alltoallv, out, counts, displs, type, in, counts, displs, type,
              world);
    EACH_FORM(fill_all, check_exchanged, Alltoallw, alltoallw, out, counts, bytes, types, in, counts, bytes, types,
              world);
}

static void reductions(void)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    EACH_FORM(fill_all, check_sum_at_root, Reduce, reduce, own, in, n, type, add, root, world);
    EACH_FORM(fill_all, check_sum, Allreduce, allreduce, own, in, n, type, add, world);
    EACH_FORM(fill_all, check_scan, Scan, scan, own, in, n, type, add, world);
    EACH_FORM(fill_all, check_exscan, Exscan, exscan, own, in, n, type, add, world);
    EACH_FORM(fill_all, check_block_of_sum, Reduce_scatter, reduce_scatter, out, in, counts, type, add, world);
    EACH_FORM(fill_all, check_block_of_sum, Reduce_scatter_block, reduce_scatter_block, out, in, n, type, add, world);
}

static void add_elements(void *from, void *to, int *length, MPI_Datatype *used)
{
    CHECK(*used == type);
    for (int i = 0; i < *length; i++)
        ((int *)to)[i * step] += ((int *)from)[i * step];
}

static void all_lengths(void)
{
    const int lengths[] = {0, 1, 7, MOST};
    for (int k = 0; k < 4; k++) {
        n = lengths[k];
        for (int i = 0; i < size; i++) {
            counts[i] = n;
            displs[i] = i * n;
            bytes[i] = i * n * step * (int)sizeof(int);
            types[i] = type;
        }
        for (root = 0; root < size; root++)
            moves();
        root = size - 1;
        reductions();
    }
}

static void test(void)
{
    MPI_Datatype gaps;
    out = calloc((size_t)(2 * size * MOST), sizeof(int));
    in = calloc((size_t)(2 * size * MOST), sizeof(int));
    own = calloc(2 * MOST, sizeof(int));
    step = 1;
    type = MPI_INT;
    add = MPI_SUM;
    all_lengths();
    step = 2;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
    MPI_Type_commit(&gaps);
    type = gaps;
    MPI_Op_create(add_elements, 1, &add);
    all_lengths();
    MPI_Op_free(&add);
    MPI_Type_free(&gaps);
    free(out);
    free(in);
    free(own);
}
