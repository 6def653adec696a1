/* SPDX-License-Identifier: Apache-2.0
 * move.c - collectives with a root or one buffer that move data: barrier, bcast, gather(v), scatter(v), allgather(v).
 * Arguments that do not count at a rank (other than the root, MPI_IN_PLACE) are not looked at there.
 */
#include "coll/coll.h"
#include "err/err.h"
#include "mpi_impl.h"

int coll_Barrier(coll_t *coll, MPI_Comm comm)
{
    (void)comm;
    steps_barrier(coll->sched);
    return MPI_SUCCESS;
}

int coll_Bcast(coll_t *coll, void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    coll_part_t part;
    const int rc = coll_part(coll, &part, buffer, count, datatype);
    (void)comm;
    if (rc != MPI_SUCCESS)
        return rc;
    if (coll_is_root(coll, root))
        coll_pack(coll, &part);
    steps_bcast(coll->sched, part.at, part.length, root);
    if (!coll_is_root(coll, root))
        coll_unpack(coll, &part);
    return MPI_SUCCESS;
}

/* This rank's side of what has one part at each rank and all at the root; in place it is there already. */
static int own_part(coll_t *coll, coll_part_t *mine, const void *buffer, MPI_Count count, MPI_Datatype type, int root,
                    const char *name)
{
    *mine = (coll_part_t){0};
    if (buffer != MPI_IN_PLACE)
        return coll_part(coll, mine, buffer, count, type);
    return coll_is_root(coll, root)
               ? MPI_SUCCESS
               : err_set(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE at a rank that is not the root", name);
}

typedef void (*gather_t)(sched_t *sched, const void *mine, size_t length, const grp_blocks_t *blocks, int root);
typedef void (*scatter_t)(sched_t *sched, const grp_blocks_t *blocks, void *mine, size_t length, int root);

static int gather(coll_t *coll, gather_t steps, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                  const coll_parts_t *parts, int root)
{
    coll_part_t mine;
    const int rc = own_part(coll, &mine, sendbuf, sendcount, sendtype, root, "sendbuf");
    if (rc != MPI_SUCCESS)
        return rc;
    coll_pack(coll, &mine);
    steps(coll->sched, mine.at, mine.length, &parts->blocks, root);
    coll_unpack_all(coll, parts, sendbuf == MPI_IN_PLACE ? root : COLL_ALL);
    return MPI_SUCCESS;
}

int coll_Gather(coll_t *coll, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    coll_parts_t parts = {0};
    const int rc = coll_is_root(coll, root)
                       ? coll_consecutive(coll, &parts, coll_size(coll), recvbuf, NULL, recvcount, recvtype)
                       : MPI_SUCCESS;
    (void)comm;
    return rc != MPI_SUCCESS ? rc : gather(coll, steps_gather_each, sendbuf, sendcount, sendtype, &parts, root);
}

int coll_Gatherv(coll_t *coll, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                 const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    coll_parts_t parts = {0};
    const int rc = coll_is_root(coll, root)
                       ? coll_varying(coll, &parts, coll_size(coll), recvbuf, recvcounts, displs, recvtype)
                       : MPI_SUCCESS;
    (void)comm;
    return rc != MPI_SUCCESS ? rc : gather(coll, steps_gather, sendbuf, sendcount, sendtype, &parts, root);
}

static int scatter(coll_t *coll, scatter_t steps, const coll_parts_t *parts, void *recvbuf, MPI_Count recvcount,
                   MPI_Datatype recvtype, int root)
{
    coll_part_t mine;
    const int rc = own_part(coll, &mine, recvbuf, recvcount, recvtype, root, "recvbuf");
    if (rc != MPI_SUCCESS)
        return rc;
    coll_pack_all(coll, parts);
    steps(coll->sched, &parts->blocks, mine.at, mine.length, root);
    coll_unpack(coll, &mine);
    return MPI_SUCCESS;
}

int coll_Scatter(coll_t *coll, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                 MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    coll_parts_t parts = {0};
    const int rc = coll_is_root(coll, root)
                       ? coll_consecutive(coll, &parts, coll_size(coll), sendbuf, NULL, sendcount, sendtype)
                       : MPI_SUCCESS;
    (void)comm;
    return rc != MPI_SUCCESS ? rc : scatter(coll, steps_scatter_each, &parts, recvbuf, recvcount, recvtype, root);
}

int coll_Scatterv(coll_t *coll, const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                  MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                  MPI_Comm comm)
{
    coll_parts_t parts = {0};
    const int rc = coll_is_root(coll, root)
                       ? coll_varying(coll, &parts, coll_size(coll), sendbuf, sendcounts, displs, sendtype)
                       : MPI_SUCCESS;
    (void)comm;
    return rc != MPI_SUCCESS ? rc : scatter(coll, steps_scatter, &parts, recvbuf, recvcount, recvtype, root);
}

/* Puts this rank's part where the others' come. */
static int allgather(coll_t *coll, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                     const coll_parts_t *parts)
{
    const coll_part_t *place = &parts->part[sched_rank(coll->sched)];
    coll_part_t mine;
    const int in_place = sendbuf == MPI_IN_PLACE;
    const int rc = in_place ? MPI_SUCCESS : coll_part(coll, &mine, sendbuf, sendcount, sendtype);
    if (rc != MPI_SUCCESS)
        return rc;
    coll_pack(coll, in_place ? place : &mine);
    if (!in_place)
        steps_own(coll->sched, place->at, place->length, mine.at, mine.length);
    steps_allgather(coll->sched, &parts->blocks);
    coll_unpack_all(coll, parts, in_place ? sched_rank(coll->sched) : COLL_ALL);
    return MPI_SUCCESS;
}

int coll_Allgather(coll_t *coll, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                   MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    coll_parts_t parts;
    const int rc = coll_consecutive(coll, &parts, coll_size(coll), recvbuf, NULL, recvcount, recvtype);
    (void)comm;
    return rc != MPI_SUCCESS ? rc : allgather(coll, sendbuf, sendcount, sendtype, &parts);
}

int coll_Allgatherv(coll_t *coll, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                    const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm)
{
    coll_parts_t parts;
    const int rc = coll_varying(coll, &parts, coll_size(coll), recvbuf, recvcounts, displs, recvtype);
    (void)comm;
    return rc != MPI_SUCCESS ? rc : allgather(coll, sendbuf, sendcount, sendtype, &parts);
}
