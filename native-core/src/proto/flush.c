/* SPDX-License-Identifier: Apache-2.0
 * flush.c - a flush waits for the puts before it (they are answered by the owner), then for the link's flush. */
#include "proto/proto_private.h"

static void flush_done(void *arg, vbn_status_t status)
{
    op_complete(arg, status, 0);
}

void flush_advance(vbn_peer_t *peer)
{
    proto_peer_t *p = proto_peer_of(peer);
    while (!list_empty(&p->order)) {
        proto_op_t *op = container_of(p->order.next, proto_op_t, order);
        if (op->kind != OP_FLUSH)
            return;
        /* From here on the link owes the op its done, also when the peer is lost. */
        list_remove(&op->order);
        list_remove(&op->link);
        op->stream.peer = NULL;
        vbn_status_t status = link_flush(peer, flush_done, op);
        if (status == VBN_INPROGRESS)
            continue;
        flush_advance(peer); /* first, because done may end the peer */
        op_complete(op, status, 0);
        return;
    }
}

vbn_status_t proto_flush(vbn_peer_t *peer, vbn_op_t *user_op)
{
    uint64_t none;
    vbn_status_t status = proto_check_peer(peer);
    if (status == VBN_OK)
        status = op_check(user_op, NULL, 0, &none);
    if (status == VBN_OK)
        status = op_begin(user_op, peer, OP_FLUSH, NULL, 0, 0, false);
    if (status != VBN_OK)
        return status;
    proto_op_t *op = op_of(user_op);
    proto_peer_t *p = proto_peer_of(peer);
    if (!list_empty(&p->order)) {
        list_append(&p->order, &op->order);
        return VBN_INPROGRESS;
    }
    op_detach(op);
    op->stream.peer = NULL;
    status = link_flush(peer, flush_done, op);
    return status == VBN_OK ? op_set_done(user_op, VBN_OK, 0) : status;
}
