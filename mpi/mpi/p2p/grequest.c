/* SPDX-License-Identifier: Apache-2.0
 * grequest.c - general requests: the program completes them, its functions say what their status is. These are called
 * outside the runtime: they may do what they like, and wait for other threads.
 */
#include <stdlib.h>

#include "err/err.h"
#include "mpi_impl.h"
#include "p2p/p2p.h"
#include "rt/threads.h"

typedef struct general {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    void *extra;
} general_t;

/* The program's function has returned this. */
static int back(int code, const char *which)
{
    rt_enter();
    return code == MPI_SUCCESS ? code : err_set(code, "the %s function of a general request failed", which);
}

/* The program's function gets a status also where the caller wants none. */
static int query(p2p_request_t *request, MPI_Status *status)
{
    const general_t *general = request->state;
    MPI_Status unwanted = {0};
    MPI_Status *wanted = status == MPI_STATUS_IGNORE ? &unwanted : status;
    p2p_status_none(wanted, MPI_ANY_SOURCE);
    if (general->query == NULL)
        return MPI_SUCCESS;
    rt_leave();
    return back(general->query(general->extra, wanted), "query");
}

static int end(p2p_request_t *request)
{
    general_t *general = request->state;
    int rc = MPI_SUCCESS;
    if (general->free != NULL) {
        rt_leave();
        rc = back(general->free(general->extra), "free");
    }
    free(general);
    return rc;
}

static int cancel(p2p_request_t *request)
{
    const general_t *general = request->state;
    const int complete = p2p_is_complete(request);
    if (general->cancel == NULL)
        return MPI_SUCCESS;
    rt_leave();
    return back(general->cancel(general->extra, complete), "cancel");
}

static const p2p_task_t general_task = {.query = query, .end = end, .cancel = cancel};

int mpi_Grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                       MPI_Grequest_cancel_function *cancel_fn, void *extra_state, MPI_Request *request)
{
    p2p_request_t *made;
    general_t *general = malloc(sizeof(*general));
    if (general == NULL)
        return err_set(MPI_ERR_NO_MEM, "general request: no memory left");
    *general = (general_t){.query = query_fn, .free = free_fn, .cancel = cancel_fn, .extra = extra_state};
    const int rc = p2p_task_begin(&general_task, general, &comm_self, &made);
    if (rc != MPI_SUCCESS) {
        free(general);
        return rc;
    }
    *request = p2p_handle(made);
    return MPI_SUCCESS;
}

int mpi_Grequest_complete(MPI_Request request)
{
    p2p_request_t *found;
    const int rc = p2p_find(request, &found);
    if (rc != MPI_SUCCESS)
        return rc;
    if (found == NULL || found->call.kind != P2P_TASK || found->task != &general_task)
        return err_set(MPI_ERR_REQUEST, "request is not one of MPI_Grequest_start");
    if (p2p_is_complete(found))
        return err_set(MPI_ERR_REQUEST, "request is complete already");
    p2p_task_done(found);
    return MPI_SUCCESS;
}
