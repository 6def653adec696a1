/* SPDX-License-Identifier: Apache-2.0
 * inter.c - intercommunicators: made out of two groups, merged into one.
 */
#include "comm/inter.h"

#include <stdlib.h>

#include "err/err.h"
#include "mpi_impl.h"

static rt_group_t *of_table(int **table_p, int size)
{
    rt_group_t *group = rt_group_create(*table_p, size);
    free(*table_p);
    *table_p = NULL;
    return group;
}

/* Both sides tell each other who they are: peers become the ranks of the other side. */
static int swap_groups(const comm_bridge_t *bridge, const rt_group_t *ranks, rt_group_t **peers_p)
{
    int size;
    int rc = comm_exchange(bridge, &ranks->size, sizeof(size), &size, sizeof(size));
    if (rc != MPI_SUCCESS)
        return rc;
    int *mine = malloc(((size_t)ranks->size + 1) * sizeof(int));
    int *theirs = malloc(((size_t)size + 1) * sizeof(int));
    if (mine != NULL && theirs != NULL) {
        for (int i = 0; i < ranks->size; i++)
            mine[i] = rt_group_world(ranks, i);
        rc = comm_exchange(bridge, mine, (size_t)ranks->size * sizeof(int), theirs, (size_t)size * sizeof(int));
        *peers_p = rc == MPI_SUCCESS ? of_table(&theirs, size) : NULL;
    }
    if (rc == MPI_SUCCESS && (mine == NULL || *peers_p == NULL))
        rc = err_set(MPI_ERR_NO_MEM, "groups of %d and %d ranks: no memory left", ranks->size, size);
    free(mine);
    free(theirs);
    return rc;
}

int inter_create_over(const mpi_comm_t *parent, const comm_bridge_t *bridge, rt_group_t *ranks, MPI_Comm *newcomm)
{
    rt_group_t *peers = NULL;
    int rc = swap_groups(bridge, ranks, &peers);
    for (int i = 0; rc == MPI_SUCCESS && i < ranks->size; i++)
        if (rt_group_find(peers, rt_group_world(ranks, i)) >= 0)
            rc = err_set(MPI_ERR_COMM, "rank %d of the local group is in the remote group, too", i);
    if (rc == MPI_SUCCESS)
        return comm_create_over(parent, bridge, ranks, peers, newcomm);
    rt_group_release(peers);
    rt_group_release(ranks);
    return rc;
}

int inter_create(mpi_comm_t *parent, rt_group_t *ranks, MPI_Comm *newcomm)
{
    const comm_bridge_t bridge = inter_bridge(parent);
    return inter_create_over(parent, &bridge, ranks, newcomm);
}

/* What the leader alone gives: its own arguments are looked at before anybody else waits for it. */
static int check_leader(const mpi_comm_t *peer, int remote_leader)
{
    if (peer == NULL)
        return err_set(MPI_ERR_COMM, "peer_comm is not a communicator");
    if (remote_leader < 0 || remote_leader >= peer->peers->size)
        return err_set(MPI_ERR_RANK, "remote_leader is %d, but the ranks of peer_comm are 0 to %d", remote_leader,
                       peer->peers->size - 1);
    return MPI_SUCCESS;
}

int mpi_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag,
                         MPI_Comm *newintercomm)
{
    mpi_comm_t *local = comm_of(local_comm);
    grp_t between = {0};
    comm_bridge_t bridge = {
        .local = &local->grp, .between = &between, .leader = local_leader, .remote_leader = remote_leader};
    if (local_leader < 0 || local_leader >= local->ranks->size)
        return err_set(MPI_ERR_RANK, "local_leader is %d, but the ranks of local_comm are 0 to %d", local_leader,
                       local->ranks->size - 1);
    if (local->ranks->rank == local_leader) {
        const mpi_comm_t *peer = comm_of(peer_comm);
        const int rc = check_leader(peer, remote_leader);
        if (rc != MPI_SUCCESS)
            return rc;
        between = (grp_t){.ranks = peer->peers, .base = comm_tag(peer, COMM_TAG_JOIN, (uint32_t)tag), .one_tag = 1};
    }
    local->ranks->refs++;
    return inter_create_over(local, &bridge, local->ranks, newintercomm);
}

/* NULL: no memory left. */
static rt_group_t *union_of(const rt_group_t *first, const rt_group_t *second)
{
    const int size = first->size + second->size;
    int *ranks = malloc((size_t)size * sizeof(*ranks));
    if (ranks == NULL)
        return NULL;
    for (int i = 0; i < first->size; i++)
        ranks[i] = rt_group_world(first, i);
    for (int i = 0; i < second->size; i++)
        ranks[first->size + i] = rt_group_world(second, i);
    return of_table(&ranks, size);
}

/* The side that says high comes second; when both say the same, the side whose first rank is lower in the job is first. */
int mpi_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *newintracomm)
{
    mpi_comm_t *parent = comm_of(intercomm);
    if (!comm_is_inter(parent))
        return err_set(MPI_ERR_COMM, "intercomm is an intracommunicator");
    const comm_bridge_t bridge = inter_bridge(parent);
    const int mine = high != 0;
    int theirs = 0;
    const int rc = comm_exchange(&bridge, &mine, sizeof(mine), &theirs, sizeof(theirs));
    if (rc != MPI_SUCCESS)
        return rc;
    const int lower = rt_group_world(parent->ranks, 0) < rt_group_world(parent->peers, 0);
    const int is_first = mine != theirs ? !mine : lower;
    rt_group_t *ranks = is_first ? union_of(parent->ranks, parent->peers) : union_of(parent->peers, parent->ranks);
    return comm_create_over(parent, &bridge, ranks, ranks, newintracomm);
}
