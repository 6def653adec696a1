/* SPDX-License-Identifier: Apache-2.0
 * request.c - starting and ending an operation.
 */
#include "p2p/p2p.h"

#include <stdlib.h>

#include "err/err.h"

/* The arguments (iov, count) for the core. */
static const struct iovec *pieces_of(p2p_request_t *request, size_t *count_p)
{
    const dt_data_t *data = &request->call.data;
    if (data->type != NULL)
        return dt_io_begin(request->io, data, count_p);
    request->piece = (struct iovec){.iov_base = data->base, .iov_len = data->bytes};
    *count_p = 1;
    return &request->piece;
}

/* The call returned this; what is complete at once has no callback. */
static int started(p2p_request_t *request, vbn_status_t status, const char *what)
{
    request->active = 1;
    request->op.complete = status != VBN_INPROGRESS;
    request->op.status = status;
    if (status >= 0)
        return MPI_SUCCESS;
    return err_core(status, what, vbn_error_text());
}

static int start_send(p2p_request_t *request)
{
    const p2p_call_t *call = &request->call;
    vbn_peer_t *peer = rt_peer(rt_group_world(call->comm->peers, call->rank));
    if (peer == NULL)
        return err_set(MPI_ERR_PROC_ABORTED, "send to rank %d: %s", call->rank, rt.error);
    const unsigned flags = call->mode == P2P_SYNCHRONOUS ? VBN_TAG_SYNC : 0;
    const uint64_t tag = comm_tag(call->comm, COMM_TAG_P2P, (uint32_t)call->tag);
    size_t count;
    const struct iovec *pieces = pieces_of(request, &count);
    return started(request, rt_tag_send(peer, tag, pieces, count, flags, &request->op), "send");
}

vbn_peer_t *p2p_source(const mpi_comm_t *comm, int rank, uint64_t tag, uint64_t mask)
{
    return rt_source(rt_group_world(comm->peers, rank), tag, mask);
}

static int start_receive(p2p_request_t *request)
{
    const p2p_call_t *call = &request->call;
    const uint64_t tag = comm_tag(call->comm, COMM_TAG_P2P, call->tag == MPI_ANY_TAG ? 0 : (uint32_t)call->tag);
    const uint64_t mask = call->tag == MPI_ANY_TAG ? COMM_ANY_TAG_MASK : UINT64_MAX;
    vbn_peer_t *peer = NULL;
    if (call->rank != MPI_ANY_SOURCE && (peer = p2p_source(call->comm, call->rank, tag, mask)) == NULL)
        return err_set(MPI_ERR_PROC_ABORTED, "receive from rank %d: %s", call->rank, rt.error);
    size_t count;
    const struct iovec *pieces = pieces_of(request, &count);
    const vbn_status_t status = vbn_tag_recv(rt.worker, peer, tag, mask, pieces, count, &request->info, &request->op);
    return started(request, status, "receive");
}

int p2p_start(p2p_request_t *request)
{
    int rc = MPI_SUCCESS;
    request->cancelled = 0;
    request->withdrawn = 0;
    request->active = 1;
    request->op.complete = request->call.kind != P2P_TASK;
    request->op.status = VBN_OK;
    if (request->call.kind == P2P_TASK)
        return request->task->start(request);
    if (request->call.rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if (request->call.kind == P2P_SEND)
        rc = request->call.mode == P2P_BUFFERED ? p2p_buffered(&request->call) : start_send(request);
    else if (request->call.kind == P2P_RECV)
        rc = start_receive(request);
    if (rc != MPI_SUCCESS && !request->persistent)
        request->op.status = request->op.status < 0 ? request->op.status : VBN_ERR_UNREACHABLE;
    return rc;
}

int p2p_begin(const p2p_call_t *call, p2p_request_t **request_p)
{
    int rc = p2p_prepare(call, request_p);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = p2p_start(*request_p);
    /* A receive that failed at once has taken its message: the error belongs to the wait. */
    if (rc == MPI_ERR_TRUNCATE && (*request_p)->call.kind == P2P_RECV)
        return MPI_SUCCESS;
    if (rc != MPI_SUCCESS) {
        p2p_give(*request_p);
        *request_p = NULL;
    }
    return rc;
}

void p2p_wait(p2p_request_t *request)
{
    rt_wait_t wait = RT_WAIT;
    if (request != NULL)
        wait.op = &request->op;
    while (!p2p_is_complete(request))
        rt_wait_step(&wait);
}

static int error_of(const p2p_request_t *request)
{
    const vbn_status_t status = (vbn_status_t)request->op.status;
    if (status >= 0 || request->cancelled)
        return MPI_SUCCESS;
    if (status == VBN_ERR_TRUNCATED)
        return err_set(MPI_ERR_TRUNCATE, "message with tag %u has %zu bytes, the receive buffer %zu",
                       (unsigned)request->info.tag, request->info.length, request->call.data.bytes);
    return err_core(status, request->call.kind == P2P_SEND ? "send" : "receive", vbn_status_name(status));
}

int p2p_describe(p2p_request_t *request, MPI_Status *status)
{
    if (!request->active) { /* an inactive persistent one: the empty status */
        p2p_status_empty(status);
        return MPI_SUCCESS;
    }
    if (request->call.kind == P2P_TASK)
        return request->task->query(request, status);
    if (request->withdrawn && request->op.status == VBN_ERR_CLOSED)
        request->cancelled = 1;
    if (request->call.rank == MPI_PROC_NULL)
        p2p_status_none(status, MPI_PROC_NULL);
    else if (request->call.kind == P2P_RECV && !request->cancelled)
        p2p_status_of(status, request->call.comm, &request->info);
    else
        p2p_status_none(status, MPI_ANY_SOURCE);
    if (status != MPI_STATUS_IGNORE)
        status->MPI_internal[2] = request->cancelled;
    return error_of(request);
}

int p2p_end(p2p_request_t *request, MPI_Status *status)
{
    int rc = p2p_describe(request, status);
    if (request->active && !request->persistent && request->call.kind == P2P_TASK) {
        const int ended = request->task->end(request);
        rc = rc != MPI_SUCCESS ? rc : ended;
    }
    if (rc != MPI_SUCCESS)
        err_on(comm_handle(request->call.comm));
    if (request->persistent)
        request->active = 0;
    else
        p2p_give(request);
    return rc;
}

static int detached; /* operations that go on without a user */

static void end_detached(vbn_op_t *op, vbn_status_t status, size_t length)
{
    (void)status, (void)length; /* the loss of a peer shows in the next call */
    p2p_request_t *request = op->user;
    op->done = NULL;
    detached--;
    if (request->call.kind == P2P_TASK)
        (void)request->task->end(request);
    p2p_give(request);
}

void p2p_detach(p2p_request_t *request)
{
    request->op.user = request;
    request->op.done = end_detached;
    detached++;
}

static int is_copied(const p2p_call_t *call)
{
    return call->kind == P2P_SEND && call->mode == P2P_STANDARD && call->data.bytes <= P2P_COPY_MOST &&
           call->rank != MPI_PROC_NULL;
}

/* The core sends most small messages at once, but some by rendezvous, when it has no credit: nobody waits for these. */
static int send_copied(const p2p_call_t *call)
{
    p2p_request_t *request;
    int rc = p2p_prepare(call, &request);
    if (rc == MPI_SUCCESS && request->copy == NULL && (request->copy = malloc(P2P_COPY_MOST)) == NULL)
        rc = err_set(MPI_ERR_NO_MEM, "copy of a message: no memory left");
    if (rc != MPI_SUCCESS)
        return rc;
    dt_pack(&call->data, 0, request->copy, call->data.bytes);
    p2p_drop_type(request);
    request->call.data.base = request->copy;
    rc = p2p_start(request);
    if (rc == MPI_SUCCESS)
        return p2p_end_copied(request);
    p2p_give(request);
    return rc;
}

int p2p_end_copied(p2p_request_t *request)
{
    if (!p2p_is_complete(request))
        (void)rt_progress();
    if (!p2p_is_complete(request) && detached < P2P_COPIES_MOST) {
        p2p_detach(request);
        return MPI_SUCCESS;
    }
    p2p_wait(request);
    return p2p_end(request, MPI_STATUS_IGNORE);
}

int p2p_do(const p2p_call_t *call, MPI_Status *status)
{
    p2p_request_t *request;
    if (is_copied(call))
        return send_copied(call);
    const int rc = p2p_begin(call, &request);
    if (rc != MPI_SUCCESS)
        return rc;
    p2p_wait(request);
    return p2p_end(request, status);
}

int p2p_receive_taken(p2p_request_t *request, vbn_tag_message_t *message)
{
    size_t count;
    const struct iovec *pieces = pieces_of(request, &count);
    request->cancelled = 0;
    request->withdrawn = 0;
    return started(request, vbn_tag_mrecv(message, pieces, count, &request->info, &request->op), "receive");
}

int p2p_find(MPI_Request handle, p2p_request_t **request_p)
{
    *request_p = NULL;
    if (handle == MPI_REQUEST_NULL)
        return MPI_SUCCESS;
    if (!obj_is(handle, OBJ_REQUEST))
        return err_set(MPI_ERR_REQUEST, "request %p is none, or was freed", (void *)handle);
    *request_p = (p2p_request_t *)handle;
    return MPI_SUCCESS;
}

int p2p_check_all(int count, const MPI_Request *requests)
{
    p2p_request_t *request;
    if (count > 0 && requests == NULL)
        return err_set(MPI_ERR_ARG, "array_of_requests is NULL");
    for (int i = 0; i < count; i++)
        if (requests[i] != MPI_REQUEST_NULL && !obj_is(requests[i], OBJ_REQUEST))
            return p2p_find(requests[i], &request);
    return MPI_SUCCESS;
}
