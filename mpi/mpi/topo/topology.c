/* SPDX-License-Identifier: Apache-2.0
 * topology.c - communicators with a topology; which one a communicator has.
 */
#include "topo/topology.h"

#include <stdlib.h>

#include "err/err.h"
#include "mpi_impl.h"

int topology_of(MPI_Comm comm, int kind, topo_t **topo_p)
{
    *topo_p = comm_of(comm)->topo;
    if (*topo_p != NULL && (*topo_p)->kind == kind)
        return MPI_SUCCESS;
    return err_set(MPI_ERR_TOPOLOGY, "comm has no %s topology",
                   kind == MPI_CART    ? "Cartesian"
                   : kind == MPI_GRAPH ? "graph"
                                       : "distributed graph");
}

static rt_group_t *first_ranks(const rt_group_t *ranks, int size)
{
    int *world = malloc(((size_t)size + 1) * sizeof(*world));
    if (world == NULL)
        return NULL;
    for (int i = 0; i < size; i++)
        world[i] = rt_group_world(ranks, i);
    rt_group_t *group = rt_group_create(world, size);
    free(world);
    return group;
}

int topology_comm(mpi_comm_t *parent, int size, topo_t *topo, MPI_Comm *newcomm)
{
    int rc = topo != NULL ? MPI_SUCCESS : err_set(MPI_ERR_NO_MEM, "topology: no memory left");
    if (rc == MPI_SUCCESS)
        rc = comm_create(parent, &parent->grp, first_ranks(parent->ranks, size), newcomm);
    if (rc == MPI_SUCCESS && *newcomm != MPI_COMM_NULL)
        comm_of(*newcomm)->topo = topo;
    else
        topo_release(topo);
    return rc;
}

int mpi_Topo_test(MPI_Comm comm, int *status)
{
    const topo_t *topo = comm_of(comm)->topo;
    *status = topo == NULL ? MPI_UNDEFINED : topo->kind;
    return MPI_SUCCESS;
}
