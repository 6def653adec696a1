/* SPDX-License-Identifier: Apache-2.0
 * near_reduce.c - blocking collectives that compute with a predefined operation, within a node, as near.c: reduce and allreduce of
 * few bytes by slots, of more by pieces; reduce_scatter(_block) by pieces; scan and exscan as reduce.
 */
#include "coll/near.h"
#include "mpi_impl.h"
#include "op/op.h"

static void apply(const grp_reduce_t *reduce, const void *in, void *inout, size_t count)
{
    ((op_kernel_t)(uintptr_t)reduce->arg)(in, inout, count);
}

/* Whether node memory is for it: the operation is a predefined one that takes this type, and both buffers are somewhere. */
static int takes(grp_reduce_t *reduce, const void *mine, const void *result, MPI_Count count, MPI_Datatype type,
                 MPI_Op op)
{
    dt_type_t *found;
    if ((uintptr_t)op <= OP_FIRST || (uintptr_t)op >= OP_FIRST + OP_NAMED || count < 0 ||
        dt_usable(type, &found) != MPI_SUCCESS || found->basic == NULL ||
        (count > 0 && (dt_is_nowhere(mine, found) || dt_is_nowhere(result, found))))
        return 0;
    const op_kernel_t kernel = op_find(op, found->basic);
    *reduce = (grp_reduce_t){.apply = apply, .arg = (void *)(uintptr_t)kernel, .element = found->extent, .commutes = 1};
    return kernel != NULL;
}

/* Memory of pieces, and vectors. */
static int ready_for_pieces(near_t *near, grp_reduce_t *reduce, MPI_Datatype type, MPI_Op op)
{
    reduce->combine = op_wide_find(op, dt_find(type)->basic);
    return near_ready_for_pieces(near);
}

/* Slots, and for much data pieces. */
static int ready_for(near_t *near, int is_few, size_t count, grp_reduce_t *reduce, MPI_Datatype type, MPI_Op op)
{
    (void)grp_choose(&near->all->call, GRP_SLOTS, is_few, count * reduce->element);
    const int rc = near_ready(near);
    return rc != MPI_SUCCESS || is_few ? rc : ready_for_pieces(near, reduce, type, op);
}

int coll_near_Allreduce(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                        MPI_Comm comm)
{
    const void *mine = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    const size_t n = (size_t)count;
    grp_reduce_t reduce;
    near_t near;
    int rc = near_find(&near, comm);
    if (rc != MPI_SUCCESS || !takes(&reduce, mine, recvbuf, count, datatype, op) ||
        !near_takes_levels(&near, TABLE_ALLREDUCE_LEVELS, n * reduce.element))
        return COLL_FAR;
    rc = ready_for(&near, node_reduce_fits(near.here, n, &reduce), n, &reduce, datatype, op);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!near_is_one_node(&near))
        return coll_result(node_levels_allreduce(near.all, mine, recvbuf, n, &reduce));
    return coll_result((node_reduce_fits(near.here, n, &reduce) ? node_allreduce : node_allreduce_large)(
        near.here->node, mine, recvbuf, n, &reduce));
}

int coll_near_Reduce(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                     MPI_Comm comm)
{
    const void *mine = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    const size_t n = (size_t)count;
    grp_reduce_t reduce;
    near_t near;
    int rc = near_find(&near, comm);
    if (rc != MPI_SUCCESS || (sendbuf == MPI_IN_PLACE && grp_rank(near.all) != root) ||
        !takes(&reduce, mine, grp_rank(near.all) == root ? recvbuf : mine, count, datatype, op) ||
        !near_takes_levels(&near, TABLE_REDUCE_LEVELS, n * reduce.element))
        return COLL_FAR;
    rc = ready_for(&near, node_reduce_fits(near.here, n, &reduce), n, &reduce, datatype, op);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!near_is_one_node(&near))
        return coll_result(node_levels_reduce(near.all, mine, recvbuf, n, &reduce, root));
    return coll_result((node_reduce_fits(near.here, n, &reduce) ? node_reduce : node_reduce_pieces)(
        near.here->node, mine, recvbuf, n, &reduce, root));
}

/* A rank's part of the result: elements [first, end) of so many. */
typedef struct part {
    MPI_Count first;
    MPI_Count end;
    MPI_Count total;
} part_t;

/* 0: a count is negative, or there are too many in all. */
static int part_of(part_t *part, const near_t *near, const MPI_Count *counts, MPI_Count each)
{
    *part = (part_t){0};
    for (int rank = 0; rank < grp_size(near->all); rank++) {
        const MPI_Count count = counts == NULL ? each : counts[rank];
        if (rank == grp_rank(near->all))
            part->first = part->total;
        if (count < 0 || __builtin_add_overflow(part->total, count, &part->total))
            return 0;
        if (rank == grp_rank(near->all))
            part->end = part->total;
    }
    return 1;
}

static int reduce_scatter(const void *sendbuf, void *recvbuf, const MPI_Count *counts, MPI_Count each,
                          MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    const void *mine = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    grp_reduce_t reduce;
    near_t near;
    part_t part;
    int rc = near_find(&near, comm);
    if (rc != MPI_SUCCESS || !part_of(&part, &near, counts, each) ||
        !takes(&reduce, mine, part.first < part.end ? recvbuf : mine, part.total, datatype, op))
        return COLL_FAR;
    const size_t bytes = (size_t)part.total * reduce.element;
    const int is_few = table_is_few(TABLE_REDUCE_SCATTER, grp_size(near.all), grp_nodes(near.all), bytes);
    if (!grp_choose(&near.all->call, GRP_SLOTS, is_few, bytes))
        return COLL_FAR;
    rc = near_ready(&near);
    if (rc == MPI_SUCCESS)
        rc = ready_for_pieces(&near, &reduce, datatype, op);
    if (rc != MPI_SUCCESS)
        return rc;
    return coll_result(node_reduce_scatter_pieces(near.here->node, mine, recvbuf, (size_t)part.total, &reduce,
                                                  (size_t)part.first, (size_t)part.end));
}

int coll_near_Reduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                                   MPI_Op op, MPI_Comm comm)
{
    return reduce_scatter(sendbuf, recvbuf, NULL, recvcount, datatype, op, comm);
}

int coll_near_Reduce_scatter(const void *sendbuf, void *recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype,
                             MPI_Op op, MPI_Comm comm)
{
    return recvcounts == NULL ? COLL_FAR : reduce_scatter(sendbuf, recvbuf, recvcounts, 0, datatype, op, comm);
}

/* An exclusive scan has no result at the first rank. Of several nodes the ranks of each must follow one another. */
static int scan(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                int exclusive)
{
    const void *mine = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    const size_t n = (size_t)count;
    grp_reduce_t reduce;
    near_t near;
    int rc = near_find(&near, comm);
    if (rc != MPI_SUCCESS || (!near_is_one_node(&near) && !near.all->levels->ordered) ||
        !takes(&reduce, mine, exclusive && grp_rank(near.all) == 0 ? mine : recvbuf, count, datatype, op) ||
        !near_takes_levels(&near, TABLE_SCAN_LEVELS, n * reduce.element))
        return COLL_FAR;
    const int is_few = node_scan_fits(near.here, n, &reduce);
    rc = ready_for(&near, is_few, n, &reduce, datatype, op);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!near_is_one_node(&near))
        return coll_result(node_levels_scan(near.all, mine, recvbuf, n, &reduce, exclusive));
    return coll_result((is_few ? node_scan : node_scan_pieces)(near.here->node, mine, recvbuf, n, &reduce, exclusive));
}

int coll_near_Scan(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    return scan(sendbuf, recvbuf, count, datatype, op, comm, 0);
}

int coll_near_Exscan(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                     MPI_Comm comm)
{
    return scan(sendbuf, recvbuf, count, datatype, op, comm, 1);
}
