/* SPDX-License-Identifier: Apache-2.0
 * call.c - beginning and ending calls, and the operations of the core that they are made of.
 */
#include "win/call.h"

#include <stdlib.h>
#include <string.h>

#include "err/err.h"
#include "win/apply.h"
#include "win/epoch.h"

#define PIECES_MOST 1024 /* of a call, under way */

/* One operation of the core, or one answer. */
typedef struct piece {
    win_answer_t answer;
    vbn_op_t op;
    win_call_t *call;
    struct iovec bytes;
    vbn_strided_t blocks;
    char *into; /* for an answer of that length */
    size_t length;
} piece_t;

static int query(p2p_request_t *request, MPI_Status *status)
{
    p2p_status_none(status, MPI_UNDEFINED);
    return request->state == NULL ? MPI_SUCCESS
                                  : err_set((int)(intptr_t)request->state, "an operation on a window failed");
}

static int end_request(p2p_request_t *request)
{
    (void)request;
    return MPI_SUCCESS;
}

static const p2p_task_t task = {.query = query, .end = end_request};

static void let_go(dt_data_t *data)
{
    if (data->type != NULL)
        dt_release(data->type);
    data->type = NULL;
}

static void end(win_call_t *call)
{
    if (call->unpacked != NULL && call->error == MPI_SUCCESS)
        dt_unpack(&call->result, 0, call->unpacked, call->result.bytes);
    let_go(&call->sent);
    let_go(&call->result);
    call->target->pending--;
    call->win->pending--;
    if (call->error != MPI_SUCCESS && call->request == NULL && call->target->failed == MPI_SUCCESS)
        call->target->failed = call->error;
    if (call->request != NULL) {
        call->request->state = (void *)(intptr_t)call->error;
        p2p_task_done(call->request);
    }
    free(call->packed);
    free(call->unpacked);
    free(call);
    rt.events++; /* who waits looks again */
}

static void less_one(win_call_t *call, int error)
{
    if (error != MPI_SUCCESS && call->error == MPI_SUCCESS)
        call->error = error;
    if (--call->left == 0)
        end(call);
}

static int wait_for_room(mpi_win_t *win, const win_target_t *target, int rank)
{
    rt_wait_t wait = RT_WAIT;
    int rc = MPI_SUCCESS;
    while (target->pending >= WIN_UNDER_WAY && rc == MPI_SUCCESS) {
        rt_wait_step(&wait);
        rc = win_check_alive(win, rank, "an operation on a window");
    }
    return rc;
}

int win_call_begin(mpi_win_t *win, int rank, MPI_Request *request, win_call_t **call_p)
{
    win_target_t *target;
    *call_p = NULL;
    int rc = rank == MPI_PROC_NULL ? win_epoch_check_any(win) : win_epoch_check(win, rank);
    if (rc != MPI_SUCCESS || rank == MPI_PROC_NULL)
        return rc;
    rc = win_describe(win, rank, &target);
    rc = rc == MPI_SUCCESS ? wait_for_room(win, target, rank) : rc;
    if (rc != MPI_SUCCESS)
        return rc;
    win_call_t *call = calloc(1, sizeof(*call));
    if (call == NULL)
        return err_set(MPI_ERR_NO_MEM, "operation on a window: no memory left");
    call->win = win;
    call->target = target;
    call->rank = rank;
    call->left = 1;
    if (request != NULL && (rc = p2p_task_begin(&task, NULL, win->comm, &call->request)) != MPI_SUCCESS) {
        free(call);
        return rc;
    }
    target->pending++;
    win->pending++;
    *call_p = call;
    return MPI_SUCCESS;
}

int win_call_nothing(mpi_win_t *win, MPI_Request *request)
{
    p2p_request_t *made;
    const int rc = p2p_task_begin(&task, NULL, win->comm, &made);
    if (rc != MPI_SUCCESS)
        return rc;
    p2p_task_done(made);
    *request = p2p_handle(made);
    return MPI_SUCCESS;
}

/* The request of a call that was not made has no user. */
int win_call_made(win_call_t *call, int rc, MPI_Request *request)
{
    p2p_request_t *made = call->request;
    if (rc != MPI_SUCCESS) {
        call->request = NULL;
        call->error = call->error == MPI_SUCCESS ? rc : call->error;
        if (made != NULL) {
            p2p_task_done(made);
            (void)p2p_end(made, MPI_STATUS_IGNORE);
        }
        const int failed = call->target->failed;
        win_target_t *target = call->target;
        less_one(call, rc);
        target->failed = failed; /* the caller tells it */
        return rc;
    }
    if (made != NULL)
        *request = p2p_handle(made);
    less_one(call, MPI_SUCCESS);
    return MPI_SUCCESS;
}

static int describe(dt_data_t *data, const win_buffer_t *buffer, char **copy_p)
{
    const int rc = dt_describe(data, buffer->address, buffer->count, buffer->type);
    if (rc != MPI_SUCCESS || data->type == NULL || data->bytes == 0) {
        data->type = NULL;
        return rc;
    }
    *copy_p = malloc(data->bytes);
    if (*copy_p == NULL) {
        data->type = NULL;
        return err_set(MPI_ERR_NO_MEM, "copy of %zu bytes: no memory left", data->bytes);
    }
    dt_keep(data->type);
    return MPI_SUCCESS;
}

int win_call_sends(win_call_t *call, const win_buffer_t *buffer)
{
    const int rc = describe(&call->sent, buffer, &call->packed);
    if (rc == MPI_SUCCESS && call->packed != NULL)
        dt_pack(&call->sent, 0, call->packed, call->sent.bytes);
    return rc;
}

int win_call_gets(win_call_t *call, const win_buffer_t *buffer)
{
    return describe(&call->result, buffer, &call->unpacked);
}

char *win_call_source(const win_call_t *call)
{
    return call->packed != NULL ? call->packed : call->sent.base;
}

char *win_call_into(const win_call_t *call)
{
    return call->unpacked != NULL ? call->unpacked : call->result.base;
}

/* ---- pieces */

static int class_of(vbn_status_t status)
{
    switch (status) {
    case VBN_ERR_PEER_LOST:
    case VBN_ERR_UNREACHABLE:
    case VBN_ERR_CLOSED: return MPI_ERR_PROC_ABORTED;
    case VBN_ERR_NO_MEMORY: return MPI_ERR_NO_MEM;
    case VBN_ERR_RANGE:
    case VBN_ERR_STALE: return MPI_ERR_RMA_RANGE;
    default: return MPI_ERR_OTHER;
    }
}

static void piece_done(vbn_op_t *op, vbn_status_t status, size_t length)
{
    piece_t *piece = op->user;
    win_call_t *call = piece->call;
    (void)length;
    free(piece);
    less_one(call, status < 0 ? class_of(status) : MPI_SUCCESS);
}

/* A call of many pieces does not hold memory for all at once. */
static void wait_for_pieces(const win_call_t *call)
{
    rt_wait_t wait = RT_WAIT;
    while (call->left > PIECES_MOST &&
           win_check_alive(call->win, call->rank, "an operation on a window") == MPI_SUCCESS)
        rt_wait_step(&wait);
}

static piece_t *piece_new(win_call_t *call, char *bytes, size_t length)
{
    wait_for_pieces(call);
    piece_t *piece = calloc(1, sizeof(*piece));
    if (piece == NULL) {
        (void)err_set(MPI_ERR_NO_MEM, "operation on a window: no memory left");
        return NULL;
    }
    piece->call = call;
    piece->op.done = piece_done;
    piece->op.user = piece;
    piece->bytes = (struct iovec){.iov_base = bytes, .iov_len = length};
    call->left++;
    return piece;
}

static int piece_begun(piece_t *piece, vbn_status_t status)
{
    if (status == VBN_INPROGRESS)
        return MPI_SUCCESS;
    const int rc = status < 0 ? err_set(class_of(status), "operation on a window: %s", vbn_error_text()) : MPI_SUCCESS;
    piece_done(&piece->op, status, 0);
    return rc;
}

/* ---- memory that is mapped here */

static void copy(unsigned char *near, char *bytes, size_t length, int writes)
{
    if (writes)
        vbn_copy_words(near, bytes, length, near);
    else
        vbn_copy_words(bytes, near, length, near);
}

static int copy_blocks(unsigned char *near, char *bytes, size_t block, size_t stride, size_t count, int writes)
{
    for (size_t i = 0; i < count; i++)
        copy(near + i * stride, bytes + i * block, block, writes);
    return MPI_SUCCESS;
}

/* Whether this process executes calls of the accumulate family on the target's memory (W4). */
static int executes(const win_call_t *call)
{
    return call->target->near != NULL && (call->target->word != NULL || call->rank == call->win->comm->ranks->rank);
}

static int execute(const win_call_t *call, const win_header_t *header, const char *data, size_t length, char *into)
{
    size_t before;
    const win_memory_t memory = {.base = call->target->near, .size = call->target->size, .word = call->target->word};
    const int rc = win_apply(&memory, header, data, length, (unsigned char *)into, &before);
    return rc == MPI_SUCCESS ? rc : err_set(rc, "operation on memory of rank %d", call->rank);
}

int win_call_move(win_call_t *call, int writes, size_t offset, char *bytes, size_t length)
{
    if (call->target->near != NULL)
        return copy_blocks(call->target->near + offset, bytes, length, 0, 1, writes);
    piece_t *piece = piece_new(call, bytes, length);
    if (piece == NULL)
        return MPI_ERR_NO_MEM;
    return piece_begun(piece, (writes ? vbn_put : vbn_get)(call->target->key, offset, &piece->bytes, 1, &piece->op));
}

int win_call_move_blocks(win_call_t *call, int writes, size_t offset, char *bytes, const win_blocks_t *blocks)
{
    if (call->target->near != NULL)
        return copy_blocks(call->target->near + offset, bytes, blocks->length, blocks->stride, blocks->count, writes);
    piece_t *piece = piece_new(call, bytes, blocks->length * blocks->count);
    if (piece == NULL)
        return MPI_ERR_NO_MEM;
    piece->blocks = (vbn_strided_t){.base = bytes,
                                    .block = blocks->length,
                                    .count = blocks->count,
                                    .local_stride = (ptrdiff_t)blocks->length,
                                    .remote_stride = blocks->stride};
    return piece_begun(
        piece, (writes ? vbn_put_strided : vbn_get_strided)(call->target->key, offset, &piece->blocks, &piece->op));
}

/* ---- messages */

static void answered(win_answer_t *answer, int error, const void *data, size_t length)
{
    piece_t *piece = (piece_t *)answer;
    win_call_t *call = piece->call;
    if (error == MPI_SUCCESS && length != piece->length)
        error = MPI_ERR_INTERN;
    if (error == MPI_SUCCESS)
        memcpy(piece->into, data, length);
    free(piece);
    less_one(call, error);
}

/* Counts in the call until the target has answered; what carries the data is another piece. */
static int expect(win_call_t *call, win_header_t *header, char *into, size_t length)
{
    piece_t *piece = piece_new(call, NULL, 0);
    if (piece == NULL)
        return MPI_ERR_NO_MEM;
    piece->answer = (win_answer_t){.done = answered, .win = call->win, .rank = call->rank};
    piece->into = into;
    piece->length = length;
    header->token = win_answer_expect(&piece->answer);
    if (header->token != 0)
        return MPI_SUCCESS;
    piece_done(&piece->op, VBN_ERR_NO_MEMORY, 0);
    return err_set(MPI_ERR_NO_MEM, "operation on a window: no memory left");
}

/* The question could not be sent. */
static void unexpect(uint64_t token, int error)
{
    win_answer_t *answer = win_answer_withdraw(token);
    if (answer != NULL)
        answered(answer, error, NULL, 0);
}

int win_call_message(win_call_t *call, win_header_t *header, const char *data, size_t length, char *into,
                     size_t answer_length)
{
    if (executes(call))
        return execute(call, header, data, length, into);
    header->context = call->win->comm->context;
    header->token = 0;
    int rc = answer_length > 0 ? expect(call, header, into, answer_length) : MPI_SUCCESS;
    piece_t *piece = rc == MPI_SUCCESS ? piece_new(call, (char *)(uintptr_t)data, length) : NULL;
    if (piece == NULL) {
        rc = rc != MPI_SUCCESS ? rc : MPI_ERR_NO_MEM;
    } else {
        vbn_peer_t *peer = rt_peer(
            rt_group_world(call->win->comm->ranks, call->rank)); /* after all waits: R5 of rt.h */
        const vbn_status_t status = peer == NULL ? VBN_ERR_PEER_LOST
                                                 : vbn_am_send(peer, WIN_AM_CALL, header, sizeof(*header),
                                                               &piece->bytes, length > 0, 0, &piece->op);
        rc = piece_begun(piece, status);
    }
    if (rc == MPI_SUCCESS && answer_length == 0)
        call->target->sent++;
    if (rc != MPI_SUCCESS && header->token != 0)
        unexpect(header->token, rc);
    return rc;
}
