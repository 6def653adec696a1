/* SPDX-License-Identifier: Apache-2.0
 * alltoall.c - alltoall, alltoallv, alltoallw. In place, what is sent is a copy of what lies in recvbuf.
 */
#include "coll/coll.h"
#include "mpi_impl.h"

typedef void (*exchange_t)(sched_t *sched, const grp_blocks_t *send, const grp_blocks_t *receive);

/* send: the parts, or NULL in place. */
static int exchange(coll_t *coll, exchange_t steps, int rc, const coll_parts_t *send, const coll_parts_t *receive)
{
    coll_parts_t copies;
    if (rc == MPI_SUCCESS && send == NULL)
        rc = coll_copies(coll, receive, &copies);
    if (rc != MPI_SUCCESS)
        return rc;
    if (send != NULL)
        coll_pack_all(coll, send);
    steps(coll->sched, send == NULL ? &copies.blocks : &send->blocks, &receive->blocks);
    coll_unpack_all(coll, receive, COLL_ALL);
    return MPI_SUCCESS;
}

int coll_Alltoall(coll_t *coll, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    coll_parts_t send;
    coll_parts_t receive;
    const int in_place = sendbuf == MPI_IN_PLACE;
    int rc = coll_consecutive(coll, &receive, coll_size(coll), recvbuf, NULL, recvcount, recvtype);
    (void)comm;
    if (rc == MPI_SUCCESS && !in_place)
        rc = coll_consecutive(coll, &send, coll_size(coll), sendbuf, NULL, sendcount, sendtype);
    return exchange(coll, steps_alltoall_each, rc, in_place ? NULL : &send, &receive);
}

int coll_Alltoallv(coll_t *coll, const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                   MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                   MPI_Datatype recvtype, MPI_Comm comm)
{
    coll_parts_t send;
    coll_parts_t receive;
    const int in_place = sendbuf == MPI_IN_PLACE;
    int rc = coll_varying(coll, &receive, coll_size(coll), recvbuf, recvcounts, rdispls, recvtype);
    (void)comm;
    if (rc == MPI_SUCCESS && !in_place)
        rc = coll_varying(coll, &send, coll_size(coll), sendbuf, sendcounts, sdispls, sendtype);
    return exchange(coll, steps_alltoall, rc, in_place ? NULL : &send, &receive);
}

int coll_Alltoallw(coll_t *coll, const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                   const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Count recvcounts[],
                   const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    coll_parts_t send;
    coll_parts_t receive;
    const int in_place = sendbuf == MPI_IN_PLACE;
    int rc = coll_mixed(coll, &receive, coll_size(coll), recvbuf, recvcounts, rdispls, recvtypes);
    (void)comm;
    if (rc == MPI_SUCCESS && !in_place)
        rc = coll_mixed(coll, &send, coll_size(coll), sendbuf, sendcounts, sdispls, sendtypes);
    return exchange(coll, steps_alltoall, rc, in_place ? NULL : &send, &receive);
}
