/* SPDX-License-Identifier: Apache-2.0
 * near.c - blocking collectives of ranks that share a node, over slots of its memory (grp/node.h), without a schedule.
 * coll_near_NAME is asked before coll_NAME; COLL_FAR: it is one for a schedule. What decides is the same at all ranks: the
 * communicator, the bytes of the signature, whether the operation is a predefined one. Arguments that are wrong are left to
 * coll_NAME, too.
 */
#include "coll/coll.h"

#include "grp/node.h"
#include "mpi_impl.h"
#include "op/op.h"

/* The slots of an intracommunicator; NULL: none. A failure to make them is *rc_p. */
static node_set_t *slots(MPI_Comm comm, int *rc_p)
{
    mpi_comm_t *found = comm_of(comm);
    *rc_p = COLL_FAR;
    if (comm_is_inter(found))
        return NULL;
    const int near = node_ready(&found->grp);
    if (near < 0)
        *rc_p = coll_result(near);
    return near > 0 ? found->grp.node : NULL;
}

int coll_near_Barrier(MPI_Comm comm)
{
    int rc;
    node_set_t *set = slots(comm, &rc);
    return set == NULL ? rc : coll_result(node_barrier(set));
}

static int bcast(node_set_t *set, const dt_data_t *data, int root)
{
    unsigned char packed[NODE_BYTES];
    if (data->type == NULL)
        return coll_result(node_bcast(set, data->base, data->bytes, root));
    if (set->rank == root)
        dt_pack(data, 0, packed, data->bytes);
    const int rc = coll_result(node_bcast(set, packed, data->bytes, root));
    if (rc == MPI_SUCCESS && set->rank != root)
        dt_unpack(data, 0, packed, data->bytes);
    return rc;
}

int coll_near_Bcast(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    dt_data_t data;
    int rc;
    if (comm_is_inter(comm_of(comm)) || dt_describe(&data, buffer, count, datatype) != MPI_SUCCESS ||
        !node_bcast_fits(data.bytes))
        return COLL_FAR;
    node_set_t *set = slots(comm, &rc);
    return set == NULL ? rc : bcast(set, &data, root);
}

/* A reduction by a kernel. */
typedef struct kernel {
    grp_reduce_t reduce;
    op_kernel_t apply;
} kernel_t;

static void apply(const grp_reduce_t *reduce, const void *in, void *inout, size_t count)
{
    ((const kernel_t *)reduce)->apply(in, inout, count);
}

/* Whether slots are for it: the operation is a predefined one that takes this type. */
static int takes(kernel_t *kernel, const grp_t *grp, MPI_Count count, MPI_Datatype type, MPI_Op op)
{
    dt_type_t *found;
    if ((uintptr_t)op <= OP_FIRST || (uintptr_t)op >= OP_FIRST + OP_NAMED || count < 0 || dt_usable(type, &found) != MPI_SUCCESS ||
        found->basic == NULL)
        return 0;
    *kernel = (kernel_t){.reduce = {.apply = apply, .element = found->extent, .commutes = 1}, .apply = op_find(op, found->basic)};
    return kernel->apply != NULL && node_reduce_fits(grp, (size_t)count, &kernel->reduce);
}

int coll_near_Allreduce(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    const mpi_comm_t *found = comm_of(comm);
    kernel_t kernel;
    int rc;
    if (comm_is_inter(found) || !takes(&kernel, &found->grp, count, datatype, op))
        return COLL_FAR;
    node_set_t *set = slots(comm, &rc);
    if (set == NULL)
        return rc;
    return coll_result(node_allreduce(set, sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, recvbuf, (size_t)count, &kernel.reduce));
}

int coll_near_Reduce(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                     MPI_Comm comm)
{
    const mpi_comm_t *found = comm_of(comm);
    kernel_t kernel;
    int rc;
    if (comm_is_inter(found) || (sendbuf == MPI_IN_PLACE && found->ranks->rank != root) ||
        !takes(&kernel, &found->grp, count, datatype, op))
        return COLL_FAR;
    node_set_t *set = slots(comm, &rc);
    if (set == NULL)
        return rc;
    return coll_result(node_reduce(set, sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, recvbuf, (size_t)count, &kernel.reduce, root));
}
