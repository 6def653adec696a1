/* SPDX-License-Identifier: Apache-2.0
 * inter_reduce.c - reductions on intercommunicators: each group gets what the other one's ranks combine to. A group's
 * first rank reduces and speaks with the other group.
 */
#include "coll/inter.h"
#include "err/err.h"
#include "mpi_impl.h"

/* Steps: the first rank has what this group's ranks combine to. */
static int reduce_here(coll_t *coll, coll_values_t *values, const void *sendbuf, MPI_Count count, MPI_Datatype datatype,
                       MPI_Op op, void **place_p)
{
    int rc = inter_no_place(sendbuf, "sendbuf");
    if (rc == MPI_SUCCESS)
        rc = coll_values(coll, values, op, count, datatype);
    if (rc == MPI_SUCCESS)
        rc = coll_values_take(coll, values, sendbuf, NULL, place_p);
    if (rc == MPI_SUCCESS)
        steps_reduce(coll->sched, *place_p, values->n, values->reduce, 0);
    return rc;
}

static int at_root(coll_t *coll, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
    coll_values_t values;
    void *place;
    int rc = coll_values(coll, &values, op, count, datatype);
    if (rc == MPI_SUCCESS)
        rc = coll_values_at(&values, recvbuf, "recvbuf");
    if (rc == MPI_SUCCESS)
        rc = coll_values_room(coll, &values, recvbuf, &place);
    if (rc != MPI_SUCCESS)
        return rc;
    sched_recv_from(coll->sched, coll->comm->peers, 0, place, values.bytes);
    coll_values_give(coll, &values, place, recvbuf);
    return MPI_SUCCESS;
}

int coll_inter_Reduce(coll_t *coll, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                      MPI_Op op, int root, MPI_Comm comm)
{
    coll_values_t values;
    void *place;
    (void)comm;
    if (inter_part(root) == INTER_NONE)
        return MPI_SUCCESS;
    if (inter_part(root) == INTER_ROOT)
        return at_root(coll, recvbuf, count, datatype, op);
    const int rc = reduce_here(coll, &values, sendbuf, count, datatype, op, &place);
    if (rc == MPI_SUCCESS && sched_rank(coll->sched) == 0)
        sched_send_to(coll->sched, coll->comm->peers, root, place, values.bytes);
    return rc;
}

int coll_inter_Allreduce(coll_t *coll, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                         MPI_Op op, MPI_Comm comm)
{
    coll_values_t values;
    void *place;
    void *result;
    int rc = reduce_here(coll, &values, sendbuf, count, datatype, op, &place);
    (void)comm;
    if (rc == MPI_SUCCESS)
        rc = coll_values_at(&values, recvbuf, "recvbuf");
    if (rc == MPI_SUCCESS)
        rc = coll_values_room(coll, &values, recvbuf, &result);
    if (rc != MPI_SUCCESS)
        return rc;
    inter_swap(coll, place, result, values.bytes);
    steps_bcast(coll->sched, result, values.bytes, 0);
    coll_values_give(coll, &values, result, recvbuf);
    return MPI_SUCCESS;
}

/* Values at the first rank, of which rank i gets counts[i] elements (each, without an array). */
static int scatter_values(coll_t *coll, const coll_values_t *values, const void *place, void *recvbuf,
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

static int reduce_scatter(coll_t *coll, const void *sendbuf, void *recvbuf, const MPI_Count *counts, MPI_Count each,
                          MPI_Datatype datatype, MPI_Op op)
{
    coll_values_t values;
    MPI_Count total;
    void *place;
    void *result;
    int rc = coll_total(coll, counts, each, &total);
    if (rc == MPI_SUCCESS)
        rc = reduce_here(coll, &values, sendbuf, total, datatype, op, &place);
    if (rc == MPI_SUCCESS)
        rc = coll_values_room(coll, &values, NULL, &result);
    if (rc != MPI_SUCCESS)
        return rc;
    inter_swap(coll, place, result, values.bytes);
    return scatter_values(coll, &values, result, recvbuf, counts, each);
}

int coll_inter_Reduce_scatter_block(coll_t *coll, const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                                    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    (void)comm;
    return reduce_scatter(coll, sendbuf, recvbuf, NULL, recvcount, datatype, op);
}

int coll_inter_Reduce_scatter(coll_t *coll, const void *sendbuf, void *recvbuf, const MPI_Count recvcounts[],
                              MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    (void)comm;
    if (recvcounts == NULL)
        return err_set(MPI_ERR_ARG, "recvcounts is NULL");
    return reduce_scatter(coll, sendbuf, recvbuf, recvcounts, 0, datatype, op);
}
