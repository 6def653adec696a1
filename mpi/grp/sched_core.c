/* SPDX-License-Identifier: Apache-2.0
 * sched_core.c - messages of schedules through the core.
 */
#include "grp/watch.h"

/* Now rather than in a completion: the launcher may have to be asked for the address. What a rank has sent before it left, as one
 * of a session may, can be received still. */
static void reach(sched_step_t *step)
{
    if (step->process == NULL &&
        (rt_peer(step->rank) != NULL || (step->kind == SCHED_RECV && rt_peer_lost(step->rank) != NULL)))
        step->process = rt_process_at(step->rank);
}

/* NULL: it could not be reached, or is lost since. */
static vbn_peer_t *peer_of(const sched_step_t *step)
{
    return step->process == NULL ? NULL : step->process->peer;
}

static vbn_status_t send_message(sched_op_t *op, uint64_t tag)
{
    vbn_peer_t *peer = peer_of(op->step);
    return peer == NULL ? VBN_ERR_UNREACHABLE : rt_tag_send(peer, tag, &op->piece, 1, 0, &op->op);
}

static vbn_status_t receive_message(sched_op_t *op, uint64_t tag)
{
    vbn_peer_t *peer = op->step->process == NULL ? NULL : rt_source(op->step->rank, tag, UINT64_MAX);
    if (peer == NULL)
        return VBN_ERR_UNREACHABLE;
    return vbn_tag_recv(rt.worker, peer, tag, UINT64_MAX, &op->piece, 1, &op->info, &op->op);
}

/* A deferred send ends inside. */
static int withdraw(sched_op_t *op)
{
    if (op->step->kind == SCHED_SEND && rt_withdraw_deferred(&op->op))
        return 0;
    return vbn_tag_cancel(&op->op) == VBN_OK;
}

static void notify(const sched_step_t *step)
{
    watch_notice(step->rank);
}

static const char *cause(const sched_step_t *step)
{
    if (step->process == NULL)
        return rt.error;
    return step->process->peer == NULL ? "it is lost" : vbn_error_text();
}

const sched_net_t sched_core = {.reach = reach,
                                .send = send_message,
                                .recv = receive_message,
                                .withdraw = withdraw,
                                .notify = notify,
                                .cause = cause};
