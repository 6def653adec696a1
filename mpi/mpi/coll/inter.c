/* SPDX-License-Identifier: Apache-2.0
 * inter.c - collectives on intercommunicators that move data: each group gets what the other one has. What is the same
 * for a whole group goes from leader to leader (its first rank) and on by a broadcast; what differs goes straight to
 * its rank. MPI_IN_PLACE has no meaning here.
 */
#include "coll/inter.h"

#include "err/err.h"
#include "mpi_impl.h"

#define WINDOW 32 /* messages of a rank in each direction that are in flight at a time */

int inter_no_place(const void *buffer, const char *name)
{
    return buffer != MPI_IN_PLACE ? MPI_SUCCESS
                                  : err_set(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE on an intercommunicator", name);
}

void inter_swap(coll_t *coll, const void *mine, void *theirs, size_t length)
{
    if (sched_rank(coll->sched) != 0)
        return;
    sched_recv_from(coll->sched, coll->comm->peers, 0, theirs, length);
    sched_send_to(coll->sched, coll->comm->peers, 0, mine, length);
    sched_wait(coll->sched, 0);
}

static int remote_size(const coll_t *coll)
{
    return coll->comm->peers->size;
}

/* A part from each rank of the remote group, and one to each; NULL: none. Beginning with another one at each rank. */
static void with_all(coll_t *coll, const coll_parts_t *send, const coll_parts_t *receive)
{
    const rt_group_t *peers = coll->comm->peers;
    const size_t directions = (size_t)(send != NULL) + (receive != NULL);
    for (int i = 0; i < peers->size; i++) {
        const int other = (sched_rank(coll->sched) + i) % peers->size;
        if (receive != NULL)
            sched_recv_from(coll->sched, peers, other, receive->part[other].at, receive->part[other].length);
        if (send != NULL)
            sched_send_to(coll->sched, peers, other, send->part[other].at, send->part[other].length);
        if (i >= WINDOW)
            sched_wait(coll->sched, directions * (WINDOW - 1));
    }
    sched_wait(coll->sched, 0);
}

int coll_inter_Barrier(coll_t *coll, MPI_Comm comm)
{
    (void)comm;
    steps_barrier(coll->sched);
    inter_swap(coll, NULL, NULL, 0);
    steps_bcast(coll->sched, NULL, 0, 0);
    return MPI_SUCCESS;
}

int coll_inter_Bcast(coll_t *coll, void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    coll_part_t part;
    const inter_part_t role = inter_part(root);
    const int rc = role == INTER_NONE ? MPI_SUCCESS : coll_part(coll, &part, buffer, count, datatype);
    (void)comm;
    if (rc != MPI_SUCCESS || role == INTER_NONE)
        return rc;
    if (role == INTER_ROOT) {
        coll_pack(coll, &part);
        sched_send_to(coll->sched, coll->comm->peers, 0, part.at, part.length);
        return MPI_SUCCESS;
    }
    if (sched_rank(coll->sched) == 0) {
        sched_recv_from(coll->sched, coll->comm->peers, root, part.at, part.length);
        sched_wait(coll->sched, 0);
    }
    steps_bcast(coll->sched, part.at, part.length, 0);
    coll_unpack(coll, &part);
    return MPI_SUCCESS;
}

/* To the root in the other group. */
static int to_root(coll_t *coll, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int root)
{
    coll_part_t part;
    int rc = inter_no_place(sendbuf, "sendbuf");
    if (rc == MPI_SUCCESS)
        rc = coll_part(coll, &part, sendbuf, sendcount, sendtype);
    if (rc != MPI_SUCCESS)
        return rc;
    coll_pack(coll, &part);
    sched_send_to(coll->sched, coll->comm->peers, root, part.at, part.length);
    return MPI_SUCCESS;
}

static int from_root(coll_t *coll, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root)
{
    coll_part_t part;
    int rc = inter_no_place(recvbuf, "recvbuf");
    if (rc == MPI_SUCCESS)
        rc = coll_part(coll, &part, recvbuf, recvcount, recvtype);
    if (rc != MPI_SUCCESS)
        return rc;
    sched_recv_from(coll->sched, coll->comm->peers, root, part.at, part.length);
    coll_unpack(coll, &part);
    return MPI_SUCCESS;
}

/* Sends these and receives those; rc: of their description. */
static int move(coll_t *coll, int rc, const coll_parts_t *send, const coll_parts_t *receive)
{
    if (rc != MPI_SUCCESS)
        return rc;
    if (send != NULL)
        coll_pack_all(coll, send);
    with_all(coll, send, receive);
    if (receive != NULL)
        coll_unpack_all(coll, receive, COLL_ALL);
    return MPI_SUCCESS;
}

int coll_inter_Gather(coll_t *coll, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    coll_parts_t parts;
    (void)comm;
    if (inter_part(root) == INTER_OTHER_GROUP)
        return to_root(coll, sendbuf, sendcount, sendtype, root);
    if (inter_part(root) == INTER_NONE)
        return MPI_SUCCESS;
    return move(coll, coll_consecutive(coll, &parts, remote_size(coll), recvbuf, NULL, recvcount, recvtype), NULL,
                &parts);
}

int coll_inter_Gatherv(coll_t *coll, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                       const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root,
                       MPI_Comm comm)
{
    coll_parts_t parts;
    (void)comm;
    if (inter_part(root) == INTER_OTHER_GROUP)
        return to_root(coll, sendbuf, sendcount, sendtype, root);
    if (inter_part(root) == INTER_NONE)
        return MPI_SUCCESS;
    return move(coll, coll_varying(coll, &parts, remote_size(coll), recvbuf, recvcounts, displs, recvtype), NULL,
                &parts);
}

int coll_inter_Scatter(coll_t *coll, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    coll_parts_t parts;
    (void)comm;
    if (inter_part(root) == INTER_OTHER_GROUP)
        return from_root(coll, recvbuf, recvcount, recvtype, root);
    if (inter_part(root) == INTER_NONE)
        return MPI_SUCCESS;
    return move(coll, coll_consecutive(coll, &parts, remote_size(coll), sendbuf, NULL, sendcount, sendtype), &parts,
                NULL);
}

int coll_inter_Scatterv(coll_t *coll, const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                        MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                        MPI_Comm comm)
{
    coll_parts_t parts;
    (void)comm;
    if (inter_part(root) == INTER_OTHER_GROUP)
        return from_root(coll, recvbuf, recvcount, recvtype, root);
    if (inter_part(root) == INTER_NONE)
        return MPI_SUCCESS;
    return move(coll, coll_varying(coll, &parts, remote_size(coll), sendbuf, sendcounts, displs, sendtype), &parts,
                NULL);
}

/* The same for every rank of the remote group. */
static int allgather(coll_t *coll, int rc, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                     const coll_parts_t *receive)
{
    coll_part_t mine;
    coll_parts_t send;
    if (rc == MPI_SUCCESS)
        rc = inter_no_place(sendbuf, "sendbuf");
    if (rc == MPI_SUCCESS)
        rc = coll_part(coll, &mine, sendbuf, sendcount, sendtype);
    if (rc == MPI_SUCCESS)
        rc = coll_same(coll, &send, remote_size(coll), &mine);
    return move(coll, rc, &send, receive);
}

int coll_inter_Allgather(coll_t *coll, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                         MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    coll_parts_t receive;
    const int rc = coll_consecutive(coll, &receive, remote_size(coll), recvbuf, NULL, recvcount, recvtype);
    (void)comm;
    return allgather(coll, rc, sendbuf, sendcount, sendtype, &receive);
}

int coll_inter_Allgatherv(coll_t *coll, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                          const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm)
{
    coll_parts_t receive;
    const int rc = coll_varying(coll, &receive, remote_size(coll), recvbuf, recvcounts, displs, recvtype);
    (void)comm;
    return allgather(coll, rc, sendbuf, sendcount, sendtype, &receive);
}

int coll_inter_Alltoall(coll_t *coll, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                        MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    coll_parts_t send;
    coll_parts_t receive;
    int rc = inter_no_place(sendbuf, "sendbuf");
    (void)comm;
    if (rc == MPI_SUCCESS)
        rc = coll_consecutive(coll, &send, remote_size(coll), sendbuf, NULL, sendcount, sendtype);
    if (rc == MPI_SUCCESS)
        rc = coll_consecutive(coll, &receive, remote_size(coll), recvbuf, NULL, recvcount, recvtype);
    return move(coll, rc, &send, &receive);
}

int coll_inter_Alltoallv(coll_t *coll, const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                         MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                         MPI_Datatype recvtype, MPI_Comm comm)
{
    coll_parts_t send;
    coll_parts_t receive;
    int rc = inter_no_place(sendbuf, "sendbuf");
    (void)comm;
    if (rc == MPI_SUCCESS)
        rc = coll_varying(coll, &send, remote_size(coll), sendbuf, sendcounts, sdispls, sendtype);
    if (rc == MPI_SUCCESS)
        rc = coll_varying(coll, &receive, remote_size(coll), recvbuf, recvcounts, rdispls, recvtype);
    return move(coll, rc, &send, &receive);
}

int coll_inter_Alltoallw(coll_t *coll, const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                         const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Count recvcounts[],
                         const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    coll_parts_t send;
    coll_parts_t receive;
    int rc = inter_no_place(sendbuf, "sendbuf");
    (void)comm;
    if (rc == MPI_SUCCESS)
        rc = coll_mixed(coll, &send, remote_size(coll), sendbuf, sendcounts, sdispls, sendtypes);
    if (rc == MPI_SUCCESS)
        rc = coll_mixed(coll, &receive, remote_size(coll), recvbuf, recvcounts, rdispls, recvtypes);
    return move(coll, rc, &send, &receive);
}
