/* SPDX-License-Identifier: Apache-2.0
 * split.c - communicators out of communicators: dup, split, free.
 */
#include "comm/attr.h"

#include <stdlib.h>
#include <string.h>

#include "err/err.h"
#include "mpi_impl.h"

int mpi_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    mpi_comm_t *parent = comm_of(comm);
    parent->ranks->refs++;
    int rc = comm_create(parent, &parent->grp, parent->ranks, newcomm);
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

typedef struct entry {
    int color;
    int key;
    int rank;
} entry_t;

static int by_key(const void *a, const void *b)
{
    const entry_t *left = a;
    const entry_t *right = b;
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

/* Those of my colour by key, equal keys by rank; NULL: no memory left. */
static rt_group_t *group_of_color(const mpi_comm_t *parent, entry_t *entries, int color)
{
    const int size = parent->ranks->size;
    int *members = malloc((size_t)size * sizeof(*members));
    int count = 0;
    if (members == NULL)
        return NULL;
    for (int i = 0; i < size; i++)
        if (entries[i].color == color)
            entries[count++] = entries[i];
    qsort(entries, (size_t)count, sizeof(*entries), by_key);
    for (int i = 0; i < count; i++)
        members[i] = rt_group_world(parent->ranks, entries[i].rank);
    rt_group_t *group = rt_group_create(members, color == MPI_UNDEFINED ? 0 : count);
    free(members);
    return group;
}

int mpi_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    mpi_comm_t *parent = comm_of(comm);
    const int rank = parent->ranks->rank;
    if (color < 0 && color != MPI_UNDEFINED)
        return err_set(MPI_ERR_ARG, "color %d is negative and not MPI_UNDEFINED", color);
    entry_t *entries = calloc((size_t)parent->ranks->size, sizeof(*entries));
    if (entries == NULL)
        return err_set(MPI_ERR_NO_MEM, "split of a communicator: no memory left");
    const grp_blocks_t blocks = {
        .base = entries, .offset = entry_offset, .length = entry_length, .unit = sizeof(entry_t)};
    entries[rank] = (entry_t){.color = color, .key = key, .rank = rank};
    const int rc = grp_allgather(&parent->grp, &blocks);
    if (rc < 0) {
        free(entries);
        return err_core((vbn_status_t)rc, "split of a communicator", grp_error());
    }
    rt_group_t *group = group_of_color(parent, entries, color);
    free(entries);
    return comm_create(parent, &parent->grp, group, newcomm);
}

/* The one resource that the guided types know is the node's memory. */
static int wants_node(MPI_Info info)
{
    char resource[MPI_MAX_INFO_VAL];
    int room = sizeof(resource);
    int found = 0;
    if (info == MPI_INFO_NULL || mpi_Info_get_string(info, "mpi_hw_resource_type", &room, resource, &found) != 0)
        return 0;
    return found && strcmp(resource, "mpi_shared_memory") == 0;
}

/* By node, as the launcher tells. */
int mpi_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm)
{
    int color = MPI_UNDEFINED;
    switch (split_type) {
    case MPI_COMM_TYPE_SHARED: color = rt.pmi.node; break;
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_RESOURCE_GUIDED: color = wants_node(info) ? rt.pmi.node : MPI_UNDEFINED; break;
    case MPI_COMM_TYPE_HW_UNGUIDED: /* a node has no parts that we know of */
    case MPI_UNDEFINED: break;
    default: return err_set(MPI_ERR_ARG, "split_type %d is none", split_type);
    }
    return mpi_Comm_split(comm, color, key, newcomm);
}
