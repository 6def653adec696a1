/* SPDX-License-Identifier: Apache-2.0
 * inspect.c - looking at requests without ending them: the statuses that a test would give, for one, any, some, all.
 */
#include "err/err.h"
#include "mpi_impl.h"
#include "p2p/p2p.h"

/* Of a complete request, or of MPI_REQUEST_NULL. An error that it met is told when it ends. */
static void status_of(p2p_request_t *request, MPI_Status *status)
{
    if (request == NULL)
        p2p_status_empty(status);
    else
        (void)p2p_describe(request, status);
}

static p2p_request_t *request_of(MPI_Request handle)
{
    return handle == MPI_REQUEST_NULL ? NULL : (p2p_request_t *)handle;
}

int mpi_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    const int rc = p2p_check_all(1, &request);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!p2p_is_complete(request_of(request)))
        rt_look();
    *flag = p2p_is_complete(request_of(request));
    if (*flag)
        status_of(request_of(request), status);
    return MPI_SUCCESS;
}

int mpi_Request_get_status_all(int count, const MPI_Request array_of_requests[], int *flag,
                               MPI_Status *array_of_statuses)
{
    const int rc = p2p_check_all(count, array_of_requests);
    if (rc != MPI_SUCCESS)
        return rc;
    rt_look();
    *flag = 1;
    for (int i = 0; i < count; i++)
        *flag = *flag && p2p_is_complete(request_of(array_of_requests[i]));
    for (int i = 0; *flag && array_of_statuses != MPI_STATUSES_IGNORE && i < count; i++)
        status_of(request_of(array_of_requests[i]), &array_of_statuses[i]);
    return MPI_SUCCESS;
}

int mpi_Request_get_status_any(int count, const MPI_Request array_of_requests[], int *indx, int *flag,
                               MPI_Status *status)
{
    int active = 0;
    const int rc = p2p_check_all(count, array_of_requests);
    if (rc != MPI_SUCCESS)
        return rc;
    rt_look();
    *flag = 0;
    *indx = MPI_UNDEFINED;
    for (int i = 0; i < count && !*flag; i++) {
        const int is = p2p_is_active(array_of_requests[i]);
        active = active || is;
        if (is && p2p_is_complete(request_of(array_of_requests[i]))) {
            *flag = 1;
            *indx = i;
            status_of(request_of(array_of_requests[i]), status);
        }
    }
    if (!active) {
        *flag = 1;
        p2p_status_empty(status);
    }
    return MPI_SUCCESS;
}

int mpi_Request_get_status_some(int incount, const MPI_Request array_of_requests[], int *outcount,
                                int array_of_indices[], MPI_Status *array_of_statuses)
{
    int active = 0;
    int found = 0;
    const int rc = p2p_check_all(incount, array_of_requests);
    if (rc != MPI_SUCCESS)
        return rc;
    rt_look();
    for (int i = 0; i < incount; i++) {
        if (!p2p_is_active(array_of_requests[i]))
            continue;
        active = 1;
        if (!p2p_is_complete(request_of(array_of_requests[i])))
            continue;
        if (array_of_statuses != MPI_STATUSES_IGNORE)
            status_of(request_of(array_of_requests[i]), &array_of_statuses[found]);
        array_of_indices[found++] = i;
    }
    *outcount = active ? found : MPI_UNDEFINED;
    return MPI_SUCCESS;
}
