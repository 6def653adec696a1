/* SPDX-License-Identifier: Apache-2.0
 * near.c - blocking collectives of ranks that share a node, over slots of its memory (grp/node.h), without a schedule, or
 * with one for the first ranks of several nodes (grp/levels.h).
 * coll_near_NAME is asked before coll_NAME; COLL_FAR: it is one for a schedule. What decides is the same at all ranks: the
 * communicator, the bytes of the signature, whether the operation is a predefined one. Arguments that are wrong are left to
 * coll_NAME, too.
 */
#include "coll/near.h"

#include <stdlib.h>

#include "mpi_impl.h"

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

int near_ready_for_pieces(near_t *near)
{
    const int ready = node_pieces_ready(near->here->node);
    if (ready < 0 && near_is_one_node(near))
        return coll_result(ready);
    return ready > 0 ? MPI_SUCCESS : COLL_FAR;
}

int coll_near_Barrier(MPI_Comm comm)
{
    near_t near;
    int rc = near_find(&near, comm);
    if (rc != MPI_SUCCESS || !near_takes_levels(&near, TABLE_BARRIER_LEVELS, 0) ||
        !table_is_few(TABLE_BARRIER, grp_size(near.here), grp_nodes(near.all), 0))
        return COLL_FAR;
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

/* Two ranks of a node with much data. */
static int bcast_large(near_t *near, const dt_data_t *data, int root)
{
    node_set_t *set = near->here->node;
    const int gives = grp_rank(near->all) == root;
    void *packed = data->type == NULL ? NULL : malloc(data->bytes);
    if (data->type != NULL && packed == NULL) {
        node_break(set, grp_fail(VBN_ERR_NO_MEMORY, "no memory left for data that is not one piece"));
        return coll_result(set->status);
    }
    if (packed != NULL && gives)
        dt_pack(data, 0, packed, data->bytes);
    const int rc = coll_result(node_bcast_large(set, packed != NULL ? packed : data->base, data->bytes, root));
    if (packed != NULL && !gives && rc == MPI_SUCCESS)
        dt_unpack(data, 0, packed, data->bytes);
    free(packed);
    return rc;
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
        !near_takes_levels(&near, TABLE_BCAST_LEVELS, data.bytes))
        return COLL_FAR;
    const int is_few = grp_choose(&near.all->call, GRP_SLOTS, node_bcast_fits(near.here, data.bytes), data.bytes);
    if (!is_few && !near_is_measured(&near, TABLE_BCAST_LARGE, data.bytes))
        return COLL_FAR;
    rc = near_ready(&near);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!is_few)
        return bcast_large(&near, &data, root);
    return data.type != NULL ? bcast_packed(&near, &data, root) : bcast_bytes(&near, data.base, data.bytes, root);
}
