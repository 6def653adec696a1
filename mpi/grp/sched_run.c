/* SPDX-License-Identifier: Apache-2.0
 * sched_run.c - running schedules: beginning steps, ending messages, failures.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grp/sched.h"
#include "rt/threads.h"

/* The first failure is the schedule's. */
__attribute__((cold, format(printf, 3, 4))) static void fail(sched_t *sched, int status, const char *format, ...)
{
    va_list arguments;
    if (sched->status < 0)
        return;
    sched->status = status;
    va_start(arguments, format);
    (void)vsnprintf(sched->error, sizeof(sched->error), format, arguments);
    va_end(arguments);
}

/* S2: what comes instead of a message of this length when its sender has failed. */
static size_t notice_length(size_t length)
{
    return length == 0 ? 1 : 0;
}

static void ended(sched_op_t *op, vbn_status_t status, const char *cause)
{
    sched_t *sched = op->sched;
    const sched_step_t *step = op->step;
    const int receives = step->kind == SCHED_RECV;
    op->step = NULL;
    op->next = sched->free_ops;
    sched->free_ops = op;
    if (receives && (status == VBN_ERR_TRUNCATED || (status >= 0 && op->info.length != step->length))) {
        const size_t length = op->info.length;
        if (length == notice_length(step->length))
            fail(sched, VBN_ERR_PEER_LOST, "rank %d of the job failed in it: it lost a rank, or counts differ",
                 step->rank);
        else
            fail(sched, VBN_ERR_TRUNCATED, "rank %d of the job sent %zu bytes where %zu are expected", step->rank,
                 length, step->length);
    } else if (status < 0) {
        fail(sched, status, "%s rank %d of the job: %s", receives ? "receive from" : "send to", step->rank, cause);
    }
}

static void begin_message(sched_t *sched, const sched_step_t *step)
{
    static const char notice;
    sched_op_t *op = sched->free_ops;
    vbn_status_t status;
    sched->free_ops = op->next;
    op->step = step;
    op->op.complete = 0;
    if (step->kind == SCHED_RECV) {
        op->piece = (struct iovec){.iov_base = step->to, .iov_len = step->length};
        op->info.length = step->length;
        status = sched->given_up ? VBN_ERR_CLOSED : sched->net->recv(op, sched->tag);
    } else {
        op->piece = (struct iovec){.iov_base = (void *)(uintptr_t)step->from, .iov_len = step->length};
        if (sched->status < 0) {
            op->piece = (struct iovec){.iov_base = (void *)(uintptr_t)&notice, .iov_len = notice_length(step->length)};
            sched->net->notify(step);
        }
        status = sched->net->send(op, sched->tag);
    }
    if (status == VBN_INPROGRESS)
        sched->busy++;
    else
        ended(op, status, status < 0 ? sched->net->cause(step) : "");
}

/* Steps at this rank alone. */
static void perform(sched_t *sched, const sched_step_t *step)
{
    int status = 0;
    if (sched->status < 0)
        return;
    if (step->kind == SCHED_COPY)
        memmove(step->to, step->from, step->length);
    else if (step->kind == SCHED_REDUCE)
        step->reduce->apply(step->reduce, step->from, step->to, step->length);
    else
        status = step->call(step->to);
    if (status < 0)
        fail(sched, status, "at this rank: %s", vbn_status_name((vbn_status_t)status));
}

static void advance(sched_t *sched);

static void call_program(void *arg)
{
    sched_t *sched = arg;
    const sched_step_t *step = &sched->steps[sched->at];
    if (sched->status == 0) {
        rt_leave();
        step->reduce->apply(step->reduce, step->from, step->to, step->length);
        rt_enter();
    }
    sched->held = 0;
    sched->at++;
    advance(sched);
}

static void hold(sched_t *sched)
{
    sched->held = 1;
    sched->later = (rt_later_t){.call = call_program, .arg = sched};
    rt_call_later(&sched->later);
}

static void advance(sched_t *sched)
{
    if (sched->held)
        return;
    for (; sched->at < sched->count; sched->at++) {
        const sched_step_t *step = &sched->steps[sched->at];
        if (step->kind == SCHED_WAIT) {
            if (sched->busy > step->length)
                return;
        } else if (step->kind == SCHED_SEND || step->kind == SCHED_RECV) {
            begin_message(sched, step);
        } else if (step->kind == SCHED_REDUCE && step->reduce->foreign) {
            hold(sched);
            return;
        } else {
            perform(sched, step);
        }
    }
    if (sched->busy > 0)
        return;
    sched->complete = 1;
    if (sched->done != NULL)
        sched->done(sched);
}

void sched_op_done(vbn_op_t *op, vbn_status_t status, size_t length)
{
    sched_op_t *message = op->user;
    sched_t *sched = message->sched;
    (void)length; /* info has the length of the message, also when it was dropped */
    ended(message, status, vbn_status_name(status));
    sched->busy--;
    advance(sched);
}

void sched_give_up(sched_t *sched, int lost)
{
    const int held = sched->held;
    sched->given_up = 1;
    sched->held = 1; /* a send that ends at once does not begin further steps */
    fail(sched, VBN_ERR_PEER_LOST, "rank %d of the job is lost", lost);
    for (sched_op_t *op = sched->ops; op != NULL; op = op->also)
        if (op->step != NULL && sched->net->withdraw(op)) {
            ended(op, VBN_ERR_CLOSED, "given up");
            sched->busy--;
        }
    sched->held = held;
    advance(sched);
}

static int add_op(sched_t *sched)
{
    sched_op_t *op = calloc(1, sizeof(*op)); /* the core's op is zeroed once */
    if (op == NULL)
        return VBN_ERR_NO_MEMORY;
    op->op.done = sched_op_done;
    op->op.user = op;
    op->sched = sched;
    op->also = sched->ops;
    sched->ops = op;
    op->next = sched->free_ops;
    sched->free_ops = op;
    sched->ops_made++;
    return 0;
}

/* Operations for the most messages that can be in flight; contact with all whom the schedule names. */
static int prepare(sched_t *sched)
{
    size_t busy = 0;
    int status = sched->status;
    for (size_t i = 0; i < sched->count && status == 0; i++) {
        sched_step_t *step = &sched->steps[i];
        if (step->kind == SCHED_WAIT && busy > step->length)
            busy = step->length;
        if (step->kind != SCHED_SEND && step->kind != SCHED_RECV)
            continue;
        sched->net->reach(step);
        if (++busy > sched->ops_made)
            status = add_op(sched);
    }
    return status;
}

int sched_start(sched_t *sched)
{
    if (sched->complete) /* of the last start */
        sched->status = 0;
    sched->given_up = 0;
    sched->complete = 0;
    const int status = prepare(sched);
    if (status < 0) {
        sched->status = status;
        snprintf(sched->error, sizeof(sched->error), "no memory left for its steps");
        return status;
    }
    sched->at = 0;
    sched->times.next = 0;
    sched->own.number++;
    advance(sched);
    return 0;
}
