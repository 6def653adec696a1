/* SPDX-License-Identifier: Apache-2.0
 * mpiexec.c - the poll loop: output, PMI, ends of ranks. The exit code is that of the first rank that failed.
 */
#include "launch/launch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

void launch_end(launch_job_t *job, int code)
{
    if (job->code == 0)
        job->code = code;
    if (job->ending)
        return;
    job->ending = 1;
    /* Stopped first: nobody sees another one end and complains. */
    for (int i = 0; i < job->size; i++)
        if (job->ranks[i].pid > 0)
            (void)kill(job->ranks[i].pid, SIGSTOP);
    for (int i = 0; i < job->size; i++)
        if (job->ranks[i].pid > 0)
            (void)kill(job->ranks[i].pid, SIGKILL);
}

static int rank_of(const launch_job_t *job, pid_t pid)
{
    for (int i = 0; i < job->size; i++)
        if (job->ranks[i].pid == pid)
            return i;
    return -1;
}

/* Whether a rank that ended without being told to ends the job. */
static void judge(launch_job_t *job, int rank, int status)
{
    char host[256] = "";
    const launch_rank_t *one = &job->ranks[rank];
    (void)gethostname(host, sizeof(host) - 1);
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "mpiexec: rank %d on %s ended by signal %d (%s)%s; the job ends\n", rank, host,
                WTERMSIG(status), strsignal(WTERMSIG(status)), WCOREDUMP(status) ? ", core dumped" : "");
        launch_end(job, 128 + WTERMSIG(status));
    } else if (WEXITSTATUS(status) == LAUNCH_PEER_LOST && !job->complained) {
        job->complained = 1;
    } else if (WEXITSTATUS(status) != 0) {
        fprintf(stderr, "mpiexec: rank %d on %s ended with exit code %d; the job ends\n", rank, host,
                WEXITSTATUS(status));
        launch_end(job, WEXITSTATUS(status));
    } else if (one->initialized) {
        fprintf(stderr, "mpiexec: rank %d on %s ended without MPI_Finalize; the job ends\n", rank, host);
        launch_end(job, 1);
    }
}

static void drain(launch_job_t *job, int rank)
{
    for (int i = 0; i < 2; i++)
        if (job->ranks[rank].streams[i].fd >= 0)
            launch_output_read(job, rank, &job->ranks[rank].streams[i]);
}

/* Deaths by signal first: what they caused in other ranks may have been seen already. */
static void reap(launch_job_t *job)
{
    struct {
        int rank;
        int status;
    } *ended = calloc((size_t)job->size, sizeof(*ended));
    int count = 0;
    int status;
    pid_t pid;
    if (ended == NULL)
        return;
    const int killed = job->ending;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        const int rank = rank_of(job, pid);
        if (rank < 0)
            continue;
        ended[count].rank = rank;
        ended[count++].status = status;
    }
    for (int i = 0; i < count; i++)
        drain(job, ended[i].rank);
    for (int by_signal = 1; by_signal >= 0; by_signal--)
        for (int i = 0; i < count; i++)
            if (WIFSIGNALED(ended[i].status) == by_signal && !killed && !job->ending)
                judge(job, ended[i].rank, ended[i].status);
    for (int i = 0; i < count; i++)
        job->ranks[ended[i].rank].pid = 0;
    job->running -= count;
    free(ended);
}

static void on_signal(launch_job_t *job)
{
    struct signalfd_siginfo info;
    while (read(job->signals, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        fprintf(stderr, "mpiexec: signal %u (%s); the job ends\n", info.ssi_signo, strsignal((int)info.ssi_signo));
        launch_end(job, 128 + (int)info.ssi_signo);
    }
    reap(job);
}

#define DEATH_MS 100 /* between the last word of a process on its connections and its end */

void launch_wait_for_death(launch_job_t *job)
{
    struct pollfd entry = {.fd = job->signals, .events = POLLIN};
    while (!job->ending && poll(&entry, 1, DEATH_MS) > 0)
        on_signal(job);
}

typedef struct loop {
    struct pollfd *entries; /* the signals first, then three of each rank; -1: none */
    launch_job_t *job;
} loop_t;

static void fill(const loop_t *loop)
{
    loop->entries[0] = (struct pollfd){.fd = loop->job->signals, .events = POLLIN};
    for (int i = 0; i < loop->job->size; i++) {
        const launch_rank_t *one = &loop->job->ranks[i];
        loop->entries[3 * i + 1] = (struct pollfd){.fd = one->streams[0].fd, .events = POLLIN};
        loop->entries[3 * i + 2] = (struct pollfd){.fd = one->streams[1].fd, .events = POLLIN};
        loop->entries[3 * i + 3] = (struct pollfd){.fd = one->pmi, .events = POLLIN};
    }
}

/* Output before PMI: what a rank wrote before it aborts is shown. */
static void serve(const loop_t *loop)
{
    for (int i = 0; i < loop->job->size; i++) {
        if (loop->entries[3 * i + 1].revents | loop->entries[3 * i + 2].revents)
            drain(loop->job, i);
        if (loop->entries[3 * i + 3].revents && loop->job->ranks[i].pmi >= 0)
            launch_pmi_read(loop->job, i);
    }
}

/* A program that a rank left behind may hold its pipes open: they are not waited for. */
int launch_run(launch_job_t *job)
{
    const nfds_t count = 3 * (nfds_t)job->size + 1;
    const loop_t loop = {.entries = calloc(count, sizeof(*loop.entries)), .job = job};
    if (loop.entries == NULL) {
        fprintf(stderr, "mpiexec: no memory left\n");
        launch_end(job, 1);
        return job->code;
    }
    while (job->running > 0) {
        fill(&loop);
        if (poll(loop.entries, count, -1) < 0 && errno != EINTR)
            break;
        serve(&loop);
        on_signal(job);
        if (job->complained && !job->ending) {
            launch_wait_for_death(job);
            launch_end(job, LAUNCH_PEER_LOST);
        }
    }
    for (int i = 0; i < job->size; i++)
        drain(job, i);
    free(loop.entries);
    return job->code;
}

int main(int argc, char **argv)
{
    launch_job_t job = {0};
    sigset_t handled;
    launch_parse(&job, argc, argv);
    sigemptyset(&handled);
    sigaddset(&handled, SIGCHLD);
    sigaddset(&handled, SIGINT);
    sigaddset(&handled, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &handled, NULL);
    job.signals = signalfd(-1, &handled, SFD_NONBLOCK | SFD_CLOEXEC);
    if (job.signals < 0 || launch_start(&job) != 0) {
        if (job.ranks != NULL)
            launch_end(&job, 1);
        return 1;
    }
    const int code = launch_run(&job);
    launch_pmi_free(&job);
    free(job.ranks);
    for (int i = 0; i < job.part_count; i++)
        free(job.parts[i].environment);
    free(job.parts);
    return code;
}
