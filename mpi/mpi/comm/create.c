/* SPDX-License-Identifier: Apache-2.0
 * create.c - groups of communicators, communicators of groups.
 */
#include "comm/comm.h"

#include "comm/inter.h"
#include "err/err.h"
#include "group/group.h"
#include "mpi_impl.h"

int mpi_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    rt_group_t *ranks = comm_of(comm)->ranks;
    ranks->refs++;
    return group_make(ranks, comm_of(comm)->session, group);
}

int mpi_Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
    mpi_comm_t *found = comm_of(comm);
    if (!comm_is_inter(found))
        return err_set(MPI_ERR_COMM, "comm is an intracommunicator: it has no remote group");
    found->peers->refs++;
    return group_make(found->peers, found->session, group);
}

/* The group behind a handle, whose ranks must all be in comm; counted once more for the caller. */
static int members(MPI_Group group, const mpi_comm_t *parent, rt_group_t **ranks_p)
{
    const int rc = group_find(group, "group", ranks_p);
    if (rc != MPI_SUCCESS)
        return rc;
    for (int i = 0; i < (*ranks_p)->size; i++)
        if (rt_group_find(parent->ranks, rt_group_world(*ranks_p, i)) < 0)
            return err_set(MPI_ERR_GROUP, "rank %d of the group is not in comm", i);
    (*ranks_p)->refs++;
    return MPI_SUCCESS;
}

/* Every rank of comm calls; those that are not in the group get MPI_COMM_NULL, as do all of an intercommunicator when a
 * side of the new one is empty. */
int mpi_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    mpi_comm_t *parent = comm_of(comm);
    rt_group_t *ranks;
    const int rc = members(group, parent, &ranks);
    if (rc != MPI_SUCCESS)
        return rc;
    return comm_is_inter(parent) ? inter_create(parent, ranks, newcomm)
                                 : comm_create(parent, &parent->grp, ranks, newcomm);
}

/* Only the ranks of the group call. Their messages have the user's tag, so that calls of several threads do not mix (G4). */
int mpi_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    mpi_comm_t *parent = comm_of(comm);
    rt_group_t *ranks;
    const int rc = members(group, parent, &ranks);
    if (rc != MPI_SUCCESS)
        return rc;
    grp_t grp = {.ranks = ranks,
                 .base = comm_tag(parent, COMM_TAG_CREATE, (uint32_t)tag),
                 .one_tag = 1,
                 .call.name = "MPI_Comm_create_group"};
    if (ranks->rank >= 0)
        return comm_create_once(parent, &grp, ranks, newcomm);
    rt_group_release(ranks);
    *newcomm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}
