/* SPDX-License-Identifier: Apache-2.0
 * requests.c - general requests: their functions get a status of the program's ABI.
 */
#include "shim.h"

typedef struct general {
    int (*query)(void *extra, F_Status *status);
    int (*free)(void *extra);
    int (*cancel)(void *extra, int complete);
    void *extra;
} general_t;

static int query(void *state, MPI_Status *status)
{
    const general_t *general = state;
    F_Status shown = {0};
    out_Status(&shown, status);
    const int rc = general->query == NULL ? MPI_SUCCESS : in_ERRCODE(general->query(general->extra, &shown));
    const int error = status->MPI_ERROR;
    in_Status(status, &shown);
    status->MPI_ERROR = error;
    return rc;
}

static int end(void *state)
{
    general_t *general = state;
    const int rc = general->free == NULL ? MPI_SUCCESS : in_ERRCODE(general->free(general->extra));
    free(general);
    return rc;
}

static int cancel(void *state, int complete)
{
    const general_t *general = state;
    return general->cancel == NULL ? MPI_SUCCESS : in_ERRCODE(general->cancel(general->extra, complete));
}

int shim_Grequest_start(F_callback query_fn, F_callback free_fn, F_callback cancel_fn, void *extra_state,
                        F_Request *request)
{
    MPI_Request made = MPI_REQUEST_NULL;
    general_t *general = malloc(sizeof(*general));
    if (general == NULL)
        return out_ERRCODE(MPI_ERR_NO_MEM);
    *general = (general_t){.query = (int (*)(void *, F_Status *))query_fn,
                           .free = (int (*)(void *))free_fn,
                           .cancel = (int (*)(void *, int))cancel_fn,
                           .extra = extra_state};
    const int rc = vbnmpi_Grequest_start(query, end, cancel, general, request == NULL ? NULL : &made);
    if (rc == MPI_SUCCESS)
        *request = out_Request(made);
    else
        free(general);
    return out_ERRCODE(rc);
}
SHIM_NAME(Grequest_start);
