/* SPDX-License-Identifier: Apache-2.0
 * key.c - keys of memory that may be mapped here.
 */
#include "win/key.h"

#include "err/err.h"

int win_key_import(vbn_peer_t *peer, const void *blob, size_t length, vbn_key_t **key_p)
{
    vbn_op_t op = {0};
    rt_wait_t wait = RT_WAIT;
    wait.op = &op;
    vbn_status_t status = vbn_key_import_op(peer, blob, length, key_p, &op);
    const int has_key = status >= 0;
    while (status == VBN_INPROGRESS && op.complete == 0)
        rt_wait_step(&wait);
    if (status == VBN_INPROGRESS)
        status = (vbn_status_t)op.status;
    if (status >= 0)
        return MPI_SUCCESS;
    if (has_key)
        vbn_key_release(*key_p);
    *key_p = NULL;
    return err_core(status, "memory of a window", has_key ? vbn_status_name(status) : vbn_error_text());
}
