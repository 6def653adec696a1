/* SPDX-License-Identifier: Apache-2.0
 * mpiexec.c - the poll loop: output, PMI, other hosts, ends of ranks. The exit code is that of the first rank that failed.
 */
#include "launch/launch.h"
#include "launch/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_MS 5000 /* that killed ranks on other hosts may take to end */

static int rank_of(const launch_job_t *job, pid_t pid)
{
    for (int i = 0; i < job->size; i++)
        if (job->ranks[i].pid == pid)
            return i;
    return -1;
}

/* always: also while the sinks are full. */
static void drain(launch_job_t *job, launch_rank_t *one, int always)
{
    for (int i = 0; i < 2; i++)
        if (one->streams[i].fd >= 0)
            (void)launch_output_read(job, one, &one->streams[i], always);
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
    const int expected = job->ending || job->asked;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        const int rank = rank_of(job, pid);
        if (rank < 0) {
            launch_remote_reaped(job, pid, status);
            continue;
        }
        ended[count].rank = rank;
        ended[count++].status = status;
    }
    for (int i = 0; i < count; i++) /* what a rank has said comes before what is said of it */
        drain(job, &job->ranks[ended[i].rank], !expected && ended[i].status != 0);
    for (int by_signal = 1; by_signal >= 0; by_signal--)
        for (int i = 0; i < count; i++)
            if (WIFSIGNALED(ended[i].status) == by_signal && !expected && !job->ending)
                launch_judge(job, ended[i].rank, ended[i].status);
    for (int i = 0; i < count; i++)
        job->ranks[ended[i].rank].pid = 0;
    job->running -= count;
    free(ended);
}

typedef struct loop {
    struct pollfd *entries; /* signals, stdin, sinks, two of each host, three of each rank of this host; -1: none */
    nfds_t count;           /* the kernel takes no more than descriptors may be open, whatever is in them */
    launch_job_t *job;
} loop_t;

static int is_here(const launch_job_t *job, const launch_rank_t *one)
{
    return !job->hosts[one->host].remote;
}

static int wants_input(const launch_job_t *job)
{
    return job->ranks[0].away && !job->input_ended && job->input < LAUNCH_INPUT;
}

static void fill(const loop_t *loop)
{
    const launch_job_t *job = loop->job;
    const int full[] = {sink_is_full(STDOUT_FILENO), sink_is_full(STDERR_FILENO)};
    struct pollfd *next = loop->entries;
    *next++ = (struct pollfd){.fd = job->signals, .events = POLLIN};
    *next++ = (struct pollfd){.fd = wants_input(job) ? 0 : -1, .events = POLLIN};
    *next++ = (struct pollfd){.fd = job->sinks, .events = POLLIN};
    for (int i = 0; i < job->host_count; i++) {
        const launch_channel_t *channel = &job->hosts[i].channel;
        *next++ = (struct pollfd){.fd = channel->in, .events = POLLIN};
        *next++ = (struct pollfd){.fd = channel_waiting(channel) > 0 ? channel->out : -1, .events = POLLOUT};
    }
    for (int i = 0; i < job->size; i++) {
        const launch_rank_t *one = &job->ranks[i];
        if (!is_here(job, one))
            continue;
        *next++ = (struct pollfd){.fd = full[0] ? -1 : one->streams[0].fd, .events = POLLIN};
        *next++ = (struct pollfd){.fd = full[1] ? -1 : one->streams[1].fd, .events = POLLIN};
        *next++ = (struct pollfd){.fd = one->pmi, .events = POLLIN};
    }
}

/* Output before PMI: what a rank wrote before it aborts is shown. */
static void serve(const loop_t *loop)
{
    launch_job_t *job = loop->job;
    const struct pollfd *next = loop->entries + 1;
    if (next++->revents && wants_input(job))
        launch_remote_feed(job);
    if (next++->revents)
        launch_output_look(job);
    for (int i = 0; i < job->host_count; i++, next += 2)
        if (next[0].revents | next[1].revents)
            launch_remote_serve(job, i);
    for (int i = 0; i < job->size; i++) {
        launch_rank_t *one = &job->ranks[i];
        if (!is_here(job, one))
            continue;
        if (next[0].revents | next[1].revents)
            drain(job, one, 0);
        if (next[2].revents && one->pmi >= 0)
            launch_pmi_read(job, one, launch_pmi_line);
        next += 3;
    }
}

static int earlier(int left, int right)
{
    return left < 0 || (right >= 0 && right < left) ? right : left;
}

/* Milliseconds until something is due without news; -1: nothing is. 0: the job ends now. */
static int due(const launch_job_t *job)
{
    if (!job->ending)
        return earlier(launch_verdict_due(job), launch_ask_due(job));
    const int64_t left = job->ended / 1000000 + END_MS - launch_now() / 1000000;
    return left > 0 ? (int)left : 0;
}

/* 0: hosts do not answer, and are not waited for any longer. Ranks of this one end by their signal. */
static int is_worth_waiting(launch_job_t *job)
{
    int worth = 0;
    if (job->hasty)
        return 0;
    if (due(job) != 0)
        return 1;
    if (!job->ending) {
        launch_ask_over(job);
        launch_verdict(job);
        return 1;
    }
    for (int i = 0; i < job->size; i++)
        worth |= job->ranks[i].pid > 0;
    for (int i = 0; i < job->host_count && !worth; i++)
        if (job->hosts[i].running > 0)
            launch_say("host %s does not say that its ranks have ended; look for them there", job->hosts[i].name);
    job->ended = launch_now();
    return worth;
}

int launch_run(launch_job_t *job)
{
    const nfds_t count = 3 * (nfds_t)job->local + 2 * (nfds_t)job->host_count + 3;
    const loop_t loop = {.entries = calloc(count, sizeof(*loop.entries)), .count = count, .job = job};
    if (loop.entries == NULL) {
        launch_say("no memory left");
        launch_end(job, 1);
        return job->code;
    }
    while ((job->running > 0 || launch_is_leaving(job)) && is_worth_waiting(job)) {
        fill(&loop);
        if (poll(loop.entries, count, earlier(due(job), launch_output_due(job))) < 0 && errno != EINTR) {
            launch_say("cannot wait for the ranks: %s; the job ends", strerror(errno));
            launch_end(job, 1);
            break;
        }
        serve(&loop);
        if (job->sinks < 0) /* nobody wakes us: what was put is written, or has failed */
            launch_output_look(job);
        launch_remote_credit(job);
        launch_on_signals(job);
        reap(job);
    }
    launch_verdict(job);
    launch_verdict_end(job);
    launch_output_finish(job);
    free(loop.entries);
    return job->code;
}

/* Daemons end when they have nothing to say any more, and ssh with them. */
static void part_with_hosts(launch_job_t *job)
{
    struct pollfd entry = {.fd = job->signals, .events = POLLIN};
    int left;
    for (int i = 0; i < job->host_count; i++)
        channel_close(&job->hosts[i].channel);
    do { /* the signal of an end may have been taken already */
        launch_on_signals(job);
        reap(job);
        left = 0;
        for (int i = 0; i < job->host_count; i++)
            left += job->hosts[i].pid > 0;
    } while (left > 0 && !job->hasty && poll(&entry, 1, END_MS) > 0);
    for (int i = 0; i < job->host_count; i++)
        if (job->hosts[i].pid > 0)
            (void)kill(-job->hosts[i].pid, SIGKILL);
}

void launch_free(launch_job_t *job)
{
    launch_pmi_free(job);
    for (int i = 0; i < job->host_count; i++)
        free((char *)(uintptr_t)job->hosts[i].name);
    for (int i = 0; i < job->part_count; i++) {
        free(job->parts[i].environment);
        free(job->parts[i].hosts.hosts);
        free(job->parts[i].hosts.slots);
    }
    free(job->hosts);
    free(job->list.hosts);
    free(job->list.slots);
    free(job->mapping);
    free(job->ranks);
    free(job->parts);
}

/* Who has closed 0, 1 or 2 shall not find our files there, the job key for one. */
static void plug(void)
{
    int fd;
    while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= STDERR_FILENO)
        ;
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    launch_job_t job = {0};
    plug();
    if (argc == 2 && strcmp(argv[1], "--daemon") == 0)
        return launch_daemon();
    launch_parse(&job, argc, argv);
    (void)signal(SIGPIPE, SIG_IGN);
    job.signals = launch_all_signals();
    (void)alarm((unsigned)job.timeout);
    job.sinks = sink_start();
    if (job.signals < 0 || launch_start(&job) != 0)
        launch_end(&job, 1);
    (void)launch_run(&job);
    part_with_hosts(&job);
    if (job.ending)
        launch_end_orphans();
    launch_output_flush(&job);
    launch_free(&job);
    return job.code != 0 ? job.code : job.output_lost;
}
