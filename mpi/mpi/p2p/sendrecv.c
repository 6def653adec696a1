/* SPDX-License-Identifier: Apache-2.0
 * sendrecv.c - a send and a receive in one call, or as one request, complete when both are.
 */
#include <stdlib.h>

#include "err/err.h"
#include "mpi_impl.h"
#include "p2p/p2p.h"

typedef struct pair {
    p2p_request_t *receive;
    p2p_request_t *send;
    int left;   /* halves that are not complete, and one while the pair is made */
    void *copy; /* of the data to send, where the receive replaces it */
} pair_t;

static int query(p2p_request_t *request, MPI_Status *status)
{
    const pair_t *pair = request->state;
    const int sent = p2p_describe(pair->send, MPI_STATUS_IGNORE);
    const int received = p2p_describe(pair->receive, status);
    return received != MPI_SUCCESS ? received : sent;
}

static int end(p2p_request_t *request)
{
    pair_t *pair = request->state;
    (void)p2p_end(pair->send, MPI_STATUS_IGNORE); /* query has told their errors */
    (void)p2p_end(pair->receive, MPI_STATUS_IGNORE);
    free(pair->copy);
    free(pair);
    return MPI_SUCCESS;
}

static const p2p_task_t pair_task = {.query = query, .end = end};

static void less_one(p2p_request_t *request)
{
    pair_t *pair = request->state;
    if (--pair->left == 0)
        p2p_task_done(request);
}

static void half_done(vbn_op_t *op, vbn_status_t status, size_t length)
{
    (void)status, (void)length; /* the half keeps them */
    op->done = NULL;
    less_one(op->user);
}

static void watch(p2p_request_t *half, p2p_request_t *request)
{
    if (p2p_is_complete(half))
        return;
    half->op.user = request;
    half->op.done = half_done;
    ((pair_t *)request->state)->left++;
}

/* The receive is under way and the send has failed: the receive must not write to the buffer later. */
static void take_back(MPI_Request receive)
{
    p2p_request_t *request = (p2p_request_t *)receive;
    (void)mpi_Cancel(&receive);
    p2p_wait(request);
    (void)p2p_end(request, MPI_STATUS_IGNORE);
}

int mpi_Sendrecv(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                 MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Request receive;
    int rc = mpi_Irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, &receive);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = mpi_Send(sendbuf, sendcount, sendtype, dest, sendtag, comm);
    if (rc != MPI_SUCCESS) {
        take_back(receive);
        return rc;
    }
    p2p_wait((p2p_request_t *)receive);
    return p2p_end((p2p_request_t *)receive, status);
}

/* A packed copy of what is sent, where the receive replaces it: only the elements are read, whatever lies between them. */
static int copy_of(const void *buf, MPI_Count count, MPI_Datatype datatype, void **copy_p, MPI_Count *bytes_p)
{
    dt_data_t data;
    const int rc = dt_describe(&data, buf, count, datatype);
    if (rc != MPI_SUCCESS)
        return rc;
    *copy_p = malloc(data.bytes > 0 ? data.bytes : 1);
    if (*copy_p == NULL)
        return err_set(MPI_ERR_NO_MEM, "copy of %zu bytes: no memory left", data.bytes);
    dt_pack(&data, 0, *copy_p, data.bytes);
    *bytes_p = (MPI_Count)data.bytes;
    return MPI_SUCCESS;
}

int mpi_Sendrecv_replace(void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source,
                         int recvtag, MPI_Comm comm, MPI_Status *status)
{
    void *copy;
    MPI_Count bytes;
    int rc = copy_of(buf, count, datatype, &copy, &bytes);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = mpi_Sendrecv(copy, bytes, MPI_BYTE, dest, sendtag, buf, count, datatype, source, recvtag, comm, status);
    free(copy);
    return rc;
}

/* Takes the halves' place over also when it fails. */
static int join(MPI_Request receive, MPI_Request send, void *copy, mpi_comm_t *comm, MPI_Request *request_p)
{
    p2p_request_t *request;
    pair_t *pair = malloc(sizeof(*pair));
    int rc = pair == NULL ? err_set(MPI_ERR_NO_MEM, "request: no memory left") : MPI_SUCCESS;
    if (rc == MPI_SUCCESS)
        rc = p2p_task_begin(&pair_task, pair, comm, &request);
    if (rc != MPI_SUCCESS) {
        free(pair);
        take_back(receive);
        p2p_wait((p2p_request_t *)send);
        (void)p2p_end((p2p_request_t *)send, MPI_STATUS_IGNORE);
        return rc;
    }
    *pair = (pair_t){.receive = (p2p_request_t *)receive, .send = (p2p_request_t *)send, .left = 1, .copy = copy};
    watch(pair->receive, request);
    watch(pair->send, request);
    less_one(request);
    *request_p = p2p_handle(request);
    return MPI_SUCCESS;
}

static int begin(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                 MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, void *copy,
                 MPI_Request *request)
{
    MPI_Request receive;
    MPI_Request send;
    int rc = mpi_Irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, &receive);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = mpi_Isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, &send);
    if (rc == MPI_SUCCESS)
        return join(receive, send, copy, comm_of(comm), request);
    take_back(receive);
    return rc;
}

int mpi_Isendrecv(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                  MPI_Request *request)
{
    return begin(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, NULL,
                 request);
}

int mpi_Isendrecv_replace(void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source,
                          int recvtag, MPI_Comm comm, MPI_Request *request)
{
    void *copy;
    MPI_Count bytes;
    int rc = copy_of(buf, count, datatype, &copy, &bytes);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = begin(copy, bytes, MPI_BYTE, dest, sendtag, buf, count, datatype, source, recvtag, comm, copy, request);
    if (rc != MPI_SUCCESS)
        free(copy);
    return rc;
}
