/* SPDX-License-Identifier: Apache-2.0
 * near.c - blocking collectives of ranks that share a node, over slots of its memory (grp/node.h), without a schedule, or
 * with one for the first ranks of several nodes (grp/levels.h).
 * coll_near_NAME is asked before coll_NAME; COLL_FAR: it is one for a schedule. What decides is the same at all ranks: the
 * communicator, the bytes of the signature, whether the operation is a predefined one. Arguments that are wrong are left to
 * coll_NAME, too.
 */
#include "coll/near.h"

#include "mpi_impl.h"
#include "op/op.h"

int near_find(near_t *near, MPI_Comm comm)
{
    mpi_comm_t *found = comm_of(comm);
    if (comm_is_inter(found) || levels_find(&found->grp) < 0)
        return COLL_FAR;
    near->all = near->here = &found->grp;
    if (found->grp.levels != NULL)
        near->here = &found->grp.levels->inside;
    return MPI_SUCCESS;
}

/* A rank of this node that was lost meanwhile fails the schedule, on all nodes. */
int near_ready(near_t *near)
{
    const int ready = node_ready(near->here);
    if (ready < 0 && (near_is_one_node(near) || ready == VBN_ERR_UNREACHABLE))
        return coll_result(ready);
    return ready > 0 ? MPI_SUCCESS : COLL_FAR;
}

int coll_near_Barrier(MPI_Comm comm)
{
    near_t near;
    int rc = near_find(&near, comm);
    if (rc == MPI_SUCCESS)
        rc = near_ready(&near);
    if (rc != MPI_SUCCESS)
        return rc;
    return coll_result(near_is_one_node(&near) ? node_barrier(near.here->node) : node_levels_barrier(near.all));
}

static int bcast_bytes(const near_t *near, void *buffer, size_t length, int root)
{
    return coll_result(near_is_one_node(near) ? node_bcast(near->here->node, buffer, length, root)
                                              : node_levels_bcast(near->all, buffer, length, root));
}

/* Of data that is not one piece. */
__attribute__((noinline)) static int bcast_packed(const near_t *near, const dt_data_t *data, int root)
{
    unsigned char packed[NODE_BCAST];
    if (grp_rank(near->all) == root)
        dt_pack(data, 0, packed, data->bytes);
    const int rc = bcast_bytes(near, packed, data->bytes, root);
    if (rc == MPI_SUCCESS && grp_rank(near->all) != root)
        dt_unpack(data, 0, packed, data->bytes);
    return rc;
}

int coll_near_Bcast(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    dt_data_t data;
    near_t near;
    int rc = near_find(&near, comm);
    if (rc != MPI_SUCCESS || dt_describe(&data, buffer, count, datatype) != MPI_SUCCESS ||
        !grp_choose(&near.all->call, GRP_SLOTS, node_bcast_fits(near.here, data.bytes), data.bytes))
        return COLL_FAR;
    rc = near_ready(&near);
    if (rc != MPI_SUCCESS)
        return rc;
    return data.type != NULL ? bcast_packed(&near, &data, root) : bcast_bytes(&near, data.base, data.bytes, root);
}

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

/* Slots, and for much data memory of pieces beside them, and vectors. A failure as in near_ready. */
static int ready_for(near_t *near, size_t count, grp_reduce_t *reduce, MPI_Datatype type, MPI_Op op)
{
    const int is_few = grp_choose(&near->all->call, GRP_SLOTS, node_reduce_fits(near->here, count, reduce),
                                  count * reduce->element);
    const int rc = near_ready(near);
    if (rc != MPI_SUCCESS || is_few)
        return rc;
    reduce->combine = op_wide_find(op, dt_find(type)->basic);
    const int ready = node_pieces_ready(near->here->node);
    if (ready < 0 && near_is_one_node(near))
        return coll_result(ready);
    return ready > 0 ? MPI_SUCCESS : COLL_FAR;
}

int coll_near_Allreduce(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                        MPI_Comm comm)
{
    const void *mine = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    const size_t n = (size_t)count;
    grp_reduce_t reduce;
    near_t near;
    int rc = near_find(&near, comm);
    if (rc != MPI_SUCCESS || !takes(&reduce, mine, recvbuf, count, datatype, op))
        return COLL_FAR;
    rc = ready_for(&near, n, &reduce, datatype, op);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!near_is_one_node(&near))
        return coll_result(node_levels_allreduce(near.all, mine, recvbuf, n, &reduce));
    return coll_result((node_reduce_fits(near.here, n, &reduce) ? node_allreduce : node_allreduce_pieces)(
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
        !takes(&reduce, mine, grp_rank(near.all) == root ? recvbuf : mine, count, datatype, op))
        return COLL_FAR;
    rc = ready_for(&near, n, &reduce, datatype, op);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!near_is_one_node(&near))
        return coll_result(node_levels_reduce(near.all, mine, recvbuf, n, &reduce, root));
    return coll_result((node_reduce_fits(near.here, n, &reduce) ? node_reduce : node_reduce_pieces)(
        near.here->node, mine, recvbuf, n, &reduce, root));
}
