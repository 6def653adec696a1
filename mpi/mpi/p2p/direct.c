/* SPDX-License-Identifier: Apache-2.0
 * direct.c - the usual standard send and receive: elements that are one piece of memory, to or from a rank that is known. A send
 * that goes at once, and a blocking receive, need no more of a request than the core's operation; others go on as one (request.c).
 */
#include "p2p/p2p.h"

#include <string.h>

#include "err/err.h"
#include "mpi_impl.h"

/* Between two calls; who waits keeps it, and others take one from the pool. */
static p2p_request_t *spare;

static p2p_request_t *take(void)
{
    p2p_request_t *request = spare;
    spare = NULL;
    return request != NULL ? request : p2p_take();
}

static void give(p2p_request_t *request)
{
    if (spare == NULL)
        spare = request;
    else
        p2p_put(request);
}

void p2p_direct_close(void)
{
    if (spare != NULL)
        p2p_put(spare);
    spare = NULL;
}

/* A predefined type whose elements lie side by side, in a buffer that is somewhere. */
static inline int is_simple(const void *buffer, MPI_Datatype type, MPI_Count count, size_t *bytes_p)
{
    const uintptr_t at = (uintptr_t)type - DT_FIRST;
    const size_t each = at < DT_NAMED ? dt_predefined[at].plain : 0;
    *bytes_p = (size_t)count * each;
    return each != 0 && (__builtin_expect((uintptr_t)buffer >= DT_NOWHERE, 1) || count == 0) &&
           (uint64_t)count <= INT32_MAX;
}

/* It goes on as a request like others. */
static p2p_request_t *keep(p2p_request_t *request, p2p_kind_t kind, int rank, int tag, mpi_comm_t *comm,
                           vbn_status_t status)
{
    request->call = (p2p_call_t){.kind = kind, .mode = P2P_STANDARD, .rank = rank, .tag = tag, .comm = comm};
    request->call.data.base = request->piece.iov_base;
    request->call.data.bytes = request->piece.iov_len;
    comm->obj.refs++;
    request->obj.kind = OBJ_REQUEST;
    request->persistent = 0;
    request->cancelled = 0;
    request->withdrawn = 0;
    request->active = 1;
    request->op.complete = status != VBN_INPROGRESS;
    request->op.status = status;
    return request;
}

/* The core has not sent it at once. */
static int send_slowly(p2p_request_t *request, int dest, int tag, mpi_comm_t *comm, vbn_status_t status)
{
    if (status == VBN_INPROGRESS)
        return p2p_end_copied(keep(request, P2P_SEND, dest, tag, comm, status));
    const int rc = err_core(status, "send", vbn_error_text());
    give(request);
    return rc;
}

int mpi_Send(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    mpi_comm_t *found = comm_of(comm);
    size_t bytes;
    if (!is_simple(buf, datatype, count, &bytes) || bytes > P2P_SHORT_MOST || dest < 0)
        return p2p_send(buf, count, datatype, dest, tag, comm);
    vbn_peer_t *peer = rt_peer_known(rt_group_world(found->peers, dest));
    p2p_request_t *request = peer != NULL ? take() : NULL;
    if (request == NULL)
        return p2p_send(buf, count, datatype, dest, tag, comm);
    if (bytes == 8)
        memcpy(request->shorts, buf, 8);
    else if (bytes > 0)
        memcpy(request->shorts, buf, bytes);
    request->piece = (struct iovec){.iov_base = request->shorts, .iov_len = bytes};
    const vbn_status_t status = rt_tag_send(peer, comm_tag(found, COMM_TAG_P2P, (uint32_t)tag), &request->piece, 1, 0,
                                            &request->op);
    if (__builtin_expect(status != VBN_OK, 0))
        return send_slowly(request, dest, tag, found, status);
    give(request);
    return MPI_SUCCESS;
}

int mpi_Isend(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    mpi_comm_t *found = comm_of(comm);
    size_t bytes;
    if (!is_simple(buf, datatype, count, &bytes) || dest < 0)
        return p2p_isend(buf, count, datatype, dest, tag, comm, request);
    vbn_peer_t *peer = rt_peer_known(rt_group_world(found->peers, dest));
    p2p_request_t *taken = peer != NULL ? take() : NULL;
    if (taken == NULL)
        return p2p_isend(buf, count, datatype, dest, tag, comm, request);
    taken->piece = (struct iovec){.iov_base = (void *)(uintptr_t)buf, .iov_len = bytes};
    const vbn_status_t status = rt_tag_send(peer, comm_tag(found, COMM_TAG_P2P, (uint32_t)tag), &taken->piece, 1, 0,
                                            &taken->op);
    if (status == VBN_OK) {
        give(taken);
        *request = p2p_handle(&p2p_sent);
        return MPI_SUCCESS;
    }
    if (__builtin_expect(status != VBN_INPROGRESS, 0)) {
        give(taken);
        return err_core(status, "send", vbn_error_text());
    }
    *request = p2p_handle(keep(taken, P2P_SEND, dest, tag, found, status));
    return MPI_SUCCESS;
}

int mpi_Irecv(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    mpi_comm_t *found = comm_of(comm);
    size_t bytes;
    if (!is_simple(buf, datatype, count, &bytes) || source < 0 || tag < 0)
        return p2p_irecv(buf, count, datatype, source, tag, comm, request);
    vbn_peer_t *peer = rt_peer_known(rt_group_world(found->peers, source));
    p2p_request_t *taken = peer != NULL ? p2p_take() : NULL;
    if (taken == NULL)
        return p2p_irecv(buf, count, datatype, source, tag, comm, request);
    taken->piece = (struct iovec){.iov_base = buf, .iov_len = bytes};
    const vbn_status_t status = vbn_tag_recv(rt.worker, peer, comm_tag(found, COMM_TAG_P2P, (uint32_t)tag), UINT64_MAX,
                                             &taken->piece, 1, &taken->info, &taken->op);
    if (__builtin_expect(status < 0 && status != VBN_ERR_TRUNCATED, 0)) {
        p2p_put(taken);
        return err_core(status, "receive", vbn_error_text());
    }
    *request = p2p_handle(
        keep(taken, P2P_RECV, source, tag, found, status)); /* a message that is too long: as of its wait */
    return MPI_SUCCESS;
}

static vbn_status_t wait_for(p2p_request_t *request)
{
    rt_wait_t wait = RT_WAIT;
    wait.op = &request->op;
    while (request->op.complete == 0)
        rt_wait_step(&wait);
    return (vbn_status_t)request->op.status;
}

int mpi_Recv(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    mpi_comm_t *found = comm_of(comm);
    size_t bytes;
    if (!is_simple(buf, datatype, count, &bytes) || source < 0 || tag < 0)
        return p2p_recv(buf, count, datatype, source, tag, comm, status);
    vbn_peer_t *peer = rt_peer_known(rt_group_world(found->peers, source));
    p2p_request_t *request = peer != NULL ? take() : NULL;
    if (request == NULL)
        return p2p_recv(buf, count, datatype, source, tag, comm, status);
    request->piece = (struct iovec){.iov_base = buf, .iov_len = bytes};
    vbn_status_t core = vbn_tag_recv(rt.worker, peer, comm_tag(found, COMM_TAG_P2P, (uint32_t)tag), UINT64_MAX,
                                     &request->piece, 1, &request->info, &request->op);
    if (core == VBN_INPROGRESS) {
        core = wait_for(request);
    } else if (core < 0 && core != VBN_ERR_TRUNCATED) {
        const int rc = err_core(core, "receive", vbn_error_text());
        give(request);
        return rc;
    }
    if (__builtin_expect(core < 0, 0))
        return p2p_end(keep(request, P2P_RECV, source, tag, found, core), status);
    if (status != MPI_STATUS_IGNORE)
        p2p_status_of(status, found, &request->info);
    give(request);
    return MPI_SUCCESS;
}
