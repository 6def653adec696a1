/* SPDX-License-Identifier: Apache-2.0
 * split.c - communicators out of communicators: dup, split, disconnect, free.
 */
#include "comm/attr.h"

#include <stdlib.h>
#include <string.h>

#include "comm/inter.h"
#include "comm/topo.h"
#include "err/err.h"
#include "mpi_impl.h"

static int copy_intra(mpi_comm_t *parent, MPI_Comm *newcomm)
{
    const int rc = comm_create(parent, &parent->grp, parent->ranks, newcomm);
    if (rc == MPI_SUCCESS && parent->topo != NULL) {
        parent->topo->refs++;
        comm_of(*newcomm)->topo = parent->topo;
    }
    return rc;
}

static int copy(mpi_comm_t *parent, MPI_Comm *newcomm)
{
    parent->ranks->refs++;
    if (!comm_is_inter(parent))
        return copy_intra(parent, newcomm);
    const comm_bridge_t bridge = inter_bridge(parent);
    parent->peers->refs++;
    return comm_create_over(parent, &bridge, parent->ranks, parent->peers, newcomm);
}

int mpi_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    mpi_comm_t *parent = comm_of(comm);
    int rc = copy(parent, newcomm);
    if (rc == MPI_SUCCESS && (rc = attr_copy(parent, comm_of(*newcomm))) != MPI_SUCCESS) {
        (void)attr_delete_all(comm_of(*newcomm));
        comm_release(comm_of(*newcomm));
        *newcomm = MPI_COMM_NULL;
    }
    return rc;
}

int mpi_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    const int rc = mpi_Comm_dup(comm, newcomm);
    return rc != MPI_SUCCESS ? rc : mpi_Comm_set_info(*newcomm, info);
}

int mpi_Comm_free(MPI_Comm *comm)
{
    if (obj_is_predefined(*comm) || comm_of(*comm) == NULL)
        return err_set(MPI_ERR_COMM, "comm is %s: only communicators that the program has made can be freed",
                       comm_of(*comm) == NULL ? "not a communicator" : comm_of(*comm)->name);
    const int rc = attr_delete_all(comm_of(*comm));
    if (rc != MPI_SUCCESS) {
        err_on(*comm);
        return rc;
    }
    comm_release(comm_of(*comm));
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

/* Every rank is here, of both groups, and has received what was sent to it. */
static int meet(mpi_comm_t *comm)
{
    const int mine = 0;
    int theirs;
    rt_flush();
    const int status = grp_barrier(&comm->grp);
    if (status < 0)
        return err_core((vbn_status_t)status, "disconnecting a communicator", grp_error());
    const comm_bridge_t bridge = inter_bridge(comm);
    return comm_is_inter(comm) ? comm_exchange(&bridge, &mine, sizeof(mine), &theirs, sizeof(theirs)) : MPI_SUCCESS;
}

int mpi_Comm_disconnect(MPI_Comm *comm)
{
    if (!obj_is_predefined(*comm) && comm_of(*comm) != NULL) {
        const int rc = meet(comm_of(*comm));
        if (rc != MPI_SUCCESS) {
            err_on(*comm);
            return rc;
        }
    }
    return mpi_Comm_free(comm);
}

/* What a rank asks for by MPI_Comm_split. */
typedef struct split_entry {
    int color;
    int key;
    int rank;
} split_entry_t;

static int by_key(const void *a, const void *b)
{
    const split_entry_t *left = a;
    const split_entry_t *right = b;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return left->rank - right->rank;
}

static size_t entry_offset(const grp_blocks_t *blocks, int rank)
{
    return (size_t)rank * blocks->unit;
}

static size_t entry_length(const grp_blocks_t *blocks, int rank)
{
    (void)rank;
    return blocks->unit;
}

/* Those of a colour by key, equal keys by rank, out of one entry per rank of parent, which it sorts; NULL: no memory
 * left. */
static rt_group_t *split_group(const rt_group_t *parent, split_entry_t *entries, int color)
{
    const int size = parent->size;
    int *members = malloc((size_t)size * sizeof(*members));
    int count = 0;
    if (members == NULL)
        return NULL;
    for (int i = 0; i < size; i++)
        if (entries[i].color == color)
            entries[count++] = entries[i];
    qsort(entries, (size_t)count, sizeof(*entries), by_key);
    for (int i = 0; i < count; i++)
        members[i] = rt_group_world(parent, entries[i].rank);
    rt_group_t *group = rt_group_create(members, color == MPI_UNDEFINED ? 0 : count);
    free(members);
    return group;
}

/* What each rank of the local group has asked for. */
static int split_entries(mpi_comm_t *parent, const split_entry_t *mine, split_entry_t **entries_p)
{
    split_entry_t *entries = calloc((size_t)parent->ranks->size, sizeof(*entries));
    if (entries == NULL)
        return err_set(MPI_ERR_NO_MEM, "split of a communicator: no memory left");
    const grp_blocks_t blocks = {
        .base = entries, .offset = entry_offset, .length = entry_length, .unit = sizeof(split_entry_t)};
    entries[mine->rank] = *mine;
    const int rc = grp_allgather(&parent->grp, &blocks);
    if (rc < 0) {
        free(entries);
        return err_core((vbn_status_t)rc, "split of a communicator", grp_error());
    }
    *entries_p = entries;
    return MPI_SUCCESS;
}

/* entries: of the local group; taken over. */
static int split_both(mpi_comm_t *parent, split_entry_t *entries, int color, MPI_Comm *newcomm)
{
    const comm_bridge_t bridge = inter_bridge(parent);
    const size_t length = (size_t)parent->ranks->size * sizeof(*entries);
    const size_t their_length = (size_t)parent->peers->size * sizeof(*entries);
    split_entry_t *theirs = malloc(their_length);
    int rc = theirs == NULL ? err_set(MPI_ERR_NO_MEM, "split of a communicator: no memory left")
                            : comm_exchange(&bridge, entries, length, theirs, their_length);
    rt_group_t *ranks = rc == MPI_SUCCESS ? split_group(parent->ranks, entries, color) : NULL;
    rt_group_t *peers = rc == MPI_SUCCESS ? split_group(parent->peers, theirs, color) : NULL;
    free(entries);
    free(theirs);
    return rc != MPI_SUCCESS ? rc : comm_create_over(parent, &bridge, ranks, peers, newcomm);
}

int mpi_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    mpi_comm_t *parent = comm_of(comm);
    if (color < 0 && color != MPI_UNDEFINED)
        return err_set(MPI_ERR_ARG, "color %d is negative and not MPI_UNDEFINED", color);
    const split_entry_t mine = {.color = color, .key = key, .rank = parent->ranks->rank};
    split_entry_t *entries = NULL;
    const int rc = split_entries(parent, &mine, &entries);
    if (rc != MPI_SUCCESS || comm_is_inter(parent))
        return rc != MPI_SUCCESS ? rc : split_both(parent, entries, color, newcomm);
    rt_group_t *group = split_group(parent->ranks, entries, color);
    free(entries);
    return comm_create(parent, &parent->grp, group, newcomm);
}

/* The one resource that the guided types know is the node's memory. */
static int wants_node(MPI_Info info)
{
    char resource[MPI_MAX_INFO_VAL];
    int room = sizeof(resource);
    int found = 0;
    if (info == MPI_INFO_NULL)
        return 0;
    obj_lock();
    const int rc = mpi_Info_get_string(info, "mpi_hw_resource_type", &room, resource, &found);
    obj_unlock();
    return rc == MPI_SUCCESS && found && strcmp(resource, "mpi_shared_memory") == 0;
}

/* By node, as the launcher tells, else as the ranks find out: also those that give MPI_UNDEFINED, as no rank knows what the others
 * give. */
int mpi_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm)
{
    int node = rt.pmi.node;
    int color = MPI_UNDEFINED;
    const int rc = rt.pmi.mapping == NULL ? comm_host(comm_of(comm), &node) : MPI_SUCCESS;
    if (rc != MPI_SUCCESS)
        return rc;
    switch (split_type) {
    case MPI_COMM_TYPE_SHARED: color = node; break;
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_RESOURCE_GUIDED: color = wants_node(info) ? node : MPI_UNDEFINED; break;
    case MPI_COMM_TYPE_HW_UNGUIDED: /* a node has no parts that we know of */
    case MPI_UNDEFINED: break;
    default: return err_set(MPI_ERR_ARG, "split_type %d is none", split_type);
    }
    return mpi_Comm_split(comm, color, key, newcomm);
}
