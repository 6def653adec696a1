/* SPDX-License-Identifier: Apache-2.0
 * sendrecv.c - messages of two ranks outside schedules: the leaders of two groups tell each other something.
 */
#include <stdarg.h>
#include <stdio.h>

#include "grp/watch.h"

__attribute__((format(printf, 2, 3))) static int fail(int status, const char *format, ...)
{
    char text[1280];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return grp_fail(status, text);
}

/* Zeroed before its first use; wait_for ends it, and returns its status. */
typedef struct grp_op {
    vbn_op_t op;
    struct iovec piece;
    int status; /* of the call */
} grp_op_t;

static void keep_error(grp_op_t *op, const char *what, int rank, const char *cause)
{
    if (op->status < 0)
        fail(op->status, "%s rank %d: %s", what, rank, cause);
}

static vbn_peer_t *peer_of(const grp_t *grp, grp_op_t *op, int rank)
{
    vbn_peer_t *peer = rt_peer(rt_group_world(grp->ranks, rank));
    op->op.complete = 0;
    if (peer == NULL) {
        op->status = VBN_ERR_UNREACHABLE;
        keep_error(op, "message with", rank, rt.error);
    }
    return peer;
}

static void send_begin(grp_t *grp, grp_op_t *op, int to, unsigned step, const void *buffer, size_t length)
{
    vbn_peer_t *peer = peer_of(grp, op, to);
    if (peer == NULL)
        return;
    op->piece = (struct iovec){.iov_base = (void *)(uintptr_t)buffer, .iov_len = length};
    op->status = rt_tag_send(peer, grp_tag(grp, step), &op->piece, 1, 0, &op->op);
    keep_error(op, "send to", to, vbn_error_text());
}

static void receive_begin(grp_t *grp, grp_op_t *op, int from, unsigned step, void *buffer, size_t length)
{
    vbn_peer_t *peer = peer_of(grp, op, from);
    if (peer == NULL)
        return;
    op->piece = (struct iovec){.iov_base = buffer, .iov_len = length};
    op->status = vbn_tag_recv(rt.worker, peer, grp_tag(grp, step), UINT64_MAX, &op->piece, 1, NULL, &op->op);
    keep_error(op, "receive from", from, vbn_error_text());
}

/* Until the message with this rank has ended. *lost_p becomes the lost rank of the job because of which it is given up: a receive
 * ends at once, a send when that rank says that it has not fetched it. */
static int wait_for(const grp_t *grp, grp_op_t *op, int rank, int *lost_p)
{
    rt_wait_t wait = RT_WAIT;
    watch_times_t times = {0};
    int given_up = 0;
    if (op->status != VBN_INPROGRESS)
        return op->status;
    wait.op = &op->op;
    wait.look_ms = RT_WATCH_MS;
    while (op->op.complete == 0) {
        rt_wait_step(&wait);
        if (op->op.complete == 0 && *lost_p < 0)
            *lost_p = watch_messages(grp, rank, &times);
        if (op->op.complete != 0 || *lost_p < 0 || given_up)
            continue;
        given_up = 1;
        if (!rt_withdraw_deferred(&op->op) && vbn_tag_cancel(&op->op) == VBN_OK)
            break;
    }
    if (op->op.status >= 0)
        return op->op.status;
    if (*lost_p < 0)
        return grp_fail(op->op.status, vbn_status_name((vbn_status_t)op->op.status));
    return fail(VBN_ERR_PEER_LOST, "rank %d of the job is lost", *lost_p);
}

int grp_sendrecv(grp_t *grp, int to, const void *out, size_t out_length, int from, void *in, size_t in_length,
                 unsigned step)
{
    grp_op_t receive = {0};
    grp_op_t send = {0};
    receive_begin(grp, &receive, from, step, in, in_length);
    send_begin(grp, &send, to, step, out, out_length);
    int lost = -1;
    const int received = wait_for(grp, &receive, from, &lost);
    const int sent = wait_for(grp, &send, to, &lost);
    return sent < 0 ? sent : received;
}
