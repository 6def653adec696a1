/* SPDX-License-Identifier: Apache-2.0
 * idup.c - duplicates of communicators without blocking: the context id is found by a schedule, which begins again when
 * another call has taken the id at some rank. Attributes and topology are copied by the call
 * itself.
 */
#include <stdlib.h>

#include "coll/coll.h"
#include "comm/attr.h"
#include "comm/topo.h"
#include "err/err.h"
#include "grp/watch.h"
#include "mpi_impl.h"
#include "p2p/p2p.h"

typedef struct idup {
    coll_t coll;
    p2p_request_t *request;
    mpi_comm_t *made;
    comm_context_t ask;
    grp_reduce_t reduce;
    uint64_t theirs[COMM_CONTEXT_WORDS + 1]; /* of the other group */
    int is_ours;
} idup_t;

static int ask(void *arg)
{
    idup_t *idup = arg;
    comm_context_ask(&idup->ask, &idup->coll.comm->grp);
    return 0;
}

static int choose(void *arg)
{
    idup_t *idup = arg;
    comm_context_choose(&idup->ask);
    return 0;
}

static int add_words(void *arg)
{
    idup_t *idup = arg;
    comm_context_or(&idup->reduce, idup->theirs, idup->ask.words, COMM_CONTEXT_WORDS + 1);
    return 0;
}

static int add_failed(void *arg)
{
    idup_t *idup = arg;
    comm_context_or(&idup->reduce, idup->theirs, &idup->ask.failed, 1);
    return 0;
}

/* OR over both groups. */
static void agree(idup_t *idup, uint64_t *words, size_t count, int (*add)(void *arg))
{
    sched_t *sched = idup->coll.sched;
    const rt_group_t *peers = idup->coll.comm->peers;
    steps_allreduce(sched, words, count, &idup->reduce);
    sched_wait(sched, 0);
    if (!comm_is_inter(idup->coll.comm))
        return;
    if (sched_rank(sched) == 0) {
        sched_recv_from(sched, peers, 0, idup->theirs, count * sizeof(*words));
        sched_send_to(sched, peers, 0, words, count * sizeof(*words));
        sched_wait(sched, 0);
    }
    steps_bcast(sched, idup->theirs, count * sizeof(*words), 0);
    sched_wait(sched, 0);
    sched_call(sched, add, idup);
}

static void add_steps(idup_t *idup)
{
    sched_call(idup->coll.sched, ask, idup);
    agree(idup, idup->ask.words, COMM_CONTEXT_WORDS + 1, add_words);
    sched_call(idup->coll.sched, choose, idup);
    agree(idup, &idup->ask.failed, 1, add_failed);
}

/* At the end of each round. */
static void on_done(sched_t *sched)
{
    idup_t *idup = sched->user;
    if (sched->status >= 0) {
        idup->is_ours = comm_context_is_ours(&idup->ask);
        if (!idup->is_ours && comm_context_are_used_up(&idup->ask) == MPI_SUCCESS && sched_start(sched) == 0)
            return;
    }
    if (idup->is_ours)
        comm_give_context(idup->made, (comm_id_t){.context = (uint32_t)idup->ask.context, .birth = idup->ask.birth});
    comm_context_begin(-1);
    p2p_task_done(idup->request);
}

static int query(p2p_request_t *request, MPI_Status *status)
{
    const idup_t *idup = request->state;
    p2p_status_none(status, MPI_ANY_SOURCE);
    if (idup->coll.sched->status < 0)
        return err_core((vbn_status_t)idup->coll.sched->status, "duplicate of a communicator", idup->coll.sched->error);
    return idup->is_ours ? MPI_SUCCESS : comm_context_are_used_up(&idup->ask);
}

static int end(p2p_request_t *request)
{
    idup_t *idup = request->state;
    if (!idup->is_ours) {
        watch_unmade();
        (void)attr_delete_all(idup->made);
        comm_release(idup->made);
    }
    sched_release(idup->coll.sched);
    free(idup);
    return MPI_SUCCESS;
}

static const p2p_task_t idup_task = {.query = query, .end = end};

/* The new communicator, without its context id. */
static int prepare(mpi_comm_t *parent, mpi_comm_t **made_p)
{
    parent->ranks->refs++;
    if (comm_is_inter(parent))
        parent->peers->refs++;
    int rc = comm_prepare(parent, parent->ranks, parent->peers, made_p);
    if (rc == MPI_SUCCESS && parent->topo != NULL) {
        parent->topo->refs++;
        (*made_p)->topo = parent->topo;
    }
    if (rc == MPI_SUCCESS && (rc = attr_copy(parent, *made_p)) != MPI_SUCCESS) {
        (void)attr_delete_all(*made_p);
        comm_release(*made_p);
    }
    return rc;
}

static int begin(idup_t *idup, MPI_Comm comm)
{
    int rc = coll_open(&idup->coll, comm, COLL_PERSISTENT, "MPI_Comm_idup");
    if (rc != MPI_SUCCESS)
        return rc;
    rc = p2p_task_begin(&idup_task, idup, idup->coll.comm, &idup->request);
    if (rc != MPI_SUCCESS) {
        sched_release(idup->coll.sched);
        return rc;
    }
    idup->reduce = (grp_reduce_t){.apply = comm_context_or, .element = sizeof(uint64_t), .commutes = 1};
    add_steps(idup);
    idup->coll.sched->done = on_done;
    idup->coll.sched->user = idup;
    comm_context_begin(1);
    if (sched_start(idup->coll.sched) < 0) { /* the request says so */
        comm_context_begin(-1);
        p2p_task_done(idup->request);
    }
    return MPI_SUCCESS;
}

int mpi_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    idup_t *idup = calloc(1, sizeof(*idup));
    int rc = idup == NULL ? err_set(MPI_ERR_NO_MEM, "duplicate of a communicator: no memory left")
                          : prepare(comm_of(comm), &idup->made);
    if (rc != MPI_SUCCESS) {
        free(idup);
        return rc;
    }
    rc = begin(idup, comm);
    if (rc != MPI_SUCCESS) {
        (void)attr_delete_all(idup->made);
        comm_release(idup->made);
        free(idup);
        return rc;
    }
    *newcomm = (MPI_Comm)idup->made;
    *request = p2p_handle(idup->request);
    return MPI_SUCCESS;
}

int mpi_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request)
{
    const int rc = mpi_Comm_idup(comm, newcomm, request);
    return rc != MPI_SUCCESS ? rc : mpi_Comm_set_info(*newcomm, info);
}
