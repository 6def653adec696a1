/* SPDX-License-Identifier: Apache-2.0
 * am.c - public active-message calls. */
#include "api/api_private.h"
#include "fast/fast.h"

vbn_status_t vbn_am_handler(vbn_worker_t *worker, unsigned id, vbn_am_func_t func, void *arg)
{
    API_BY_ONE_THREAD(worker == NULL ? NULL : worker->proto);
    if (worker == NULL)
        return err_set(VBN_ERR_INVALID, "no worker given");
    return proto_am_handler(worker->proto, id, func, arg);
}

vbn_status_t vbn_am_send(vbn_peer_t *peer, unsigned id, const void *header, size_t header_length,
                         const struct iovec *iov, size_t count, unsigned flags, vbn_op_t *op)
{
    API_BY_ONE_THREAD(proto_engine_of_peer(peer));
    return fast_am_send(peer, id, header, header_length, iov, count, flags, op);
}

vbn_status_t vbn_am_pull(vbn_am_remote_t *remote, const struct iovec *iov, size_t count, vbn_op_t *op)
{
    API_BY_ONE_THREAD(proto_engine_of_remote(remote));
    return proto_am_pull(remote, iov, count, op);
}

void vbn_am_drop(vbn_am_remote_t *remote)
{
    API_BY_ONE_THREAD(proto_engine_of_remote(remote));
    proto_am_drop(remote);
}
