/* SPDX-License-Identifier: Apache-2.0
 * reduce.c - collectives that compute: reduce, allreduce, reduce_scatter(_block), scan, exscan.
 */
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "err/err.h"
#include "mpi_impl.h"

static int prepare(coll_reduction_t *reduction, MPI_Op op, MPI_Count count, MPI_Datatype type, size_t *bytes_p)
{
    const int rc = coll_reduction(reduction, op, type);
    return rc != MPI_SUCCESS ? rc : dt_bytes(count, type, bytes_p);
}

/* A place for this rank's elements where the caller has none to spare. */
static int borrow(void **place_p, size_t bytes)
{
    *place_p = malloc(bytes > 0 ? bytes : 1);
    return *place_p != NULL ? MPI_SUCCESS : err_set(MPI_ERR_NO_MEM, "reduction of %zu bytes: no memory left", bytes);
}

int mpi_Allreduce(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    coll_reduction_t reduction;
    size_t bytes;
    const int rc = prepare(&reduction, op, count, datatype, &bytes);
    if (rc != MPI_SUCCESS)
        return rc;
    coll_in_place(sendbuf, recvbuf, bytes);
    return coll_result(grp_allreduce(&comm_of(comm)->grp, recvbuf, (size_t)count, &reduction.reduce));
}

int mpi_Reduce(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
               MPI_Comm comm)
{
    coll_reduction_t reduction;
    size_t bytes;
    void *place = recvbuf;
    const int is_root = comm_of(comm)->ranks->rank == root;
    int rc = prepare(&reduction, op, count, datatype, &bytes);
    if (rc == MPI_SUCCESS && !is_root)
        rc = borrow(&place, bytes);
    if (rc != MPI_SUCCESS)
        return rc;
    coll_in_place(sendbuf, place, bytes);
    rc = coll_result(grp_reduce(&comm_of(comm)->grp, place, (size_t)count, &reduction.reduce, root));
    if (!is_root)
        free(place);
    return rc;
}

static int scan(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                int exclusive)
{
    coll_reduction_t reduction;
    size_t bytes;
    const int rc = prepare(&reduction, op, count, datatype, &bytes);
    if (rc != MPI_SUCCESS)
        return rc;
    const void *mine = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    return coll_result(grp_scan(&comm_of(comm)->grp, mine, recvbuf, (size_t)count, &reduction.reduce, exclusive));
}

int mpi_Scan(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    return scan(sendbuf, recvbuf, count, datatype, op, comm, 0);
}

int mpi_Exscan(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    return scan(sendbuf, recvbuf, count, datatype, op, comm, 1);
}

/* Reduced at rank 0, then scattered. */
static int reduce_and_scatter(const void *sendbuf, void *recvbuf, MPI_Count total, const grp_blocks_t *wanted,
                              MPI_Datatype datatype, MPI_Op op, mpi_comm_t *comm)
{
    coll_reduction_t reduction;
    size_t bytes;
    void *place = NULL;
    grp_blocks_t blocks = *wanted;
    int rc = prepare(&reduction, op, total, datatype, &bytes);
    if (rc == MPI_SUCCESS)
        rc = borrow(&place, bytes);
    if (rc != MPI_SUCCESS)
        return rc;
    coll_in_place(sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, place, bytes);
    blocks.base = place;
    rc = grp_reduce(&comm->grp, place, (size_t)total, &reduction.reduce, 0);
    if (rc >= 0)
        rc = grp_scatter(&comm->grp, &blocks, recvbuf, blocks.length(&blocks, comm->ranks->rank), 0);
    free(place);
    return coll_result(rc);
}

int mpi_Reduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op,
                             MPI_Comm comm)
{
    grp_blocks_t blocks;
    const int rc = coll_equal(&blocks, NULL, recvcount, datatype);
    if (rc != MPI_SUCCESS)
        return rc;
    return reduce_and_scatter(sendbuf, recvbuf, recvcount * comm_of(comm)->ranks->size, &blocks, datatype, op,
                              comm_of(comm));
}

int mpi_Reduce_scatter(const void *sendbuf, void *recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype,
                       MPI_Op op, MPI_Comm comm)
{
    const int size = comm_of(comm)->ranks->size;
    grp_blocks_t blocks;
    MPI_Count total = 0;
    MPI_Aint *displs = malloc((size_t)size * sizeof(*displs));
    if (displs == NULL)
        return err_set(MPI_ERR_NO_MEM, "reduce_scatter: no memory left");
    for (int i = 0; i < size && recvcounts != NULL; i++) {
        displs[i] = (MPI_Aint)total;
        total += recvcounts[i];
    }
    int rc = coll_varying(&blocks, NULL, recvcounts, displs, size, datatype);
    if (rc == MPI_SUCCESS)
        rc = reduce_and_scatter(sendbuf, recvbuf, total, &blocks, datatype, op, comm_of(comm));
    free(displs);
    return rc;
}
