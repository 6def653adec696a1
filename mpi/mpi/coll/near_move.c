/* SPDX-License-Identifier: Apache-2.0
 * near_move.c - blocking gather, scatter, allgather and alltoall of small blocks within a node, as near.c. That each takes
 * slots follows from the bytes of a block, which all ranks know alike.
 */
#include <stdlib.h>
#include <string.h>

#include "coll/near.h"
#include "err/err.h"
#include "mpi_impl.h"

/* A buffer of one block for each rank, or of one block. */
typedef struct side {
    dt_data_t data;  /* the first block */
    MPI_Aint stride; /* bytes from one to the next; 0: there is one */
} side_t;

/* The two sides of this rank; what does not count at this rank is zero. */
typedef struct move {
    node_blocks_t blocks;
    side_t send;
    side_t receive;
    int in_place; /* rank whose block is where it is taken to; -1: none */
} move_t;

static dt_data_t block(const side_t *side, int rank)
{
    dt_data_t data = side->data;
    data.base = (void *)((uintptr_t)data.base + (uintptr_t)(side->stride * rank));
    return data;
}

static void give(const node_blocks_t *blocks, int rank, void *to)
{
    const dt_data_t data = block(&((const move_t *)blocks)->send, rank);
    if (data.type != NULL)
        dt_pack(&data, 0, to, data.bytes);
    else if (data.bytes > 0)
        memcpy(to, data.base, data.bytes);
}

static void take(const node_blocks_t *blocks, int rank, const void *from)
{
    const move_t *move = (const move_t *)blocks;
    const dt_data_t data = block(&move->receive, rank);
    if (rank == move->in_place)
        return;
    if (data.type != NULL)
        dt_unpack(&data, 0, from, data.bytes);
    else if (data.bytes > 0)
        memcpy(data.base, from, data.bytes);
}

static int side(side_t *side, const void *buffer, MPI_Count count, MPI_Datatype type, int many)
{
    dt_type_t *found;
    if (dt_describe(&side->data, buffer, count, type) != MPI_SUCCESS || dt_usable(type, &found) != MPI_SUCCESS)
        return COLL_FAR;
    if (many && __builtin_mul_overflow((MPI_Aint)found->extent, (MPI_Aint)count, &side->stride))
        return COLL_FAR;
    return MPI_SUCCESS;
}

/* Arguments of a buffer. */
typedef struct args {
    const void *buffer;
    MPI_Count count;
    MPI_Datatype type;
} args_t;

/* NULL: that side does not count at this rank. */
static int sides(move_t *move, const args_t *send, int send_many, const args_t *receive, int receive_many)
{
    *move = (move_t){.blocks = {.give = give, .take = take}, .in_place = -1};
    int rc = send == NULL ? MPI_SUCCESS : side(&move->send, send->buffer, send->count, send->type, send_many);
    if (rc == MPI_SUCCESS && receive != NULL)
        rc = side(&move->receive, receive->buffer, receive->count, receive->type, receive_many);
    move->blocks.length = send != NULL ? move->send.data.bytes : move->receive.data.bytes;
    move->blocks.taken = receive != NULL ? move->receive.data.bytes : move->blocks.length;
    return rc == MPI_SUCCESS ? rc : COLL_FAR;
}

static int is_few(const move_t *move, const near_t *near, table_row_t row)
{
    const int at_once = row == TABLE_SCATTER || row == TABLE_ALLTOALL ? grp_size(near->all)
                                                                      : 1; /* blocks that a rank gives */
    const int fits = node_blocks_fit(near->all, row, move->blocks.length * (size_t)at_once);
    return grp_choose(&near->all->call, GRP_SLOTS, fits, move->blocks.length);
}

static int open(move_t *move, const near_t *near, const args_t *send, int send_many, const args_t *receive,
                int receive_many, table_row_t row)
{
    const int rc = sides(move, send, send_many, receive, receive_many);
    return rc == MPI_SUCCESS && is_few(move, near, row) ? MPI_SUCCESS : COLL_FAR;
}

int coll_near_Gather(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                     MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    const args_t send = {sendbuf, sendcount, sendtype};
    const args_t receive = {recvbuf, recvcount, recvtype};
    near_t near;
    move_t move;
    int rc = near_find(&near, comm);
    if (rc != MPI_SUCCESS)
        return rc;
    const int is_root = grp_rank(near.all) == root;
    const int in_place = is_root && sendbuf == MPI_IN_PLACE;
    if (!is_root && sendbuf == MPI_IN_PLACE)
        return COLL_FAR;
    rc = open(&move, &near, in_place ? &receive : &send, in_place, is_root ? &receive : NULL, 1, TABLE_GATHER);
    if (rc == MPI_SUCCESS)
        rc = near_ready(&near);
    if (in_place)
        move.in_place = root;
    return rc != MPI_SUCCESS ? rc : coll_result(node_gather(near.here->node, &move.blocks, root));
}

int coll_near_Scatter(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    const args_t send = {sendbuf, sendcount, sendtype};
    const args_t receive = {recvbuf, recvcount, recvtype};
    near_t near;
    move_t move;
    int rc = near_find(&near, comm);
    if (rc != MPI_SUCCESS)
        return rc;
    const int is_root = grp_rank(near.all) == root;
    const int in_place = is_root && recvbuf == MPI_IN_PLACE;
    if (!is_root && recvbuf == MPI_IN_PLACE)
        return COLL_FAR;
    rc = open(&move, &near, is_root ? &send : NULL, 1, in_place ? NULL : &receive, 0, TABLE_SCATTER);
    if (rc == MPI_SUCCESS)
        rc = near_ready(&near);
    if (in_place)
        move.in_place = root;
    return rc != MPI_SUCCESS ? rc : coll_result(node_scatter(near.here->node, &move.blocks, root));
}

int coll_near_Allgather(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                        MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    const args_t send = {sendbuf, sendcount, sendtype};
    const args_t receive = {recvbuf, recvcount, recvtype};
    const int in_place = sendbuf == MPI_IN_PLACE;
    near_t near;
    move_t move;
    int rc = near_find(&near, comm);
    if (rc == MPI_SUCCESS)
        rc = open(&move, &near, in_place ? &receive : &send, in_place, &receive, 1, TABLE_ALLGATHER);
    if (rc == MPI_SUCCESS)
        rc = near_ready(&near);
    if (rc != MPI_SUCCESS)
        return rc;
    if (in_place)
        move.in_place = grp_rank(near.all);
    return coll_result(node_allgather(near.here->node, &move.blocks));
}

/* Its own block. */
static int keep_own(const move_t *move, int rank)
{
    const dt_data_t from = block(&move->send, rank);
    const dt_data_t to = block(&move->receive, rank);
    void *apart = from.type != NULL && to.type != NULL ? malloc(from.bytes) : NULL;
    if (from.type != NULL && to.type != NULL && apart == NULL)
        return err_set(MPI_ERR_NO_MEM, "alltoall: no memory left for %zu bytes", from.bytes);
    void *at = apart != NULL ? apart : from.type == NULL ? from.base : to.base;
    if (from.type != NULL)
        give(&move->blocks, rank, at);
    if (from.type == NULL || to.type != NULL)
        take(&move->blocks, rank, at);
    free(apart);
    return MPI_SUCCESS;
}

/* Two ranks of a node with much data. What is not one piece is packed. */
static int alltoall_large(const near_t *near, const move_t *move, int in_place)
{
    const int other = 1 - grp_rank(near->all);
    const dt_data_t from = block(&move->send, other);
    const dt_data_t to = block(&move->receive, other);
    const size_t bytes = move->blocks.length;
    node_set_t *set = near->here->node;
    void *out = from.type == NULL ? from.base : malloc(bytes);
    void *in = to.type == NULL ? to.base : malloc(bytes);
    int status = 0;
    if (bytes != move->blocks.taken)
        status = grp_fail(VBN_ERR_TRUNCATED, "this rank has other bytes for itself than it expects");
    else if (bytes > 0 && (out == NULL || in == NULL))
        status = grp_fail(VBN_ERR_NO_MEMORY, "no memory left for data that is not one piece");
    if (status < 0)
        node_break(set, status);
    else if (from.type != NULL)
        give(&move->blocks, other, out);
    int rc = coll_result(status < 0 ? status : node_alltoall_large(set, out, in, bytes));
    if (rc == MPI_SUCCESS && to.type != NULL)
        take(&move->blocks, other, in);
    if (rc == MPI_SUCCESS && !in_place)
        rc = keep_own(move, 1 - other);
    if (from.type != NULL)
        free(out);
    if (to.type != NULL)
        free(in);
    return rc;
}

/* Two ranks whose ways are measured: COLL_FAR, or the result. */
static int alltoall_measured(near_t *near, const move_t *move, int in_place)
{
    if (!near_is_measured(near, TABLE_ALLTOALL_LARGE, move->blocks.length))
        return COLL_FAR;
    int rc = near_ready(near);
    if (rc == MPI_SUCCESS)
        rc = near_ready_for_pieces(near);
    return rc != MPI_SUCCESS ? rc : alltoall_large(near, move, in_place);
}

int coll_near_Alltoall(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    const args_t receive = {recvbuf, recvcount, recvtype};
    const args_t send = sendbuf == MPI_IN_PLACE ? receive : (args_t){sendbuf, sendcount, sendtype};
    near_t near;
    move_t move;
    int rc = near_find(&near, comm);
    if (rc == MPI_SUCCESS)
        rc = sides(&move, &send, 1, &receive, 1);
    if (rc != MPI_SUCCESS)
        return COLL_FAR;
    if (!is_few(&move, &near, TABLE_ALLTOALL))
        return alltoall_measured(&near, &move, sendbuf == MPI_IN_PLACE);
    rc = near_ready(&near);
    return rc != MPI_SUCCESS ? rc : coll_result(node_alltoall(near.here->node, &move.blocks));
}
