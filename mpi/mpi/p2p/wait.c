/* SPDX-License-Identifier: Apache-2.0
 * wait.c - completing requests: wait and test for one, any, some, all; start, cancel, free.
 */
#include "err/err.h"
#include "mpi_impl.h"
#include "p2p/p2p.h"

/* Ends a complete request; the handle of one that is not persistent becomes MPI_REQUEST_NULL. */
static int finish(MPI_Request *handle, MPI_Status *status)
{
    p2p_request_t *request = (p2p_request_t *)*handle;
    if (*handle == MPI_REQUEST_NULL) {
        p2p_status_empty(status);
        return MPI_SUCCESS;
    }
    if (!request->persistent)
        *handle = MPI_REQUEST_NULL;
    return p2p_end(request, status);
}

static MPI_Request *first_complete(int count, MPI_Request *requests, int *active_p)
{
    *active_p = 0;
    for (int i = 0; i < count; i++) {
        if (!p2p_is_active(requests[i]))
            continue;
        *active_p = 1;
        if (p2p_is_complete((p2p_request_t *)requests[i]))
            return &requests[i];
    }
    return NULL;
}

int mpi_Wait(MPI_Request *request, MPI_Status *status)
{
    p2p_request_t *found;
    const int rc = p2p_find(*request, &found);
    if (rc != MPI_SUCCESS)
        return rc;
    p2p_wait(found);
    return finish(request, status);
}

int mpi_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    p2p_request_t *found;
    const int rc = p2p_find(*request, &found);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!p2p_is_complete(found))
        rt_look();
    *flag = p2p_is_complete(found);
    return *flag ? finish(request, status) : MPI_SUCCESS;
}

/* Waits for all and ends those that have nothing to tell; nobody wants statuses. How many are left: an error is told when all are
 * complete. */
static int wait_unseen(int count, MPI_Request *requests)
{
    int left = 0;
    for (int i = 0; i < count; i++) {
        p2p_request_t *request = (p2p_request_t *)requests[i];
        if (request == &p2p_sent) {
            requests[i] = MPI_REQUEST_NULL;
            continue;
        }
        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        if (!p2p_is_complete(request))
            p2p_wait(request);
        if (p2p_ended_plainly(request)) {
            requests[i] = MPI_REQUEST_NULL;
            p2p_give(request);
        } else {
            left++;
        }
    }
    return left;
}

/* Ends all, which are complete. True: one of them failed. */
static int finish_unseen(int count, MPI_Request *requests)
{
    int failed = 0;
    for (int i = 0; i < count; i++)
        if (requests[i] != MPI_REQUEST_NULL && finish(&requests[i], MPI_STATUS_IGNORE) != MPI_SUCCESS)
            failed = 1;
    return failed;
}

/* Of statuses that the program gave, each says how its request ended; then all are complete already. */
static int finish_all(int count, MPI_Request *requests, MPI_Status *statuses)
{
    int failed = 0;
    if (statuses == MPI_STATUSES_IGNORE && wait_unseen(count, requests) != 0)
        failed = finish_unseen(count, requests);
    for (int i = 0; statuses != MPI_STATUSES_IGNORE && i < count; i++) {
        statuses[i].MPI_ERROR = finish(&requests[i], &statuses[i]);
        failed = failed || statuses[i].MPI_ERROR != MPI_SUCCESS;
    }
    return failed ? err_set(MPI_ERR_IN_STATUS, "the statuses say which requests failed") : MPI_SUCCESS;
}

int mpi_Waitall(int count, MPI_Request array_of_requests[], MPI_Status *array_of_statuses)
{
    const int rc = p2p_check_all(count, array_of_requests);
    if (rc != MPI_SUCCESS)
        return rc;
    for (int i = 0; array_of_statuses != MPI_STATUSES_IGNORE && i < count; i++)
        if (p2p_is_active(array_of_requests[i]) && !p2p_is_complete((p2p_request_t *)array_of_requests[i]))
            p2p_wait((p2p_request_t *)array_of_requests[i]);
    return finish_all(count, array_of_requests, array_of_statuses);
}

static int all_complete(int count, const MPI_Request *requests)
{
    for (int i = 0; i < count; i++)
        if (p2p_is_active(requests[i]) && !p2p_is_complete((p2p_request_t *)requests[i]))
            return 0;
    return 1;
}

int mpi_Testall(int count, MPI_Request array_of_requests[], int *flag, MPI_Status *array_of_statuses)
{
    const int rc = p2p_check_all(count, array_of_requests);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!all_complete(count, array_of_requests))
        rt_look();
    *flag = all_complete(count, array_of_requests);
    return *flag ? finish_all(count, array_of_requests, array_of_statuses) : MPI_SUCCESS;
}

static int take_any(MPI_Request *complete, MPI_Request *requests, int *index, MPI_Status *status)
{
    if (complete == NULL) { /* none is active */
        *index = MPI_UNDEFINED;
        p2p_status_empty(status);
        return MPI_SUCCESS;
    }
    *index = (int)(complete - requests);
    return finish(complete, status);
}

int mpi_Waitany(int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status)
{
    rt_wait_t wait = RT_WAIT;
    MPI_Request *complete;
    int active;
    const int rc = p2p_check_all(count, array_of_requests);
    if (rc != MPI_SUCCESS)
        return rc;
    while ((complete = first_complete(count, array_of_requests, &active)) == NULL && active)
        rt_wait_step(&wait);
    return take_any(complete, array_of_requests, indx, status);
}

int mpi_Testany(int count, MPI_Request array_of_requests[], int *indx, int *flag, MPI_Status *status)
{
    int active;
    const int rc = p2p_check_all(count, array_of_requests);
    if (rc != MPI_SUCCESS)
        return rc;
    if (first_complete(count, array_of_requests, &active) == NULL && active)
        rt_look();
    MPI_Request *complete = first_complete(count, array_of_requests, &active);
    *flag = complete != NULL || !active;
    if (*flag)
        return take_any(complete, array_of_requests, indx, status);
    *indx = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int take_some(int count, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses)
{
    int failed = 0;
    *outcount = 0;
    for (int i = 0; i < count; i++) {
        if (!p2p_is_active(requests[i]) || !p2p_is_complete((p2p_request_t *)requests[i]))
            continue;
        MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[*outcount];
        const int rc = finish(&requests[i], status);
        failed = failed || rc != MPI_SUCCESS;
        if (status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = rc;
        indices[(*outcount)++] = i;
    }
    return failed ? err_set(MPI_ERR_IN_STATUS, "the statuses say which requests failed") : MPI_SUCCESS;
}

int mpi_Waitsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                 MPI_Status *array_of_statuses)
{
    rt_wait_t wait = RT_WAIT;
    int active;
    const int rc = p2p_check_all(incount, array_of_requests);
    if (rc != MPI_SUCCESS)
        return rc;
    while (first_complete(incount, array_of_requests, &active) == NULL && active)
        rt_wait_step(&wait);
    if (!active) {
        *outcount = MPI_UNDEFINED;
        return MPI_SUCCESS;
    }
    return take_some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

int mpi_Testsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                 MPI_Status *array_of_statuses)
{
    int active;
    const int rc = p2p_check_all(incount, array_of_requests);
    if (rc != MPI_SUCCESS)
        return rc;
    if (first_complete(incount, array_of_requests, &active) == NULL && active)
        rt_look();
    (void)first_complete(incount, array_of_requests, &active);
    if (!active) {
        *outcount = MPI_UNDEFINED;
        return MPI_SUCCESS;
    }
    return take_some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

int mpi_Start(MPI_Request *request)
{
    p2p_request_t *found;
    const int rc = p2p_find(*request, &found);
    if (rc != MPI_SUCCESS)
        return rc;
    if (found == NULL || !found->persistent || found->active)
        return err_set(MPI_ERR_REQUEST, "request is not an inactive persistent one");
    return p2p_start(found);
}

int mpi_Startall(int count, MPI_Request array_of_requests[])
{
    int rc = p2p_check_all(count, array_of_requests);
    for (int i = 0; i < count && rc == MPI_SUCCESS; i++)
        rc = mpi_Start(&array_of_requests[i]);
    return rc;
}

int mpi_Cancel(MPI_Request *request)
{
    p2p_request_t *found;
    const int rc = p2p_find(*request, &found);
    if (rc != MPI_SUCCESS)
        return rc;
    if (found == NULL || !found->active)
        return err_set(MPI_ERR_REQUEST, "request is not active");
    if (found->call.kind == P2P_TASK)
        return found->task->cancel == NULL ? MPI_SUCCESS : found->task->cancel(found);
    if (p2p_is_complete(found))
        return MPI_SUCCESS;
    found->withdrawn = found->call.kind == P2P_SEND;
    if (found->withdrawn && rt_withdraw_deferred(&found->op))
        return MPI_SUCCESS;
    if (vbn_tag_cancel(&found->op) != VBN_OK)
        return MPI_SUCCESS; /* a send: its receiver answers, the keeper if it computes; or too late: it completes as usual */
    found->cancelled = 1;
    found->op.complete = 1;
    found->op.status = VBN_OK;
    return MPI_SUCCESS;
}

/* An operation under way goes on and frees its request at its end. */
int mpi_Request_free(MPI_Request *request)
{
    p2p_request_t *found;
    const int rc = p2p_find(*request, &found);
    if (rc != MPI_SUCCESS)
        return rc;
    if (found == NULL)
        return err_set(MPI_ERR_REQUEST, "request is MPI_REQUEST_NULL");
    *request = MPI_REQUEST_NULL;
    if (!p2p_is_complete(found)) {
        p2p_detach(found);
        return MPI_SUCCESS;
    }
    const int is_task = (found->active || found->persistent) && found->call.kind == P2P_TASK;
    const int ended = is_task ? found->task->end(found) : MPI_SUCCESS;
    p2p_give(found);
    return ended;
}
