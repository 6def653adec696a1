/* SPDX-License-Identifier: Apache-2.0
 * graph.c - graph topologies, which every rank knows as a whole. Ranks are not reordered.
 */
#include <string.h>

#include "err/err.h"
#include "mpi_impl.h"
#include "topo/topology.h"

static int check_graph(int nnodes, const int *ends, const int *edges, int size)
{
    int before = 0;
    if (nnodes > size)
        return err_set(MPI_ERR_ARG, "nnodes is %d, but comm has %d ranks", nnodes, size);
    if (nnodes > 0 && ends == NULL)
        return err_set(MPI_ERR_ARG, "indx is NULL");
    for (int i = 0; i < nnodes; i++) {
        if (ends[i] < before)
            return err_set(MPI_ERR_ARG, "indx[%d] is %d, less than the one before", i, ends[i]);
        for (; before < ends[i]; before++)
            if (edges == NULL || edges[before] < 0 || edges[before] >= nnodes)
                return err_set(MPI_ERR_ARG, "edges[%d] is no node; nodes are 0 to %d", before, nnodes - 1);
    }
    return MPI_SUCCESS;
}

static int begin_of(const topo_t *topo, int node)
{
    return node == 0 ? 0 : topo->ends[node - 1];
}

/* NULL: no memory left. */
static topo_t *make(int nnodes, const int *ends, const int *edges, int rank)
{
    const size_t n_edges = nnodes == 0 ? 0 : (size_t)ends[nnodes - 1];
    topo_t *topo = topo_open(MPI_GRAPH, (size_t)nnodes + n_edges);
    if (topo == NULL)
        return NULL;
    topo->nodes = nnodes;
    topo->ends = topo->room;
    topo->edges = topo->ends + nnodes;
    if (nnodes > 0)
        memcpy(topo->ends, ends, (size_t)nnodes * sizeof(int));
    if (n_edges > 0)
        memcpy(topo->edges, edges, n_edges * sizeof(int));
    if (rank < nnodes) {
        topo->in = topo->out = topo->edges + begin_of(topo, rank);
        topo->in_count = topo->out_count = topo->ends[rank] - begin_of(topo, rank);
    }
    return topo;
}

int mpi_Graph_create(MPI_Comm comm_old, int nnodes, const int indx[], const int edges[], int reorder,
                     MPI_Comm *comm_graph)
{
    mpi_comm_t *parent = comm_of(comm_old);
    const int rc = check_graph(nnodes, indx, edges, parent->ranks->size);
    (void)reorder;
    return rc != MPI_SUCCESS
               ? rc
               : topology_comm(parent, nnodes, make(nnodes, indx, edges, parent->ranks->rank), comm_graph);
}

int mpi_Graph_map(MPI_Comm comm, int nnodes, const int indx[], const int edges[], int *newrank)
{
    const rt_group_t *ranks = comm_of(comm)->ranks;
    const int rc = check_graph(nnodes, indx, edges, ranks->size);
    if (rc == MPI_SUCCESS)
        *newrank = ranks->rank < nnodes ? ranks->rank : MPI_UNDEFINED;
    return rc;
}

int mpi_Graphdims_get(MPI_Comm comm, int *nnodes, int *nedges)
{
    topo_t *topo;
    const int rc = topology_of(comm, MPI_GRAPH, &topo);
    if (rc != MPI_SUCCESS)
        return rc;
    *nnodes = topo->nodes;
    *nedges = topo->ends[topo->nodes - 1];
    return MPI_SUCCESS;
}

static void copy_some(int *to, const int *from, int most, int count)
{
    for (int i = 0; i < most && i < count; i++)
        to[i] = from[i];
}

int mpi_Graph_get(MPI_Comm comm, int maxindex, int maxedges, int indx[], int edges[])
{
    topo_t *topo;
    const int rc = topology_of(comm, MPI_GRAPH, &topo);
    if (rc != MPI_SUCCESS)
        return rc;
    copy_some(indx, topo->ends, maxindex, topo->nodes);
    copy_some(edges, topo->edges, maxedges, topo->ends[topo->nodes - 1]);
    return MPI_SUCCESS;
}

/* The topology and a rank in it. */
static int node_of(MPI_Comm comm, int rank, topo_t **topo_p)
{
    const int rc = topology_of(comm, MPI_GRAPH, topo_p);
    if (rc != MPI_SUCCESS)
        return rc;
    return rank >= 0 && rank < (*topo_p)->nodes
               ? MPI_SUCCESS
               : err_set(MPI_ERR_RANK, "rank is %d, but the nodes of the graph are 0 to %d", rank,
                         (*topo_p)->nodes - 1);
}

int mpi_Graph_neighbors_count(MPI_Comm comm, int rank, int *nneighbors)
{
    topo_t *topo;
    const int rc = node_of(comm, rank, &topo);
    if (rc == MPI_SUCCESS)
        *nneighbors = topo->ends[rank] - begin_of(topo, rank);
    return rc;
}

int mpi_Graph_neighbors(MPI_Comm comm, int rank, int maxneighbors, int neighbors[])
{
    topo_t *topo;
    const int rc = node_of(comm, rank, &topo);
    if (rc == MPI_SUCCESS)
        copy_some(neighbors, topo->edges + begin_of(topo, rank), maxneighbors, topo->ends[rank] - begin_of(topo, rank));
    return rc;
}
