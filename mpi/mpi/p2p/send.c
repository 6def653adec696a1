/* SPDX-License-Identifier: Apache-2.0
 * send.c - sends and receives: what the calls differ in is mode, and whether they wait.
 */
#include "mpi_impl.h"
#include "p2p/p2p.h"

static int describe(p2p_call_t *call, p2p_kind_t kind, p2p_mode_t mode, const void *buf, MPI_Count count,
                    MPI_Datatype datatype, int rank, int tag, MPI_Comm comm)
{
    *call = (p2p_call_t){.kind = kind, .mode = mode, .rank = rank, .tag = tag, .comm = comm_of(comm)};
    return dt_describe(&call->data, buf, count, datatype);
}

static int blocking(p2p_kind_t kind, p2p_mode_t mode, const void *buf, MPI_Count count, MPI_Datatype datatype, int rank,
                    int tag, MPI_Comm comm, MPI_Status *status)
{
    p2p_call_t call;
    const int rc = describe(&call, kind, mode, buf, count, datatype, rank, tag, comm);
    return rc != MPI_SUCCESS ? rc : p2p_do(&call, status);
}

static int begin(p2p_kind_t kind, p2p_mode_t mode, const void *buf, MPI_Count count, MPI_Datatype datatype, int rank,
                 int tag, MPI_Comm comm, MPI_Request *request)
{
    p2p_call_t call;
    p2p_request_t *begun;
    int rc = describe(&call, kind, mode, buf, count, datatype, rank, tag, comm);
    if (rc == MPI_SUCCESS)
        rc = p2p_begin(&call, &begun);
    if (rc == MPI_SUCCESS)
        *request = p2p_handle(begun);
    return rc;
}

static int prepare(p2p_kind_t kind, p2p_mode_t mode, const void *buf, MPI_Count count, MPI_Datatype datatype, int rank,
                   int tag, MPI_Comm comm, MPI_Request *request)
{
    p2p_call_t call;
    p2p_request_t *made;
    int rc = describe(&call, kind, mode, buf, count, datatype, rank, tag, comm);
    if (rc == MPI_SUCCESS)
        rc = p2p_prepare(&call, &made);
    if (rc != MPI_SUCCESS)
        return rc;
    made->persistent = 1;
    *request = p2p_handle(made);
    return MPI_SUCCESS;
}

int p2p_send(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    return blocking(P2P_SEND, P2P_STANDARD, buf, count, datatype, dest, tag, comm, MPI_STATUS_IGNORE);
}

int mpi_Ssend(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    return blocking(P2P_SEND, P2P_SYNCHRONOUS, buf, count, datatype, dest, tag, comm, MPI_STATUS_IGNORE);
}

int mpi_Bsend(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    return blocking(P2P_SEND, P2P_BUFFERED, buf, count, datatype, dest, tag, comm, MPI_STATUS_IGNORE);
}

int mpi_Rsend(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    return blocking(P2P_SEND, P2P_READY, buf, count, datatype, dest, tag, comm, MPI_STATUS_IGNORE);
}

int p2p_isend(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    return begin(P2P_SEND, P2P_STANDARD, buf, count, datatype, dest, tag, comm, request);
}

int mpi_Issend(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    return begin(P2P_SEND, P2P_SYNCHRONOUS, buf, count, datatype, dest, tag, comm, request);
}

int mpi_Ibsend(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    return begin(P2P_SEND, P2P_BUFFERED, buf, count, datatype, dest, tag, comm, request);
}

int mpi_Irsend(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    return begin(P2P_SEND, P2P_READY, buf, count, datatype, dest, tag, comm, request);
}

int mpi_Send_init(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                  MPI_Request *request)
{
    return prepare(P2P_SEND, P2P_STANDARD, buf, count, datatype, dest, tag, comm, request);
}

int mpi_Ssend_init(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                   MPI_Request *request)
{
    return prepare(P2P_SEND, P2P_SYNCHRONOUS, buf, count, datatype, dest, tag, comm, request);
}

int mpi_Bsend_init(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                   MPI_Request *request)
{
    return prepare(P2P_SEND, P2P_BUFFERED, buf, count, datatype, dest, tag, comm, request);
}

int mpi_Rsend_init(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                   MPI_Request *request)
{
    return prepare(P2P_SEND, P2P_READY, buf, count, datatype, dest, tag, comm, request);
}

int p2p_recv(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    return blocking(P2P_RECV, P2P_STANDARD, buf, count, datatype, source, tag, comm, status);
}

int p2p_irecv(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    return begin(P2P_RECV, P2P_STANDARD, buf, count, datatype, source, tag, comm, request);
}

int mpi_Recv_init(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                  MPI_Request *request)
{
    return prepare(P2P_RECV, P2P_STANDARD, buf, count, datatype, source, tag, comm, request);
}
