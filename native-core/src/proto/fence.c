/* SPDX-License-Identifier: Apache-2.0
 * fence.c - order between one-sided operations to a peer. A fence only counts; operations issued after it
 *   - wait in peer->fenced until the puts and atomics before it are wholly in the link, which keeps the order, and
 *   - go by packets, also to mapped memory, until the owner has answered those. */
#include "proto/rma.h"

vbn_status_t proto_fence(proto_engine_t *engine)
{
    if (proto_forked(engine))
        return proto_refuse_fork();
    /* Stores to mapped memory before and after; pairs with the acquire of whoever polls that memory. */
    atomic_full_fence();
    engine->fence_epoch++;
    return VBN_OK;
}

bool fence_blocks(const proto_peer_t *p, const proto_op_t *op)
{
    return !list_empty(&p->fenced) || (p->unsent > 0 && p->unsent_epoch != op->stream.epoch);
}

void fence_enter(proto_op_t *op)
{
    proto_peer_t *p = proto_peer_of(op->stream.peer);
    p->unsent++;
    p->unsent_epoch = op->stream.epoch;
    op->unsent = true;
}

/* Starting an op may end others, which comes back here: the outermost call does the work. */
static void release(proto_peer_t *p)
{
    if (p->releasing)
        return;
    p->releasing = true;
    while (!p->down && !list_empty(&p->fenced)) {
        proto_op_t *op = container_of(p->fenced.next, proto_op_t, stream.active);
        if (p->unsent > 0 && p->unsent_epoch != op->stream.epoch)
            break;
        list_remove(&op->stream.active);
        if (op_kind(op)->writes)
            fence_enter(op);
        vbn_status_t status = op_start(op);
        if (status < 0)
            op_complete(op, status, 0);
    }
    p->releasing = false;
}

void fence_leave(proto_op_t *op)
{
    if (!op->unsent)
        return;
    op->unsent = false;
    if (op->stream.peer == NULL)
        return;
    proto_peer_t *p = proto_peer_of(op->stream.peer);
    if (--p->unsent == 0 && !list_empty(&p->fenced))
        release(p);
}
