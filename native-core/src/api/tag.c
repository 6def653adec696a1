/* SPDX-License-Identifier: Apache-2.0
 * tag.c - public calls of tagged messages. */
#include "api/api_private.h"
#include "fast/fast.h"

static vbn_status_t no_worker(void)
{
    return err_set(VBN_ERR_INVALID, "no worker given");
}

vbn_status_t vbn_tag_send(vbn_peer_t *peer, uint64_t tag, const struct iovec *iov, size_t count, unsigned flags,
                          vbn_op_t *op)
{
    API_BY_ONE_THREAD(proto_engine_of_peer(peer));
    return fast_tag_send(peer, tag, iov, count, flags, op);
}

vbn_status_t vbn_tag_recv(vbn_worker_t *worker, vbn_peer_t *from, uint64_t tag, uint64_t mask, const struct iovec *iov,
                          size_t count, vbn_tag_info_t *info, vbn_op_t *op)
{
    API_BY_ONE_THREAD(worker == NULL ? NULL : worker->proto);
    return worker == NULL ? no_worker() : proto_tag_recv(worker->proto, from, tag, mask, iov, count, info, op);
}

vbn_status_t vbn_tag_probe(vbn_worker_t *worker, vbn_peer_t *from, uint64_t tag, uint64_t mask, vbn_tag_info_t *info,
                           vbn_tag_message_t **message_p)
{
    API_BY_ONE_THREAD(worker == NULL ? NULL : worker->proto);
    return worker == NULL ? no_worker() : proto_tag_probe(worker->proto, from, tag, mask, info, message_p);
}

vbn_status_t vbn_tag_mrecv(vbn_tag_message_t *message, const struct iovec *iov, size_t count, vbn_tag_info_t *info,
                           vbn_op_t *op)
{
    return proto_tag_mrecv(message, iov, count, info, op);
}

vbn_status_t vbn_tag_cancel(vbn_op_t *op)
{
    return proto_tag_cancel(op);
}
