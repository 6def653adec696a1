/* SPDX-License-Identifier: Apache-2.0
 * flush.c - a flush waits for the puts and atomics before it (they are answered by the owner), then for the link's
 * flush. A flush of all is one of each peer that something has been sent to since it was last seen to have nothing
 * outstanding (P6), and is done when the last of them is. Peers that are idle cost it nothing. */
#include "proto/rma.h"

static void flush_done(void *arg, vbn_status_t status)
{
    op_complete(arg, status, 0);
}

void flush_advance(vbn_peer_t *peer)
{
    proto_peer_t *p = proto_peer_of(peer);
    list_link_t ended, *link;
    list_init(&ended);
    while (!list_empty(&p->order)) {
        proto_op_t *op = container_of(p->order.next, proto_op_t, order);
        if (op->kind != OP_FLUSH)
            break;
        /* From here on the link owes the op its done, also when the peer is lost. */
        list_remove(&op->order);
        list_remove(&op->link);
        op->stream.peer = NULL;
        op->result = link_flush(peer, flush_done, op);
        if (op->result != VBN_INPROGRESS)
            list_append(&ended, &op->order);
    }
    while ((link = list_pop(&ended)) != NULL) { /* last, because done may end the peer */
        proto_op_t *op = container_of(link, proto_op_t, order);
        op_complete(op, (vbn_status_t)op->result, 0);
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

/* A flush of all need not look at the peer again before something goes there. */
static void leave_if_idle(vbn_peer_t *peer)
{
    proto_peer_t *p = proto_peer_of(peer);
    if (!p->down && list_empty(&p->order) && link_flush_idle(peer))
        list_remove(&p->unflushed);
}

static void part_done(vbn_op_t *op, vbn_status_t status, size_t length)
{
    flush_part_t *part = op->user;
    proto_op_t *whole = part->whole;
    (void)length;
    if (status == VBN_OK)
        leave_if_idle(part->peer);
    mpool_put(&whole->stream.engine->flush_parts, part);
    if (status < 0 && whole->result == VBN_OK)
        whole->result = status;
    if (--whole->stream.in_flight == 0)
        op_complete(whole, (vbn_status_t)whole->result, 0);
}

/* VBN_OK: nothing to wait for; VBN_INPROGRESS: counted in whole->stream.in_flight. */
static vbn_status_t flush_one(proto_op_t *whole, vbn_peer_t *peer)
{
    flush_part_t *part = mpool_get(&whole->stream.engine->flush_parts);
    if (part == NULL)
        return VBN_ERR_NO_MEMORY;
    part->op = (vbn_op_t){.done = part_done, .user = part};
    part->whole = whole;
    part->peer = peer;
    vbn_status_t status = proto_flush(peer, &part->op);
    if (status == VBN_INPROGRESS)
        whole->stream.in_flight++;
    else
        mpool_put(&whole->stream.engine->flush_parts, part);
    if (status == VBN_OK)
        leave_if_idle(peer);
    return status;
}

vbn_status_t proto_flush_all(proto_engine_t *engine, vbn_op_t *user_op)
{
    uint64_t none;
    vbn_status_t status = proto_forked(engine) ? proto_refuse_fork() : op_check(user_op, NULL, 0, &none);
    if (status != VBN_OK)
        return status;
    proto_op_t *whole = op_prepare(user_op, engine, OP_FLUSH, NULL, 0, 0);
    for (list_link_t *link = engine->unflushed.next, *next; link != &engine->unflushed; link = next) {
        next = link->next; /* no callback runs in between */
        status = flush_one(whole, container_of(link, proto_peer_t, unflushed)->peer);
        if (status < 0 && whole->result == VBN_OK)
            whole->result = status;
    }
    if (whole->stream.in_flight > 0)
        return VBN_INPROGRESS;
    return whole->result < 0 ? (vbn_status_t)whole->result : op_set_done(user_op, VBN_OK, 0);
}
