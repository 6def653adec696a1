/* SPDX-License-Identifier: Apache-2.0
 * buffer.c - buffered sends. The message is copied into memory of the heap; the attached buffer, of the communicator, its
 * session or else of the process, is the quota that limits these copies, each counted with OVERHEAD bytes beside its data. A copy
 * keeps its quota, so a buffer may be detached and its communicator freed while nobody looks at either.
 */
#include <stdlib.h>
#include <string.h>

#include "err/err.h"
#include "mpi_impl.h"
#include "p2p/p2p.h"

/* The least MPI_BSEND_OVERHEAD of all ABIs, MPICH's: whatever header a program was compiled with, it has attached enough. */
#define OVERHEAD 96

typedef struct comm_buffer {
    void *address; /* the user's */
    size_t size;
    size_t used;
    int copies;             /* under way */
    struct copy *first;     /* of these, in no order */
    unsigned asked;         /* times that their receivers were asked what they have received */
    int held;               /* sends that wait for a part of it */
    int attached;           /* 0: goes with its last copy */
    uint64_t flushes;       /* begun so far: copies of before belong to them */
    struct flush *flushing; /* not complete */
} quota_t;

typedef struct flush {
    struct flush *next;
    p2p_request_t *request;
    uint64_t number; /* waits for copies made under a lower number, or this one */
    int left;        /* of these */
} flush_t;

typedef struct copy {
    vbn_op_t op;
    struct iovec piece;
    quota_t *quota;
    struct copy *next;
    struct copy **link; /* what points to it */
    int rank;           /* of the job: its receiver */
    unsigned asked;     /* as of the quota: the receiver was asked in that round */
    size_t charged;
    uint64_t number; /* of flushes before it */
    char bytes[];
} copy_t;

static quota_t *of_process; /* NULL: none is attached */

static void let_go(quota_t *quota)
{
    if (quota->copies == 0 && quota->held == 0 && !quota->attached)
        free(quota);
}

/* Takes the copy off the flushes that wait for it and ends those that wait for nothing more. */
static void count_down(quota_t *quota, uint64_t number)
{
    flush_t **at = &quota->flushing;
    while (*at != NULL) {
        flush_t *flush = *at;
        if (flush->number < number || --flush->left > 0) {
            at = &flush->next;
            continue;
        }
        *at = flush->next;
        p2p_task_done(flush->request);
    }
}

static void sent(vbn_op_t *op, vbn_status_t status, size_t length)
{
    (void)status, (void)length; /* nobody waits for a buffered send; the loss of the peer shows in the next call */
    copy_t *copy = op->user;
    quota_t *quota = copy->quota;
    quota->used -= copy->charged;
    quota->copies--;
    *copy->link = copy->next;
    if (copy->next != NULL)
        copy->next->link = copy->link;
    count_down(quota, copy->number);
    free(copy);
    let_go(quota);
}

static void wait_for_all(const quota_t *quota)
{
    rt_wait_t wait = RT_WAIT;
    while (quota->copies > 0)
        rt_wait_step(&wait);
}

static int fits(const quota_t *quota, size_t charged)
{
    return charged <= quota->size - quota->used;
}

/* A copy whose receiver was not asked yet, -1: there is none; all that go there are marked. */
static int next_receiver(const quota_t *quota)
{
    int rank = -1;
    for (copy_t *copy = quota->first; copy != NULL; copy = copy->next) {
        if (rank < 0 && copy->asked != quota->asked)
            rank = copy->rank;
        if (copy->rank == rank)
            copy->asked = quota->asked;
    }
    return rank;
}

/* What has been received gives its part back when its end is seen, which may be on its way yet: before a send fails, each rank
 * that has not confirmed a copy is asked. Other threads may send or detach the buffer meanwhile; 0: it is detached. */
static int make_room(quota_t *quota, size_t charged)
{
    int rank;
    quota->held++;
    (void)rt_progress();
    quota->asked++;
    while (!fits(quota, charged) && (rank = next_receiver(quota)) >= 0)
        rt_ask(rank);
    quota->held--;
    const int attached = quota->attached;
    let_go(quota);
    return attached;
}

static int no_buffer(const p2p_call_t *call)
{
    return err_set(MPI_ERR_BUFFER,
                   "buffered send of %zu bytes: no buffer is attached; attach one by MPI_Buffer_attach or "
                   "MPI_Comm_attach_buffer",
                   call->data.bytes);
}

static int find_room(quota_t *quota, const p2p_call_t *call, size_t charged)
{
    if (quota == NULL)
        return no_buffer(call);
    if (charged <= quota->size && !fits(quota, charged) && !make_room(quota, charged))
        return no_buffer(call);
    if (!fits(quota, charged))
        return err_set(MPI_ERR_BUFFER,
                       "buffered send of %zu bytes: %zu of %zu bytes of the attached buffer are used; "
                       "attach a larger one by MPI_Buffer_attach",
                       call->data.bytes, quota->used, quota->size);
    return MPI_SUCCESS;
}

static void begin(copy_t *copy, quota_t *quota, size_t charged, int rank)
{
    copy->op.done = sent;
    copy->op.user = copy;
    copy->quota = quota;
    copy->charged = charged;
    copy->number = quota->flushes;
    quota->used += charged;
    quota->copies++;
    copy->rank = rank;
    copy->asked = quota->asked;
    copy->next = quota->first;
    copy->link = &quota->first;
    if (quota->first != NULL)
        quota->first->link = &copy->next;
    quota->first = copy;
}

/* The nearest one: of the communicator, of the session that it was derived of, of the process. */
static quota_t *quota_of(const mpi_comm_t *comm)
{
    if (comm->buffer != NULL)
        return comm->buffer;
    return comm->session != NULL && comm->session->buffer != NULL ? comm->session->buffer : of_process;
}

int p2p_buffered(const p2p_call_t *call)
{
    const size_t charged = call->data.bytes + OVERHEAD;
    quota_t *quota = quota_of(call->comm);
    int rc = find_room(quota, call, charged);
    if (rc != MPI_SUCCESS)
        return rc;
    const int rank = rt_group_world(call->comm->peers, call->rank);
    vbn_peer_t *peer = rt_peer(rank);
    if (peer == NULL)
        return err_set(MPI_ERR_PROC_ABORTED, "send to rank %d: %s", call->rank, rt.error);
    copy_t *copy = calloc(1, sizeof(*copy) + call->data.bytes);
    if (copy == NULL)
        return err_set(MPI_ERR_NO_MEM, "buffered send of %zu bytes: no memory left", call->data.bytes);
    dt_pack(&call->data, 0, copy->bytes, call->data.bytes);
    copy->piece = (struct iovec){.iov_base = copy->bytes, .iov_len = call->data.bytes};
    begin(copy, quota, charged, rank);
    const uint64_t tag = comm_tag(call->comm, COMM_TAG_P2P, (uint32_t)call->tag);
    const vbn_status_t status = rt_tag_send(peer, tag, &copy->piece, 1, 0, &copy->op);
    rc = status < 0 ? err_core(status, "buffered send", vbn_error_text()) : MPI_SUCCESS;
    if (status != VBN_INPROGRESS)
        sent(&copy->op, status, 0);
    return rc;
}

static int attach(quota_t **quota_p, void *buffer, MPI_Count size)
{
    if (*quota_p != NULL)
        return err_set(MPI_ERR_BUFFER, "a buffer of %zu bytes is attached already", (*quota_p)->size);
    quota_t *quota = calloc(1, sizeof(*quota));
    if (quota == NULL)
        return err_set(MPI_ERR_NO_MEM, "attached buffer: no memory left");
    quota->address = buffer;
    quota->size = buffer == MPI_BUFFER_AUTOMATIC ? PTRDIFF_MAX : (size_t)size;
    quota->attached = 1;
    *quota_p = quota;
    return MPI_SUCCESS;
}

static int detach(quota_t **quota_p, void *buffer_addr, MPI_Count *size)
{
    quota_t *quota = *quota_p;
    if (quota == NULL)
        return err_set(MPI_ERR_BUFFER, "no buffer is attached");
    wait_for_all(quota);
    *quota_p = NULL;
    memcpy(buffer_addr, &quota->address, sizeof(quota->address));
    *size = quota->address == MPI_BUFFER_AUTOMATIC ? 0 : (MPI_Count)quota->size;
    quota->attached = 0;
    let_go(quota);
    return MPI_SUCCESS;
}

static int flush_query(p2p_request_t *request, MPI_Status *status)
{
    (void)request;
    p2p_status_none(status, MPI_ANY_SOURCE);
    return MPI_SUCCESS;
}

static int flush_end(p2p_request_t *request)
{
    free(request->state);
    return MPI_SUCCESS;
}

static const p2p_task_t flush_task = {.query = flush_query, .end = flush_end};

static int begin_flush(quota_t *quota, mpi_comm_t *comm, MPI_Request *request)
{
    flush_t *flush = calloc(1, sizeof(*flush));
    int rc = flush == NULL ? err_set(MPI_ERR_NO_MEM, "flush: no memory left") : MPI_SUCCESS;
    if (rc == MPI_SUCCESS)
        rc = p2p_task_begin(&flush_task, flush, comm, &flush->request);
    if (rc != MPI_SUCCESS) {
        free(flush);
        return rc;
    }
    *request = p2p_handle(flush->request);
    if (quota == NULL || quota->copies == 0) {
        p2p_task_done(flush->request);
        return MPI_SUCCESS;
    }
    flush->number = quota->flushes++;
    flush->left = quota->copies;
    flush->next = quota->flushing;
    quota->flushing = flush;
    return MPI_SUCCESS;
}

int mpi_Buffer_attach(void *buffer, MPI_Count size)
{
    return attach(&of_process, buffer, size);
}

int mpi_Buffer_detach(void *buffer_addr, MPI_Count *size)
{
    return detach(&of_process, buffer_addr, size);
}

int mpi_Buffer_flush(void)
{
    if (of_process != NULL)
        wait_for_all(of_process);
    return MPI_SUCCESS;
}

int mpi_Buffer_iflush(MPI_Request *request)
{
    return begin_flush(of_process, &comm_self, request);
}

int mpi_Comm_attach_buffer(MPI_Comm comm, void *buffer, MPI_Count size)
{
    return attach(&comm_of(comm)->buffer, buffer, size);
}

int mpi_Comm_detach_buffer(MPI_Comm comm, void *buffer_addr, MPI_Count *size)
{
    return detach(&comm_of(comm)->buffer, buffer_addr, size);
}

int mpi_Comm_flush_buffer(MPI_Comm comm)
{
    if (comm_of(comm)->buffer != NULL)
        wait_for_all(comm_of(comm)->buffer);
    return MPI_SUCCESS;
}

int mpi_Comm_iflush_buffer(MPI_Comm comm, MPI_Request *request)
{
    return begin_flush(comm_of(comm)->buffer, comm_of(comm), request);
}

int mpi_Session_attach_buffer(MPI_Session session, void *buffer, MPI_Count size)
{
    return attach(&session_of(session)->buffer, buffer, size);
}

int mpi_Session_detach_buffer(MPI_Session session, void *buffer_addr, MPI_Count *size)
{
    return detach(&session_of(session)->buffer, buffer_addr, size);
}

int mpi_Session_flush_buffer(MPI_Session session)
{
    if (session_of(session)->buffer != NULL)
        wait_for_all(session_of(session)->buffer);
    return MPI_SUCCESS;
}

int mpi_Session_iflush_buffer(MPI_Session session, MPI_Request *request)
{
    return begin_flush(session_of(session)->buffer, &comm_self, request);
}

static void abandon(quota_t *quota)
{
    quota->attached = 0;
    let_go(quota);
}

void p2p_buffers_open(void)
{
    comm_buffer_end = abandon;
}

void p2p_buffers_close(void)
{
    MPI_Count size;
    void *address;
    if (of_process != NULL)
        (void)detach(&of_process, &address, &size);
}
