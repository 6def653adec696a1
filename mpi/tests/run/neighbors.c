/* SPDX-License-Identifier: Apache-2.0
 * neighbors.c - collectives with neighbours, in all forms: on a periodic grid what goes down arrives from above, also
 * where both are the same rank; beyond a border nothing moves; on graphs along the edges, with elements that have gaps.
 * ranks: 1 2 3 4 5 tcp
 */
#include "rule.h"

#define FORMS 3

static MPI_Request request;

/* Calls one form, and waits. */
#define CALL(form, BLOCKING, NONBLOCKING, ...)                                                                         \
    do {                                                                                                               \
        if ((form) == 0) {                                                                                             \
            MPI_##BLOCKING(__VA_ARGS__);                                                                               \
        } else if ((form) == 1) {                                                                                      \
            MPI_I##NONBLOCKING(__VA_ARGS__, &request);                                                                 \
            MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                     \
        } else {                                                                                                       \
            MPI_##BLOCKING##_init(__VA_ARGS__, MPI_INFO_NULL, &request);                                               \
            for (int start = 0; start < 2; start++) {                                                                  \
                MPI_Start(&request);                                                                                   \
                MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                 \
            }                                                                                                          \
            MPI_Request_free(&request);                                                                                \
        }                                                                                                              \
    } while (0)

static const int ones[4] = {1, 1, 1, 1};
static const int places[4] = {0, 1, 2, 3};

static void clear(int *in)
{
    for (int i = 0; i < 4; i++)
        in[i] = -1;
}

/* In a row of `size` ranks: out[0] goes down, out[1] goes up. */
static void test_row(int periodic)
{
    MPI_Comm row;
    const int below = rank > 0 ? rank - 1 : periodic ? size - 1 : MPI_PROC_NULL;
    const int above = rank < size - 1 ? rank + 1 : periodic ? 0 : MPI_PROC_NULL;
    const int out[2] = {100 * rank, 100 * rank + 1};
    int in[4];
    const MPI_Aint bytes[2] = {0, sizeof(int)};
    const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &row);
    for (int form = 0; form < FORMS; form++) {
        for (int call = 0; call < 3; call++) {
            clear(in);
            if (call == 0)
                CALL(form, Neighbor_alltoall, neighbor_alltoall, out, 1, MPI_INT, in, 1, MPI_INT, row);
            else if (call == 1)
                CALL(form, Neighbor_alltoallv, neighbor_alltoallv, out, ones, places, MPI_INT, in, ones, places,
                     MPI_INT, row);
            else
                CALL(form, Neighbor_alltoallw, neighbor_alltoallw, out, ones, bytes, types, in, ones, bytes, types,
                     row);
            CHECK(in[0] == (below < 0 ? -1 : 100 * below + 1));
            CHECK(in[1] == (above < 0 ? -1 : 100 * above));
        }
        for (int call = 0; call < 2; call++) {
            clear(in);
            if (call == 0)
                CALL(form, Neighbor_allgather, neighbor_allgather, &rank, 1, MPI_INT, in, 1, MPI_INT, row);
            else
                CALL(form, Neighbor_allgatherv, neighbor_allgatherv, &rank, 1, MPI_INT, in, ones, places, MPI_INT, row);
            CHECK(in[0] == (below < 0 ? -1 : below) && in[1] == (above < 0 ? -1 : above));
        }
    }
    MPI_Comm_free(&row);
}

/* A torus of one column: the neighbours in the second dimension are the rank itself. */
static void test_itself(void)
{
    MPI_Comm grid;
    const int dims[2] = {size, 1};
    const int periods[2] = {1, 1};
    const int out[4] = {10 * rank, 10 * rank + 1, 10 * rank + 2, 10 * rank + 3};
    int in[4];
    clear(in);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, grid);
    CHECK(in[0] == (rank + size - 1) % size * 10 + 1 && in[1] == (rank + 1) % size * 10);
    CHECK(in[2] == out[3] && in[3] == out[2]);
    MPI_Comm_free(&grid);
}

/* Every rank sends rank 0 two edges, which keep their order, and gets none from it. */
static void test_graph(void)
{
    MPI_Comm graph;
    int sources[16];
    const int to[2] = {0, 0};
    int out[4] = {rank, -5, rank + 50, -5};
    int in[32];
    MPI_Datatype gaps;
    for (int i = 0; i < 2 * size; i++)
        sources[i] = i / 2;
    for (int i = 0; i < 32; i++)
        in[i] = -1;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
    MPI_Type_commit(&gaps);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank == 0 ? 2 * size : 0, sources, MPI_UNWEIGHTED, 2, to,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    for (int form = 0; form < FORMS; form++) {
        CALL(form, Neighbor_alltoall, neighbor_alltoall, out, 1, gaps, in, 1, gaps, graph);
        for (int i = 0; i < 4 * size; i++)
            CHECK(in[i] == (rank > 0 || i % 2 == 1 ? -1 : i % 4 == 0 ? i / 4 : i / 4 + 50));
        CALL(form, Neighbor_allgather, neighbor_allgather, out, 1, gaps, in, 1, gaps, graph);
        for (int i = 0; i < 4 * size; i++)
            CHECK(in[i] == (rank > 0 || i % 2 == 1 ? -1 : i / 4));
    }
    MPI_Type_free(&gaps);
    MPI_Comm_free(&graph);
}

static void test(void)
{
    test_row(0);
    test_row(1);
    test_itself();
    test_graph();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Neighbor_allgather(&rank, 1, MPI_INT, &rank, 1, MPI_INT, MPI_COMM_WORLD)) == MPI_ERR_TOPOLOGY);
}
