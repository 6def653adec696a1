/* SPDX-License-Identifier: Apache-2.0
 * pool.c - the pool of requests: made for a call or for a task, and given back.
 */
#include "p2p/p2p.h"

#include <stdlib.h>

#include "err/err.h"

p2p_request_t *p2p_pool;

p2p_request_t p2p_sent = {
    .obj = {.kind = OBJ_REQUEST}, .call = {.kind = P2P_SEND, .comm = &comm_self}, .active = 1, .op = {.complete = 1}};

p2p_request_t *p2p_take_new(void)
{
    p2p_request_t *request = calloc(1, sizeof(*request)); /* the op is zeroed once */
    if (request != NULL)
        request->obj.kind = OBJ_REQUEST;
    return request;
}

void p2p_drop_type(p2p_request_t *request)
{
    if (request->call.data.type != NULL)
        dt_release(request->call.data.type);
    request->call.data.type = NULL;
}

void p2p_give_comm(p2p_request_t *request)
{
    if (request->call.comm->obj.refs > 0)
        comm_release(request->call.comm);
}

void p2p_close(void)
{
    if (p2p_sent.obj.number != 0)
        obj_give_number(&p2p_sent.obj);
    while (p2p_pool != NULL) {
        p2p_request_t *next = p2p_pool->next;
        obj_end(&p2p_pool->obj); /* gives its number back */
        free(p2p_pool->copy);
        free(p2p_pool->io);
        free(p2p_pool);
        p2p_pool = next;
    }
}

static p2p_request_t *make(const p2p_call_t *call)
{
    p2p_request_t *request = p2p_take();
    if (request == NULL)
        return NULL;
    if (call->data.type != NULL && request->io == NULL && (request->io = malloc(sizeof(*request->io))) == NULL) {
        p2p_put(request);
        return NULL;
    }
    request->call = *call;
    call->comm->obj.refs++;
    if (call->data.type != NULL)
        dt_keep(call->data.type);
    return request;
}

int p2p_prepare(const p2p_call_t *call, p2p_request_t **request_p)
{
    *request_p = make(call);
    return *request_p != NULL ? MPI_SUCCESS : err_set(MPI_ERR_NO_MEM, "request: no memory left");
}

int p2p_task_prepare(const p2p_task_t *task, void *state, mpi_comm_t *comm, p2p_request_t **request_p)
{
    const p2p_call_t call = {.kind = P2P_TASK, .rank = MPI_ANY_SOURCE, .comm = comm};
    const int rc = p2p_prepare(&call, request_p);
    if (rc != MPI_SUCCESS)
        return rc;
    (*request_p)->task = task;
    (*request_p)->state = state;
    (*request_p)->persistent = 1;
    (*request_p)->cancelled = 0;
    (*request_p)->withdrawn = 0;
    return MPI_SUCCESS;
}

int p2p_task_begin(const p2p_task_t *task, void *state, mpi_comm_t *comm, p2p_request_t **request_p)
{
    const int rc = p2p_task_prepare(task, state, comm, request_p);
    if (rc != MPI_SUCCESS)
        return rc;
    (*request_p)->persistent = 0;
    (*request_p)->active = 1;
    (*request_p)->op.complete = 0;
    (*request_p)->op.status = VBN_OK;
    return MPI_SUCCESS;
}

void p2p_task_done(p2p_request_t *request)
{
    vbn_op_t *op = &request->op;
    op->complete = 1;
    rt.events++;
    if (op->done != NULL)
        op->done(op, VBN_OK, 0);
}
