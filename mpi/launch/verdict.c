/* SPDX-License-Identifier: Apache-2.0
 * verdict.c - which end of a rank is the job's. A rank that is killed closes its connections before its parent can see that it
 * has ended, and others fail by that: a failure waits until no rank of this host is on its way out, and a death by a signal
 * comes first. Meanwhile the others stand still, so that nobody sees one more end and complains.
 *
 * Two ends leave the others alone. Behind MPI_Finalize a rank is a program of its own: its failure is the job's code, no more.
 * Without MPI_Finalize, but with exit code 0, all ranks of a program may end: that is a warning. Barriers of PMI do not wait for
 * such a rank; those who wait for its messages lose it, or are ended job->kill_after seconds later.
 */
#include "launch/launch.h"

#include <stdio.h>
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

/* Writes how a rank ended: "by signal 9 (Killed)", "with exit code 3". */
static void describe(int status, char *text, size_t capacity)
{
    if (WIFSIGNALED(status))
        snprintf(text, capacity, "by signal %d (%s)%s", WTERMSIG(status), strsignal(WTERMSIG(status)),
                 WCOREDUMP(status) ? ", core dumped" : "");
    else
        snprintf(text, capacity, "with exit code %d", WEXITSTATUS(status));
}

static void say_end(const launch_job_t *job, const launch_rank_t *one, int status, const char *what_follows)
{
    char how[128];
    describe(status, how, sizeof(how));
    launch_say("rank %d on %s ended %s%s", one->number, job->hosts[one->host].name, how, what_follows);
}

static void leave(launch_job_t *job, launch_rank_t *one)
{
    one->left = 1;
    if (job->left++ == 0)
        job->left_since = launch_now();
    launch_pmi_left(job, one);
}

static int code_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void launch_judge(launch_job_t *job, int rank, int status)
{
    launch_rank_t *one = &job->ranks[rank];
    one->ended = 1;
    if (status != 0 && one->finalized) {
        say_end(job, one, status, job->size > 1 ? " after MPI_Finalize; the others go on" : " after MPI_Finalize");
        job->code = job->code != 0 ? job->code : code_of(status);
    } else if (WIFSIGNALED(status)) {
        say_end(job, one, status, "; the job ends");
        launch_end(job, code_of(status));
    } else if (WEXITSTATUS(status) == LAUNCH_PEER_LOST) {
        launch_fail(job, LAUNCH_PEER_LOST, -1);
    } else if (WEXITSTATUS(status) != 0) {
        one->status = status;
        launch_fail(job, code_of(status), rank);
    } else if (one->initialized) {
        leave(job, one);
    }
}

/* Milliseconds until those that wait for a rank that has left are ended; -1: none has. */
static int left_due(const launch_job_t *job)
{
    if (job->left == 0 || job->asked || job->running == 0)
        return -1;
    const int64_t passed_ms = (launch_now() - job->left_since) / 1000000;
    const int64_t left_ms = (int64_t)job->kill_after * 1000 - passed_ms;
    return left_ms > 0 ? (int)left_ms : 0;
}

int launch_verdict_due(const launch_job_t *job)
{
    if (job->failure.since == 0)
        return left_due(job);
    const int64_t lost_ms = job->local < job->size ? DEATH_REMOTE_MS : DEATH_MS;
    const int64_t wait_ms = job->failure.code == LAUNCH_PEER_LOST ? lost_ms : 0;
    const int64_t passed_ms = launch_now() / 1000000 - job->failure.since / 1000000;
    if (passed_ms < wait_ms)
        return (int)(wait_ms - passed_ms);
    return passed_ms < EXIT_MS && is_any_on_its_way_out(job) ? LOOK_MS : 0;
}

static const launch_rank_t *first_left(const launch_job_t *job)
{
    const launch_rank_t *one = job->ranks;
    while (!one->left)
        one++;
    return one;
}

static void say_left(const launch_job_t *job, const char *begin, const char *what_follows)
{
    const launch_rank_t *one = first_left(job);
    char others[32] = "";
    if (job->left > 1)
        snprintf(others, sizeof(others), ", and %d other%s", job->left - 1, job->left > 2 ? "s" : "");
    launch_say("%srank %d on %s%s ended without MPI_Finalize or MPI_Session_finalize%s", begin, one->number,
               job->hosts[one->host].name, others, what_follows);
}

/* Who has left may be why another one failed: that is told first. */
void launch_verdict(launch_job_t *job)
{
    const launch_failure_t *failure = &job->failure;
    const int is_missed = job->left > 0 && (failure->since == 0 || failure->code == LAUNCH_PEER_LOST);
    if (job->ending || (failure->since == 0 && left_due(job) != 0))
        return;
    if (job->left > 0)
        say_left(job, "", is_missed ? "; the job ends" : "");
    if (failure->rank >= 0 && !is_missed)
        say_end(job, &job->ranks[failure->rank], job->ranks[failure->rank].status, "; the job ends");
    launch_end(job, is_missed ? 1 : failure->code);
}

void launch_verdict_end(const launch_job_t *job)
{
    if (job->left > 0 && !job->ending && !job->asked)
        say_left(job, "warning: ", "; each rank has to call it before its end");
}
