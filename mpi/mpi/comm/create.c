/* SPDX-License-Identifier: Apache-2.0
 * create.c - groups of communicators, communicators of groups.
 */
#include "comm/comm.h"

#include "err/err.h"
#include "group/group.h"
#include "mpi_impl.h"

int mpi_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    rt_group_t *ranks = comm_of(comm)->ranks;
    ranks->refs++;
    return group_make(ranks, group);
}

/* Every rank of comm calls; those that are not in the group get MPI_COMM_NULL. */
int mpi_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    mpi_comm_t *parent = comm_of(comm);
    rt_group_t *ranks;
    const int rc = group_find(group, "group", &ranks);
    if (rc != MPI_SUCCESS)
        return rc;
    for (int i = 0; i < ranks->size; i++)
        if (rt_group_find(parent->ranks, rt_group_world(ranks, i)) < 0)
            return err_set(MPI_ERR_GROUP, "rank %d of the group is not in comm", i);
    if (ranks->size == 0) /* its empty group is not counted */
        ranks = rt_group_range(0, 1, 0);
    else
        ranks->refs++;
    return comm_create(parent, ranks, newcomm);
}
