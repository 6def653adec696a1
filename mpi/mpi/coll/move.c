/* SPDX-License-Identifier: Apache-2.0
 * move.c - collectives that move data: barrier, bcast, gather(v), scatter(v), allgather(v), alltoall(v). Arguments
 * that do not count at a rank (other than the root, MPI_IN_PLACE) are not looked at there.
 */
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "err/err.h"
#include "mpi_impl.h"

int mpi_Barrier(MPI_Comm comm)
{
    return coll_result(grp_barrier(&comm_of(comm)->grp));
}

int mpi_Bcast(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    size_t bytes;
    const int rc = dt_bytes(count, datatype, &bytes);
    return rc != MPI_SUCCESS ? rc : coll_result(grp_bcast(&comm_of(comm)->grp, buffer, bytes, root));
}

/* blocks are the root's; elsewhere they are not looked at. */
static int gather(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, const grp_blocks_t *blocks, int root,
                  mpi_comm_t *comm)
{
    size_t bytes = 0;
    const int in_place = sendbuf == MPI_IN_PLACE;
    const int rc = in_place ? MPI_SUCCESS : dt_bytes(sendcount, sendtype, &bytes);
    if (rc != MPI_SUCCESS)
        return rc;
    if (in_place && comm->ranks->rank != root)
        return err_set(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE at a rank that is not the root");
    return coll_result(grp_gather(&comm->grp, in_place ? NULL : sendbuf, bytes, blocks, root));
}

int mpi_Gather(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
               MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    grp_blocks_t blocks = {0};
    const int is_root = comm_of(comm)->ranks->rank == root;
    const int rc = is_root ? coll_equal(&blocks, recvbuf, recvcount, recvtype) : MPI_SUCCESS;
    return rc != MPI_SUCCESS ? rc : gather(sendbuf, sendcount, sendtype, &blocks, root, comm_of(comm));
}

int mpi_Gatherv(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    grp_blocks_t blocks = {0};
    const rt_group_t *ranks = comm_of(comm)->ranks;
    const int rc =
        ranks->rank == root ? coll_varying(&blocks, recvbuf, recvcounts, displs, ranks->size, recvtype) : MPI_SUCCESS;
    return rc != MPI_SUCCESS ? rc : gather(sendbuf, sendcount, sendtype, &blocks, root, comm_of(comm));
}

static int scatter(const grp_blocks_t *blocks, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                   mpi_comm_t *comm)
{
    size_t bytes = 0;
    const int in_place = recvbuf == MPI_IN_PLACE;
    const int rc = in_place ? MPI_SUCCESS : dt_bytes(recvcount, recvtype, &bytes);
    if (rc != MPI_SUCCESS)
        return rc;
    if (in_place && comm->ranks->rank != root)
        return err_set(MPI_ERR_BUFFER, "recvbuf is MPI_IN_PLACE at a rank that is not the root");
    return coll_result(grp_scatter(&comm->grp, blocks, in_place ? NULL : recvbuf, bytes, root));
}

int mpi_Scatter(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    grp_blocks_t blocks = {0};
    const int is_root = comm_of(comm)->ranks->rank == root;
    const int rc = is_root ? coll_equal(&blocks, sendbuf, sendcount, sendtype) : MPI_SUCCESS;
    return rc != MPI_SUCCESS ? rc : scatter(&blocks, recvbuf, recvcount, recvtype, root, comm_of(comm));
}

int mpi_Scatterv(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[], MPI_Datatype sendtype,
                 void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    grp_blocks_t blocks = {0};
    const rt_group_t *ranks = comm_of(comm)->ranks;
    const int rc =
        ranks->rank == root ? coll_varying(&blocks, sendbuf, sendcounts, displs, ranks->size, sendtype) : MPI_SUCCESS;
    return rc != MPI_SUCCESS ? rc : scatter(&blocks, recvbuf, recvcount, recvtype, root, comm_of(comm));
}

/* Puts this rank's block where the others' come. */
static int allgather(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, const grp_blocks_t *blocks,
                     mpi_comm_t *comm)
{
    size_t bytes;
    const int rank = comm->ranks->rank;
    if (sendbuf != MPI_IN_PLACE) {
        const int rc = dt_bytes(sendcount, sendtype, &bytes);
        if (rc != MPI_SUCCESS)
            return rc;
        if (bytes > blocks->length(blocks, rank))
            return err_set(MPI_ERR_TRUNCATE, "own block has %zu bytes, its place in recvbuf %zu", bytes,
                           blocks->length(blocks, rank));
        coll_in_place(sendbuf, grp_block(blocks, rank), bytes);
    }
    return coll_result(grp_allgather(&comm->grp, blocks));
}

int mpi_Allgather(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                  MPI_Datatype recvtype, MPI_Comm comm)
{
    grp_blocks_t blocks;
    const int rc = coll_equal(&blocks, recvbuf, recvcount, recvtype);
    return rc != MPI_SUCCESS ? rc : allgather(sendbuf, sendcount, sendtype, &blocks, comm_of(comm));
}

int mpi_Allgatherv(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                   const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm)
{
    grp_blocks_t blocks;
    const int rc = coll_varying(&blocks, recvbuf, recvcounts, displs, comm_of(comm)->ranks->size, recvtype);
    return rc != MPI_SUCCESS ? rc : allgather(sendbuf, sendcount, sendtype, &blocks, comm_of(comm));
}

/* In place: what is sent is a copy of what lies in recvbuf. */
static int alltoall_in_place(const grp_blocks_t *receive, mpi_comm_t *comm)
{
    size_t end = 0;
    for (int i = 0; i < comm->ranks->size; i++) {
        const size_t block_end = receive->offset(receive, i) + receive->length(receive, i);
        end = block_end > end ? block_end : end;
    }
    grp_blocks_t send = *receive;
    send.base = malloc(end > 0 ? end : 1);
    if (send.base == NULL)
        return err_set(MPI_ERR_NO_MEM, "alltoall in place: no memory left for %zu bytes", end);
    for (int i = 0; i < comm->ranks->size; i++)
        if (receive->length(receive, i) > 0)
            memcpy(grp_block(&send, i), grp_block(receive, i), receive->length(receive, i));
    const int rc = coll_result(grp_alltoall(&comm->grp, &send, receive));
    free(send.base);
    return rc;
}

int mpi_Alltoall(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm)
{
    grp_blocks_t send;
    grp_blocks_t receive;
    int rc = coll_equal(&receive, recvbuf, recvcount, recvtype);
    if (rc == MPI_SUCCESS && sendbuf == MPI_IN_PLACE)
        return alltoall_in_place(&receive, comm_of(comm));
    if (rc == MPI_SUCCESS)
        rc = coll_equal(&send, sendbuf, sendcount, sendtype);
    return rc != MPI_SUCCESS ? rc : coll_result(grp_alltoall(&comm_of(comm)->grp, &send, &receive));
}

int mpi_Alltoallv(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,
                  void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype,
                  MPI_Comm comm)
{
    grp_blocks_t send;
    grp_blocks_t receive;
    const int size = comm_of(comm)->ranks->size;
    int rc = coll_varying(&receive, recvbuf, recvcounts, rdispls, size, recvtype);
    if (rc == MPI_SUCCESS && sendbuf == MPI_IN_PLACE)
        return alltoall_in_place(&receive, comm_of(comm));
    if (rc == MPI_SUCCESS)
        rc = coll_varying(&send, sendbuf, sendcounts, sdispls, size, sendtype);
    return rc != MPI_SUCCESS ? rc : coll_result(grp_alltoall(&comm_of(comm)->grp, &send, &receive));
}
