/* SPDX-License-Identifier: Apache-2.0
 * graphs.c - graphs and distributed graphs: what was given is what is found, whoever has named the edges, with weights
 * and without.
 * ranks: 1 2 3 4 5
 */
#include "rule.h"

/* Each node with the next one, both ways. */
static void test_graph(void)
{
    int ends[8];
    int edges[16];
    int nodes;
    int count;
    int near[2];
    MPI_Comm graph;
    for (int i = 0; i < size; i++) {
        ends[i] = 2 * (i + 1);
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, ends, edges, 1, &graph);
    MPI_Graphdims_get(graph, &nodes, &count);
    CHECK(nodes == size && count == 2 * size);
    int got_ends[8];
    int got_edges[16];
    MPI_Graph_get(graph, nodes, count, got_ends, got_edges);
    CHECK(memcmp(got_ends, ends, (size_t)size * sizeof(int)) == 0);
    CHECK(memcmp(got_edges, edges, (size_t)size * 2 * sizeof(int)) == 0);
    for (int i = 0; i < size; i++) {
        MPI_Graph_neighbors_count(graph, i, &count);
        MPI_Graph_neighbors(graph, i, 2, near);
        CHECK(count == 2 && near[0] == edges[2 * i] && near[1] == edges[2 * i + 1]);
    }
    MPI_Comm_free(&graph);
}

static void check_ring(MPI_Comm graph, int weighted)
{
    int in;
    int out;
    int has_weights;
    int source = -1;
    int destination = -1;
    int source_weight = -1;
    int destination_weight = -1;
    const int before = (rank + size - 1) % size;
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &has_weights);
    CHECK(in == 1 && out == 1 && has_weights == weighted);
    MPI_Dist_graph_neighbors(graph, 1, &source, &source_weight, 1, &destination, &destination_weight);
    CHECK(source == before && destination == (rank + 1) % size);
    CHECK(source_weight == (weighted ? 10 + before : -1) && destination_weight == (weighted ? 10 + rank : -1));
}

static void test_adjacent(void)
{
    MPI_Comm graph;
    const int before = (rank + size - 1) % size;
    const int after = (rank + 1) % size;
    const int in_weight = 10 + before;
    const int out_weight = 10 + rank;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, &in_weight, 1, &after, &out_weight, MPI_INFO_NULL, 0,
                                   &graph);
    check_ring(graph, 1);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &after, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   0, &graph);
    check_ring(graph, 0);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY,
                                   MPI_INFO_NULL, 0, &graph);
    int in = -1;
    int out = -1;
    int weighted = -1;
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(in == 0 && out == 0 && weighted == 1);
    MPI_Comm_free(&graph);
}

/* The last rank names all edges, then each rank that of another one. */
static void test_named_by_others(void)
{
    MPI_Comm graph;
    int sources[8];
    int degrees[8];
    int destinations[8];
    int weights[8];
    for (int i = 0; i < size; i++) {
        sources[i] = i;
        degrees[i] = 1;
        destinations[i] = (i + 1) % size;
        weights[i] = 10 + i;
    }
    MPI_Dist_graph_create(MPI_COMM_WORLD, rank == size - 1 ? size : 0, sources, degrees, destinations, weights,
                          MPI_INFO_NULL, 0, &graph);
    check_ring(graph, 1);
    MPI_Comm_free(&graph);
    const int other = (rank * 2 + 1) % size;
    const int is_one_each = size % 2 == 1;
    const int mine = is_one_each ? other : rank;
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &sources[mine], degrees, &destinations[mine], MPI_UNWEIGHTED,
                          MPI_INFO_NULL, 0, &graph);
    check_ring(graph, 0);
    MPI_Comm_free(&graph);
}

static void test(void)
{
    test_graph();
    test_adjacent();
    test_named_by_others();
}
