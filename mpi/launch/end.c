/* SPDX-License-Identifier: Apache-2.0
 * end.c - how a job is ended. After a death its ranks are killed at once, and after a failure as soon as that is no consequence of
 * a death (verdict.c). After a signal to mpiexec they are asked first: SIGTERM
 * to each and to all that it has started, here and on other hosts, then job->kill_after seconds, then SIGKILL. Until then they
 * may write and talk by PMI, and no end of theirs is a failure.
 */
#include "launch/launch.h"

#include <signal.h>

static void stop(const launch_job_t *job, int count)
{
    for (int i = 0; i < count; i++)
        if (job->ranks[i].pid > 0)
            (void)kill(job->ranks[i].pid, SIGSTOP);
}

/* Stopped first: nobody sees another one end and complains. */
void launch_kill(const launch_job_t *job, int count)
{
    stop(job, count);
    for (int i = 0; i < count; i++)
        if (job->ranks[i].pid > 0)
            (void)kill(job->ranks[i].pid, SIGKILL);
}

void launch_end(launch_job_t *job, int code)
{
    if (job->code == 0)
        job->code = code;
    if (job->ending)
        return;
    job->ending = 1;
    job->ended = launch_now();
    for (int i = 0; i < job->host_count; i++)
        if (job->hosts[i].remote && !job->hosts[i].lost)
            (void)channel_send(&job->hosts[i].channel, FRAME_END, 0, "", 0);
    launch_kill(job, job->size);
}

/* The first one stays, unless it was only that a rank had lost another one. */
void launch_fail(launch_job_t *job, int code, int rank)
{
    launch_failure_t *failure = &job->failure;
    if (job->asked) /* it ends already */
        return;
    if (failure->since != 0 && failure->code != LAUNCH_PEER_LOST)
        return;
    if (failure->since == 0)
        failure->since = launch_now();
    failure->code = code;
    failure->rank = rank;
    if (code != LAUNCH_PEER_LOST)
        stop(job, job->size);
}

void launch_remote_signal(launch_job_t *job, int signal)
{
    for (int i = 0; i < job->host_count; i++)
        if (job->hosts[i].remote && !job->hosts[i].lost)
            (void)channel_send_number(&job->hosts[i].channel, FRAME_SIGNAL, 0, (uint32_t)signal);
}

/* Ranks that a failure has stopped are past asking. */
void launch_ask(launch_job_t *job, int signal)
{
    if (job->code == 0)
        job->code = 128 + signal;
    if (job->asked != 0)
        return;
    job->asked = signal;
    job->kill_at = launch_now() + (int64_t)job->kill_after * 1000000000;
    if (job->ending)
        return;
    if (job->kill_after == 0 || job->failure.since != 0) {
        launch_end(job, job->code);
        return;
    }
    launch_remote_signal(job, SIGTERM);
    launch_signal(job, SIGTERM, 1);
}

int launch_ask_due(const launch_job_t *job)
{
    if (job->asked == 0 || job->ending)
        return -1;
    const int64_t left = (job->kill_at - launch_now()) / 1000000;
    return left < 0 ? 0 : (int)left + 1;
}

void launch_ask_over(launch_job_t *job)
{
    if (job->asked != 0 && !job->ending && launch_now() >= job->kill_at)
        launch_end(job, job->code);
}

int launch_is_leaving(const launch_job_t *job)
{
    int leaving = 0;
    if (job->asked == 0 || job->ending)
        return 0;
    for (int i = 0; i < job->host_count; i++)
        leaving |= job->hosts[i].remote && job->hosts[i].ranks > 0 && !job->hosts[i].lost;
    return leaving || launch_has_orphans(job);
}
