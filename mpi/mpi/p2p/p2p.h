/* SPDX-License-Identifier: Apache-2.0
 * p2p.h - point-to-point messages. A request embeds the core's operation and comes from a pool: no allocation per
 * message.
 *
 * P1 A request that is not complete stays where it is and keeps its communicator.
 * P2 A complete request says so by op.complete; its status is made when the user asks.
 * P3 What is not one message of the core (general requests, both halves of a sendrecv, flushes, collectives) is a task:
 *    op is not the core's, p2p_task_done completes it.
 * P4 A request of a datatype with gaps keeps the type, which the program may free meanwhile.
 * P5 Sends that were complete at once share one request, p2p_sent: it is always complete, and never in the pool.
 */
#ifndef VERBENA_MPI_P2P_H
#define VERBENA_MPI_P2P_H

#include "comm/comm.h"
#include "dt/data.h"

typedef enum p2p_kind {
    P2P_SEND,
    P2P_RECV,
    P2P_TASK /* not one message of the core: p2p_task_t */
} p2p_kind_t;

typedef enum p2p_mode { P2P_STANDARD, P2P_SYNCHRONOUS, P2P_BUFFERED, P2P_READY } p2p_mode_t;

/* A blocking standard send of at most so many bytes is copied and never waits for its receive: programs rely on it. */
#define P2P_COPY_MOST 4096
/* What direct.c sends. */
#define P2P_SHORT_MOST 64
/* Copied sends that are under way at a time; beyond it they wait. */
#define P2P_COPIES_MOST 1024

/* What a call asks for; kept for persistent requests. */
typedef struct p2p_call {
    p2p_kind_t kind;
    p2p_mode_t mode;
    dt_data_t data;
    int rank; /* other side, in comm; may be MPI_ANY_SOURCE, MPI_PROC_NULL */
    int tag;
    mpi_comm_t *comm;
} p2p_call_t;

struct p2p_request;

/* What the request of a task does where others have a message. */
typedef struct p2p_task {
    /* Writes the status of the complete request and returns its error class; may be called several times. */
    int (*query)(struct p2p_request *request, MPI_Status *status);
    /* At the end of the request: frees its state; returns an error class. Of a persistent one: when it is freed. */
    int (*end)(struct p2p_request *request);
    int (*cancel)(struct p2p_request *request); /* NULL: it completes as usual */
    int (*start)(struct p2p_request *request);  /* of a persistent one */
} p2p_task_t;

typedef struct p2p_request {
    obj_t obj;
    p2p_call_t call;
    const p2p_task_t *task; /* kind P2P_TASK only */
    void *state;            /* the task's */
    int persistent;
    int active; /* only a persistent request can be inactive */
    int cancelled;
    int withdrawn; /* a send that was asked to be cancelled: it is, when the core completes it with VBN_ERR_CLOSED */
    struct iovec piece; /* of data that is one piece */
    vbn_tag_info_t info;
    vbn_op_t op;
    char shorts[P2P_SHORT_MOST]; /* the same of direct.c */
    char *copy;                  /* of a small blocking send's data, P2P_COPY_MOST bytes; NULL: none was needed yet */
    dt_io_t *io;                 /* of data that is not one piece; NULL: none was needed yet */
    struct p2p_request *next;    /* in the pool */
} p2p_request_t;

/* pool.c */
extern p2p_request_t p2p_sent; /* P5 */
extern p2p_request_t *p2p_pool;
p2p_request_t *p2p_take_new(void); /* where the pool is empty */

/* One of the pool, without a call; back to it. NULL: no memory left. */
static inline p2p_request_t *p2p_take(void)
{
    p2p_request_t *request = p2p_pool;
    if (__builtin_expect(request == NULL, 0))
        return p2p_take_new();
    p2p_pool = request->next;
    request->obj.kind = OBJ_REQUEST;
    request->persistent = 0;
    request->active = 0;
    return request;
}

static inline void p2p_put(p2p_request_t *request)
{
    obj_rest(&request->obj);
    request->next = p2p_pool;
    p2p_pool = request;
}

/* A request for this call, not started. */
int p2p_prepare(const p2p_call_t *call, p2p_request_t **request_p);
/* The request keeps the type of its data no longer (P4); nor its communicator, which may end. */
void p2p_drop_type(p2p_request_t *request);
void p2p_give_comm(p2p_request_t *request);

/* Back to the pool, with the type and the communicator of the call. */
static inline void p2p_give(p2p_request_t *request)
{
    if (request == &p2p_sent)
        return;
    if (__builtin_expect(request->call.data.type != NULL, 0))
        p2p_drop_type(request);
    if (__builtin_expect(request->call.comm->obj.refs > 1, 1))
        request->call.comm->obj.refs--;
    else
        p2p_give_comm(request);
    p2p_put(request);
}

/* A persistent request of a task, not started, on this communicator (for its error handler); one that is started. */
int p2p_task_prepare(const p2p_task_t *task, void *state, mpi_comm_t *comm, p2p_request_t **request_p);
int p2p_task_begin(const p2p_task_t *task, void *state, mpi_comm_t *comm, p2p_request_t **request_p);
/* The task is complete. A request that the user has freed ends here. */
void p2p_task_done(p2p_request_t *request);
/* Frees pooled requests. */
void p2p_close(void);

/* request.c */
/* Starts the operation; the request is active afterwards, whatever comes of it: a failure ends it. */
int p2p_start(p2p_request_t *request);
/* Prepares a request and starts it. */
int p2p_begin(const p2p_call_t *call, p2p_request_t **request_p);
/* Begins it and waits for it. */
int p2p_do(const p2p_call_t *call, MPI_Status *status);

/* MPI_Send and MPI_Recv, MPI_Isend and MPI_Irecv, of any data, for direct.c. */
int p2p_send(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int p2p_recv(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status);
int p2p_isend(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request *request);
int p2p_irecv(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Request *request);
/* Gives the request that direct.c keeps to the pool; before p2p_close. */
void p2p_direct_close(void);
/* A started send of what was copied: nobody waits for its receive. */
int p2p_end_copied(p2p_request_t *request);

/* Writes the status (NULL: none wanted) that p2p_end will give; returns its error class. */
int p2p_describe(p2p_request_t *request, MPI_Status *status);
/* Writes the status (NULL: none wanted) of a complete request and gives it back, or makes a persistent one inactive.
 * Returns its error class. */
int p2p_end(p2p_request_t *request, MPI_Status *status);
void p2p_wait(p2p_request_t *request);
/* The operation goes on without the user and gives its request back at its end. */
void p2p_detach(p2p_request_t *request);
/* MPI_SUCCESS, with NULL for MPI_REQUEST_NULL; MPI_ERR_REQUEST. */
int p2p_find(MPI_Request handle, p2p_request_t **request_p);
/* The same of each; MPI_ERR_ARG for no array. */
int p2p_check_all(int count, const MPI_Request *requests);

/* A handle that p2p_check_all has accepted: neither null nor a persistent one that was not started. */
static inline int p2p_is_active(MPI_Request handle)
{
    return handle != MPI_REQUEST_NULL && ((const p2p_request_t *)handle)->active;
}

static inline int p2p_is_complete(const p2p_request_t *request)
{
    return request == NULL || !request->active || request->op.complete != 0;
}

/* Complete, and of a message that came or went as it should: its end has nothing to tell but a status. */
static inline int p2p_ended_plainly(const p2p_request_t *request)
{
    return request->active && request->call.kind != P2P_TASK && request->op.status >= 0 &&
           (request->persistent | request->cancelled | request->withdrawn) == 0;
}

static inline MPI_Request p2p_handle(p2p_request_t *request)
{
    return (MPI_Request)request;
}

/* Receives `piece` from a message that a probe has taken out. */
int p2p_receive_taken(p2p_request_t *request, vbn_tag_message_t *message);

/* The peer to receive from by name, tag and mask as of the core: also a lost one, of which such a message had arrived. NULL: text
 * in rt.error. */
vbn_peer_t *p2p_source(const mpi_comm_t *comm, int rank, uint64_t tag, uint64_t mask);

void p2p_status_of(MPI_Status *status, const mpi_comm_t *comm, const vbn_tag_info_t *info);
/* Of an operation without a message. As of a message, MPI_ERROR stays as it was: calls that give several statuses write it. */
void p2p_status_none(MPI_Status *status, int source);
/* What the standard calls empty, with MPI_ERROR: of a request that is null or inactive. */
void p2p_status_empty(MPI_Status *status);

/* Buffered sends: copies out of the attached buffer's quota. */
int p2p_buffered(const p2p_call_t *call);
void p2p_buffers_open(void);
void p2p_buffers_close(void);

#endif
