/* SPDX-License-Identifier: Apache-2.0
 * reduce.c - collectives that compute: reduce, allreduce, reduce_scatter(_block), scan, exscan.
 */
#include "coll/coll.h"
#include "err/err.h"
#include "mpi_impl.h"

int coll_Allreduce(coll_t *coll, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm)
{
    coll_values_t values;
    void *place;
    int rc = coll_values(coll, &values, op, count, datatype);
    (void)comm;
    if (rc == MPI_SUCCESS)
        rc = coll_values_at(&values, recvbuf, "recvbuf");
    if (rc == MPI_SUCCESS)
        rc = coll_values_take(coll, &values, sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, recvbuf, &place);
    if (rc != MPI_SUCCESS)
        return rc;
    steps_allreduce(coll->sched, place, values.n, values.reduce);
    coll_values_give(coll, &values, place, recvbuf);
    return MPI_SUCCESS;
}

int coll_Reduce(coll_t *coll, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                int root, MPI_Comm comm)
{
    const int is_root = coll_is_root(coll, root);
    coll_values_t values;
    void *place;
    int rc = coll_values(coll, &values, op, count, datatype);
    (void)comm;
    if (rc == MPI_SUCCESS && !is_root && sendbuf == MPI_IN_PLACE)
        rc = err_set(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE at a rank that is not the root");
    if (rc == MPI_SUCCESS && is_root)
        rc = coll_values_at(&values, recvbuf, "recvbuf");
    if (rc == MPI_SUCCESS)
        rc = coll_values_take(coll, &values, sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, is_root ? recvbuf : NULL,
                              &place);
    if (rc != MPI_SUCCESS)
        return rc;
    steps_reduce(coll->sched, place, values.n, values.reduce, root);
    if (is_root)
        coll_values_give(coll, &values, place, recvbuf);
    return MPI_SUCCESS;
}

static int scan(coll_t *coll, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                int exclusive)
{
    const void *from = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    coll_values_t values;
    void *mine = NULL;
    void *result = recvbuf;
    const int has_result = !exclusive || sched_rank(coll->sched) > 0;
    int rc = coll_values(coll, &values, op, count, datatype);
    if (rc == MPI_SUCCESS)
        rc = coll_values_at(&values, from, "the buffer with a rank's own elements");
    if (rc == MPI_SUCCESS && has_result)
        rc = coll_values_at(&values, recvbuf, "recvbuf");
    if (rc == MPI_SUCCESS && !values.dense)
        rc = coll_values_take(coll, &values, from, NULL, &mine);
    if (rc == MPI_SUCCESS)
        rc = coll_values_room(coll, &values, recvbuf, &result);
    if (rc != MPI_SUCCESS)
        return rc;
    steps_scan(coll->sched, values.dense ? from : mine, result, values.n, values.reduce, exclusive);
    if (has_result)
        coll_values_give(coll, &values, result, recvbuf);
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

int coll_scatter_values(coll_t *coll, const coll_values_t *values, const void *place, void *recvbuf,
                        const MPI_Count *counts, MPI_Count each)
{
    const int rank = sched_rank(coll->sched);
    coll_parts_t parts = {0};
    coll_part_t mine;
    int rc = rank != 0 ? MPI_SUCCESS
                       : coll_consecutive(coll, &parts, coll_size(coll), (const char *)place + values->shift, counts,
                                          each, values->type);
    if (rc == MPI_SUCCESS)
        rc = coll_part(coll, &mine, recvbuf, counts == NULL ? each : counts[rank], values->type);
    if (rc != MPI_SUCCESS)
        return rc;
    coll_pack_all(coll, &parts);
    (counts == NULL ? steps_scatter_each : steps_scatter)(coll->sched, &parts.blocks, mine.at, mine.length, 0);
    coll_unpack(coll, &mine);
    return MPI_SUCCESS;
}

int coll_total(const coll_t *coll, const MPI_Count *counts, MPI_Count each, MPI_Count *total_p)
{
    *total_p = 0;
    for (int i = 0; i < coll_size(coll); i++) {
        const MPI_Count count = counts == NULL ? each : counts[i];
        if (count < 0 || __builtin_add_overflow(*total_p, count, total_p))
            return err_set(MPI_ERR_COUNT, "count %lld is negative or too large", (long long)count);
    }
    return MPI_SUCCESS;
}

/* Reduced at rank 0, then scattered. */
static int reduce_scatter(coll_t *coll, const void *sendbuf, void *recvbuf, const MPI_Count *counts, MPI_Count each,
                          MPI_Datatype datatype, MPI_Op op)
{
    coll_values_t values;
    MPI_Count total;
    void *place;
    int rc = coll_total(coll, counts, each, &total);
    if (rc == MPI_SUCCESS)
        rc = coll_values(coll, &values, op, total, datatype);
    if (rc == MPI_SUCCESS)
        rc = coll_values_take(coll, &values, sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, NULL, &place);
    if (rc != MPI_SUCCESS)
        return rc;
    steps_reduce(coll->sched, place, values.n, values.reduce, 0);
    return coll_scatter_values(coll, &values, place, recvbuf, counts, each);
}

int coll_Reduce_scatter_block(coll_t *coll, const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                              MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    (void)comm;
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
