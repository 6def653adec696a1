/* SPDX-License-Identifier: Apache-2.0
 * defer.c - messages that the core does not take now, because too many rendezvous messages of this process wait at the
 * peer (proto.max_incoming). They are kept in the order of their calls, and so is every later message to that peer; each
 * progress tries again.
 */
#include "rt/rt.h"

#include <stdlib.h>

typedef struct deferred {
    struct deferred *next;
    const struct iovec *iov; /* the caller's, as for the core */
    size_t count;
    uint64_t tag;
    unsigned flags;
    vbn_op_t *op;
} deferred_t;

typedef struct rt_queue {
    struct rt_queue *next;
    rt_process_t *process; /* whose peer it is (R5) */
    deferred_t *first;
    deferred_t **end;
} rt_queue_t;

static rt_queue_t *queue_of(const rt_process_t *process)
{
    rt_queue_t *queue = rt.deferred;
    while (queue != NULL && queue->process != process)
        queue = queue->next;
    return queue;
}

static rt_queue_t *queue_for(rt_process_t *process)
{
    rt_queue_t *queue = queue_of(process);
    if (queue != NULL || (queue = calloc(1, sizeof(*queue))) == NULL)
        return queue;
    queue->process = process;
    queue->end = &queue->first;
    queue->next = rt.deferred;
    rt.deferred = queue;
    return queue;
}

vbn_status_t rt_defer(vbn_peer_t *peer, uint64_t tag, const struct iovec *iov, size_t count, unsigned flags,
                      vbn_op_t *op)
{
    rt_process_t *process = vbn_peer_user(peer);
    deferred_t *message = malloc(sizeof(*message));
    rt_queue_t *queue = process->lost ? NULL : queue_for(process);
    if (queue == NULL || message == NULL) {
        free(message);
        return process->lost ? VBN_ERR_PEER_LOST : VBN_ERR_NO_MEMORY;
    }
    *message = (deferred_t){.iov = iov, .count = count, .tag = tag, .flags = flags, .op = op};
    op->complete = 0;
    *queue->end = message;
    queue->end = &message->next;
    return VBN_INPROGRESS;
}

vbn_status_t rt_send_in_order(vbn_peer_t *peer, uint64_t tag, const struct iovec *iov, size_t count, unsigned flags,
                              vbn_op_t *op)
{
    if (queue_of(vbn_peer_user(peer)) != NULL)
        return rt_defer(peer, tag, iov, count, flags, op);
    const vbn_status_t status = vbn_tag_send(peer, tag, iov, count, flags, op);
    return status == VBN_ERR_LIMIT ? rt_defer(peer, tag, iov, count, flags, op) : status;
}

static void complete(vbn_op_t *op, vbn_status_t status)
{
    op->status = status;
    op->complete = 1;
    if (op->done != NULL)
        op->done(op, status, 0);
}

/* 1: a message went, or failed for good. */
static int send_first(rt_queue_t *queue)
{
    deferred_t *message = queue->first;
    vbn_peer_t *peer = queue->process->peer;
    const vbn_status_t status = peer == NULL ? VBN_ERR_PEER_LOST
                                             : vbn_tag_send(peer, message->tag, message->iov, message->count,
                                                            message->flags, message->op);
    if (status == VBN_ERR_LIMIT && !queue->process->lost)
        return 0;
    queue->first = message->next;
    if (queue->first == NULL)
        queue->end = &queue->first;
    if (status != VBN_INPROGRESS)
        complete(message->op, status); /* it may send to this peer: the queue is still there, so the order stays */
    free(message);
    return 1;
}

static int withdraw_from(rt_queue_t *queue, vbn_op_t *op)
{
    deferred_t **at = &queue->first;
    while (*at != NULL && (*at)->op != op)
        at = &(*at)->next;
    deferred_t *message = *at;
    if (message == NULL)
        return 0;
    *at = message->next;
    if (queue->end == &message->next)
        queue->end = at;
    free(message);
    return 1;
}

/* A queue without messages goes with the next progress. */
int rt_withdraw_deferred(vbn_op_t *op)
{
    for (rt_queue_t *queue = rt.deferred; queue != NULL; queue = queue->next)
        if (withdraw_from(queue, op)) {
            complete(op, VBN_ERR_CLOSED);
            return 1;
        }
    return 0;
}

unsigned rt_send_deferred(void)
{
    static int inside; /* a completion may progress */
    unsigned sent = 0;
    rt_queue_t **at = &rt.deferred;
    if (inside)
        return 0;
    inside = 1;
    while (*at != NULL) {
        rt_queue_t *queue = *at;
        while (queue->first != NULL && send_first(queue))
            sent++;
        if (queue->first != NULL) {
            at = &queue->next;
            continue;
        }
        for (at = &rt.deferred; *at != queue; at = &(*at)->next) /* a completion may have put queues before it */
            ;
        *at = queue->next;
        free(queue);
    }
    inside = 0;
    return sent;
}
