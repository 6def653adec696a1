/* SPDX-License-Identifier: Apache-2.0
 * reduce.c - collectives that compute: reduce, allreduce, reduce_scatter(_block), scan, exscan.
 */
#include "coll/coll.h"
#include "err/err.h"
#include "mpi_impl.h"

static int prepare(coll_t *coll, MPI_Op op, MPI_Count count, MPI_Datatype type, const grp_reduce_t **reduce_p,
                   size_t *bytes_p)
{
    const int rc = coll_reduction(coll, op, type, reduce_p);
    return rc != MPI_SUCCESS ? rc : dt_bytes(count, type, bytes_p);
}

int coll_Allreduce(coll_t *coll, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm)
{
    const grp_reduce_t *reduce;
    size_t bytes;
    const int rc = prepare(coll, op, count, datatype, &reduce, &bytes);
    (void)comm;
    if (rc != MPI_SUCCESS)
        return rc;
    if (sendbuf != MPI_IN_PLACE)
        sched_copy(coll->sched, recvbuf, sendbuf, bytes);
    steps_allreduce(coll->sched, recvbuf, (size_t)count, reduce);
    return MPI_SUCCESS;
}

int coll_Reduce(coll_t *coll, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                int root, MPI_Comm comm)
{
    const grp_reduce_t *reduce;
    size_t bytes;
    void *place = recvbuf;
    int rc = prepare(coll, op, count, datatype, &reduce, &bytes);
    (void)comm;
    if (rc == MPI_SUCCESS && !coll_is_root(coll, root))
        rc = sendbuf == MPI_IN_PLACE
                 ? err_set(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE at a rank that is not the root")
                 : coll_memory(coll, bytes, &place);
    if (rc != MPI_SUCCESS)
        return rc;
    if (sendbuf != MPI_IN_PLACE)
        sched_copy(coll->sched, place, sendbuf, bytes);
    steps_reduce(coll->sched, place, (size_t)count, reduce, root);
    return MPI_SUCCESS;
}

static int scan(coll_t *coll, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                int exclusive)
{
    const grp_reduce_t *reduce;
    size_t bytes;
    const int rc = prepare(coll, op, count, datatype, &reduce, &bytes);
    if (rc != MPI_SUCCESS)
        return rc;
    const void *mine = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    steps_scan(coll->sched, mine, recvbuf, (size_t)count, reduce, exclusive);
    return MPI_SUCCESS;
}

int coll_Scan(coll_t *coll, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
              MPI_Comm comm)
{
    (void)comm;
    return scan(coll, sendbuf, recvbuf, count, datatype, op, 0);
}

int coll_Exscan(coll_t *coll, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                MPI_Comm comm)
{
    (void)comm;
    return scan(coll, sendbuf, recvbuf, count, datatype, op, 1);
}

/* Reduced at rank 0, then scattered: rank i gets counts[i] elements, or `each` where there is no array. */
static int reduce_scatter(coll_t *coll, const void *sendbuf, void *recvbuf, const MPI_Count *counts, MPI_Count each,
                          MPI_Datatype datatype, MPI_Op op)
{
    const grp_reduce_t *reduce;
    coll_parts_t parts;
    coll_part_t mine;
    size_t bytes;
    void *place;
    MPI_Count total = 0;
    for (int i = 0; i < coll_size(coll); i++)
        total += counts == NULL ? each : counts[i];
    int rc = prepare(coll, op, total, datatype, &reduce, &bytes);
    if (rc == MPI_SUCCESS)
        rc = coll_memory(coll, bytes, &place);
    if (rc == MPI_SUCCESS)
        rc = coll_consecutive(coll, &parts, coll_size(coll), place, counts, each, datatype);
    if (rc == MPI_SUCCESS)
        rc = coll_part(&mine, recvbuf, counts == NULL ? each : counts[sched_rank(coll->sched)], datatype);
    if (rc != MPI_SUCCESS)
        return rc;
    sched_copy(coll->sched, place, sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, bytes);
    steps_reduce(coll->sched, place, (size_t)total, reduce, 0);
    steps_scatter(coll->sched, &parts.blocks, mine.at, mine.length, 0);
    return MPI_SUCCESS;
}

int coll_Reduce_scatter_block(coll_t *coll, const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                              MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    (void)comm;
    if (recvcount < 0 || recvcount > PTRDIFF_MAX / coll_size(coll))
        return err_set(MPI_ERR_COUNT, "recvcount %lld is negative or too large", (long long)recvcount);
    return reduce_scatter(coll, sendbuf, recvbuf, NULL, recvcount, datatype, op);
}

int coll_Reduce_scatter(coll_t *coll, const void *sendbuf, void *recvbuf, const MPI_Count recvcounts[],
                        MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    (void)comm;
    if (recvcounts == NULL)
        return err_set(MPI_ERR_ARG, "recvcounts is NULL");
    return reduce_scatter(coll, sendbuf, recvbuf, recvcounts, 0, datatype, op);
}
