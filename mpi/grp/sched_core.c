/* SPDX-License-Identifier: Apache-2.0
 * sched_core.c - messages of schedules through the core.
 */
#include "grp/sched.h"

/* Now rather than in a completion: the launcher may have to be asked for the address. */
static void reach(sched_step_t *step)
{
    if (step->peer == NULL)
        step->peer = rt_peer(step->rank);
}

static vbn_status_t send_message(sched_op_t *op, uint64_t tag)
{
    if (op->step->peer == NULL)
        return VBN_ERR_UNREACHABLE;
    return rt_tag_send(op->step->peer, tag, &op->piece, 1, 0, &op->op);
}

static vbn_status_t receive_message(sched_op_t *op, uint64_t tag)
{
    if (op->step->peer == NULL)
        return VBN_ERR_UNREACHABLE;
    return vbn_tag_recv(rt.worker, op->step->peer, tag, UINT64_MAX, &op->piece, 1, &op->info, &op->op);
}

static const char *cause(const sched_step_t *step)
{
    return step->peer == NULL ? rt.error : vbn_error_text();
}

const sched_net_t sched_core = {.reach = reach, .send = send_message, .recv = receive_message, .cause = cause};
