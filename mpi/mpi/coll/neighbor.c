/* SPDX-License-Identifier: Apache-2.0
 * neighbor.c - collectives with the neighbours of a topology. MPI_IN_PLACE has no meaning here.
 */
#include "coll/coll.h"
#include "comm/topo.h"
#include "err/err.h"
#include "mpi_impl.h"

static int topology(const coll_t *coll, const topo_t **topo_p)
{
    *topo_p = coll->comm->topo;
    return *topo_p != NULL ? MPI_SUCCESS : err_set(MPI_ERR_TOPOLOGY, "comm has no topology");
}

/* Sends these and receives those; rc: of their description. */
static int exchange(coll_t *coll, int rc, const coll_parts_t *send, const coll_parts_t *receive)
{
    const topo_t *topo = coll->comm->topo;
    if (rc != MPI_SUCCESS)
        return rc;
    const steps_edges_t out = {.count = topo->out_count, .ranks = topo->out, .blocks = &send->blocks};
    const steps_edges_t in = {.count = topo->in_count, .ranks = topo->in, .blocks = &receive->blocks};
    coll_pack_all(coll, send);
    steps_neighbors(coll->sched, &out, &in, topo->kind == MPI_CART);
    for (int i = 0; i < receive->n; i++)
        if (topo->in[i] >= 0) /* the part of nobody stays as it is */
            coll_unpack(coll, &receive->part[i]);
    return MPI_SUCCESS;
}

/* The same for all neighbours. */
static int exchange_same(coll_t *coll, int rc, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                         const coll_parts_t *receive)
{
    coll_part_t mine;
    coll_parts_t send;
    if (rc == MPI_SUCCESS)
        rc = coll_part(coll, &mine, sendbuf, sendcount, sendtype);
    if (rc == MPI_SUCCESS)
        rc = coll_same(coll, &send, coll->comm->topo->out_count, &mine);
    return exchange(coll, rc, &send, receive);
}

int coll_Neighbor_allgather(coll_t *coll, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                            void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    const topo_t *topo;
    coll_parts_t receive;
    int rc = topology(coll, &topo);
    (void)comm;
    if (rc == MPI_SUCCESS)
        rc = coll_consecutive(coll, &receive, topo->in_count, recvbuf, NULL, recvcount, recvtype);
    return exchange_same(coll, rc, sendbuf, sendcount, sendtype, &receive);
}

int coll_Neighbor_allgatherv(coll_t *coll, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                             void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                             MPI_Datatype recvtype, MPI_Comm comm)
{
    const topo_t *topo;
    coll_parts_t receive;
    int rc = topology(coll, &topo);
    (void)comm;
    if (rc == MPI_SUCCESS)
        rc = coll_varying(coll, &receive, topo->in_count, recvbuf, recvcounts, displs, recvtype);
    return exchange_same(coll, rc, sendbuf, sendcount, sendtype, &receive);
}

int coll_Neighbor_alltoall(coll_t *coll, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                           MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    const topo_t *topo;
    coll_parts_t send;
    coll_parts_t receive;
    int rc = topology(coll, &topo);
    (void)comm;
    if (rc == MPI_SUCCESS)
        rc = coll_consecutive(coll, &send, topo->out_count, sendbuf, NULL, sendcount, sendtype);
    if (rc == MPI_SUCCESS)
        rc = coll_consecutive(coll, &receive, topo->in_count, recvbuf, NULL, recvcount, recvtype);
    return exchange(coll, rc, &send, &receive);
}

int coll_Neighbor_alltoallv(coll_t *coll, const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                            MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
                            const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
{
    const topo_t *topo;
    coll_parts_t send;
    coll_parts_t receive;
    int rc = topology(coll, &topo);
    (void)comm;
    if (rc == MPI_SUCCESS)
        rc = coll_varying(coll, &send, topo->out_count, sendbuf, sendcounts, sdispls, sendtype);
    if (rc == MPI_SUCCESS)
        rc = coll_varying(coll, &receive, topo->in_count, recvbuf, recvcounts, rdispls, recvtype);
    return exchange(coll, rc, &send, &receive);
}

int coll_Neighbor_alltoallw(coll_t *coll, const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                            const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Count recvcounts[],
                            const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    const topo_t *topo;
    coll_parts_t send;
    coll_parts_t receive;
    int rc = topology(coll, &topo);
    (void)comm;
    if (rc == MPI_SUCCESS)
        rc = coll_mixed(coll, &send, topo->out_count, sendbuf, sendcounts, sdispls, sendtypes);
    if (rc == MPI_SUCCESS)
        rc = coll_mixed(coll, &receive, topo->in_count, recvbuf, recvcounts, rdispls, recvtypes);
    return exchange(coll, rc, &send, &receive);
}
