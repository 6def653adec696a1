/* SPDX-License-Identifier: Apache-2.0
 * verdict.c - which end of a rank is the job's. A rank that is killed closes its connections before its parent can see that it
 * has ended, and others fail by that: a failure waits until no rank of this host is on its way out, and a death by a signal
 * comes first. Meanwhile the others stand still, so that nobody sees one more end and complains.
 */
#include "launch/launch.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#define DEATH_MS 1000        /* between the last word of a process on its connections and its end */
#define DEATH_REMOTE_MS 3000 /* and the news of it from another host */
#define LOOK_MS 20           /* between looks at ranks on their way out */
#define EXIT_MS 5000         /* that they may take */
#define KERNEL_EXITING 0x4U  /* proc(5): PF_EXITING, set before a process closes its descriptors */

static int is_on_its_way_out(pid_t pid)
{
    launch_process_t process;
    return launch_process(pid, &process) == 0 && (process.flags & KERNEL_EXITING) != 0;
}

static int is_any_on_its_way_out(const launch_job_t *job)
{
    for (int i = 0; i < job->size; i++)
        if (job->ranks[i].pid > 0 && is_on_its_way_out(job->ranks[i].pid))
            return 1;
    return 0;
}

/* The first one stays, unless it was only that a rank had lost another one. */
static void hold(launch_job_t *job, int code, int rank)
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
        launch_stop(job, job->size);
}

void launch_abort(launch_job_t *job, int code)
{
    hold(job, code, -1);
}

void launch_judge(launch_job_t *job, int rank, int status)
{
    launch_rank_t *one = &job->ranks[rank];
    one->ended = 1;
    if (WIFSIGNALED(status)) {
        launch_say("rank %d on %s ended by signal %d (%s)%s; the job ends", rank, job->hosts[one->host].name,
                   WTERMSIG(status), strsignal(WTERMSIG(status)), WCOREDUMP(status) ? ", core dumped" : "");
        launch_end(job, 128 + WTERMSIG(status));
    } else if (WEXITSTATUS(status) == LAUNCH_PEER_LOST) {
        hold(job, LAUNCH_PEER_LOST, -1);
    } else if (WEXITSTATUS(status) != 0) {
        one->status = WEXITSTATUS(status);
        hold(job, one->status, rank);
    } else if (one->initialized) {
        hold(job, 1, rank);
    }
}

int launch_verdict_due(const launch_job_t *job)
{
    if (job->failure.since == 0)
        return -1;
    const int64_t lost_ms = job->local < job->size ? DEATH_REMOTE_MS : DEATH_MS;
    const int64_t wait_ms = job->failure.code == LAUNCH_PEER_LOST ? lost_ms : 0;
    const int64_t passed_ms = launch_now() / 1000000 - job->failure.since / 1000000;
    if (passed_ms < wait_ms)
        return (int)(wait_ms - passed_ms);
    return passed_ms < EXIT_MS && is_any_on_its_way_out(job) ? LOOK_MS : 0;
}

static void tell(const launch_job_t *job, int rank)
{
    const launch_rank_t *one = &job->ranks[rank];
    const char *host = job->hosts[one->host].name;
    if (one->status != 0)
        launch_say("rank %d on %s ended with exit code %d; the job ends", rank, host, one->status);
    else
        launch_say("rank %d on %s ended without MPI_Finalize or MPI_Session_finalize; the job ends", rank, host);
}

void launch_verdict(launch_job_t *job)
{
    const launch_failure_t *failure = &job->failure;
    if (failure->since == 0 || job->ending)
        return;
    if (failure->rank >= 0)
        tell(job, failure->rank);
    launch_end(job, failure->code);
}
