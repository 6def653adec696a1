/* SPDX-License-Identifier: Apache-2.0
 * coll.c - the forms of a collective: its schedule is run, or becomes a request.
 */
#include "coll/coll.h"

#include "err/err.h"
#include "p2p/p2p.h"

static sched_t *open_form(grp_t *grp, coll_form_t form)
{
    switch (form) {
    case COLL_NONBLOCKING: return sched_open_started(grp);
    case COLL_PERSISTENT: return sched_open_kept(grp);
    case COLL_BLOCKING: break;
    }
    return sched_open(grp);
}

/* Whose numbers count: both groups count alike. */
static grp_t *numbers_of(mpi_comm_t *comm)
{
    return comm_is_inter(comm) ? &comm->between : &comm->grp;
}

void coll_enter(MPI_Comm comm, const char *name)
{
    grp_call_t *call = &numbers_of(comm_of(comm))->call;
    call->name = name;
    call->bytes = 0;
    call->ways = 0;
    call->number++;
    call->inside = 1;
}

void coll_leave(MPI_Comm comm)
{
    numbers_of(comm_of(comm))->call.inside = 0;
}

int coll_open(coll_t *coll, MPI_Comm comm, coll_form_t form, const char *name)
{
    mpi_comm_t *found = comm_of(comm);
    grp_t *numbers = numbers_of(found);
    coll->comm = found;
    coll->sched = open_form(numbers, form);
    if (coll->sched == NULL)
        return err_set(MPI_ERR_NO_MEM, "collective: no memory left");
    coll->sched->ranks = found->ranks;
    coll->sched->call->name = name;
    coll->sched->call->side = comm_is_inter(found) ? rt_group_world(found->ranks, 0) : 0;
    return MPI_SUCCESS;
}

int coll_result(int status)
{
    return status >= 0 ? MPI_SUCCESS : err_core((vbn_status_t)status, "collective", grp_error());
}

int coll_run(coll_t *coll, int rc)
{
    if (rc == MPI_SUCCESS)
        return coll_result(sched_run(coll->sched));
    sched_release(coll->sched);
    return rc;
}

static void on_done(sched_t *sched)
{
    p2p_task_done(sched->user);
}

static int query(p2p_request_t *request, MPI_Status *status)
{
    const sched_t *sched = request->state;
    p2p_status_none(status, MPI_ANY_SOURCE);
    return sched->status >= 0 ? MPI_SUCCESS : err_core((vbn_status_t)sched->status, "collective", sched->error);
}

static int end(p2p_request_t *request)
{
    sched_release(request->state);
    return MPI_SUCCESS;
}

static int cancel(p2p_request_t *request)
{
    (void)request;
    return err_set(MPI_ERR_REQUEST, "request is one of a collective, which cannot be cancelled");
}

/* What fails later is the request's error. */
static int start(p2p_request_t *request)
{
    sched_t *sched = request->state;
    const int status = sched_start(sched);
    if (status == 0)
        return MPI_SUCCESS;
    request->active = 0;
    return err_core((vbn_status_t)status, "collective", sched->error);
}

static const p2p_task_t collective_task = {.query = query, .end = end, .cancel = cancel, .start = start};

static int become_request(coll_t *coll, int rc, int kept, p2p_request_t **request_p)
{
    if (rc == MPI_SUCCESS)
        rc = kept ? p2p_task_prepare(&collective_task, coll->sched, coll->comm, request_p)
                  : p2p_task_begin(&collective_task, coll->sched, coll->comm, request_p);
    if (rc != MPI_SUCCESS) {
        sched_release(coll->sched);
        return rc;
    }
    coll->sched->done = on_done;
    coll->sched->user = *request_p;
    return MPI_SUCCESS;
}

int coll_begin(coll_t *coll, int rc, MPI_Request *request)
{
    p2p_request_t *made;
    rc = become_request(coll, rc, 0, &made);
    if (rc == MPI_SUCCESS && (rc = start(made)) != MPI_SUCCESS) {
        sched_release(coll->sched);
        p2p_give(made);
    }
    if (rc == MPI_SUCCESS)
        *request = p2p_handle(made);
    return rc;
}

int coll_keep(coll_t *coll, int rc, MPI_Info info, MPI_Request *request)
{
    p2p_request_t *made;
    if (rc == MPI_SUCCESS && info != MPI_INFO_NULL && info != MPI_INFO_ENV && !obj_is(info, OBJ_INFO))
        rc = err_set(MPI_ERR_INFO, "info is not an info object");
    rc = become_request(coll, rc, 1, &made);
    if (rc == MPI_SUCCESS)
        *request = p2p_handle(made);
    return rc;
}
