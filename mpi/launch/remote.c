/* SPDX-License-Identifier: Apache-2.0
 * remote.c - the side of mpiexec for other hosts: ssh starts a daemon there, frames go over its stdin and stdout. Nothing
 * listens, and the job key travels encrypted.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/launch.h"
#include "launch/sink.h"

#define NO_SSH 126 /* exit code of the child that could not become ssh */
#define NOT_FOUND 127
#define SSH_FAILED 255

/* What the login shell of the other host runs. */
static int make_command(char *command, size_t capacity)
{
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (length <= 0)
        return -1;
    path[length] = 0;
    if (strchr(path, '\'') != NULL)
        return -1;
    return snprintf(command, capacity, "exec '%s' --daemon", path) < (int)capacity ? 0 : -1;
}

/* In the child. A signal of the terminal is mpiexec's, so it leaves that process group. */
__attribute__((noreturn)) static void become_ssh(const launch_job_t *job, const char *name, const char *command,
                                                 const int *ends, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    (void)dup2(ends[0], 0);
    (void)dup2(ends[1], 1);
    sink_leave();
    execlp(job->ssh, job->ssh, "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=30", name, command, (char *)NULL);
    launch_say("cannot run %s: %s; install openssh-client, or name another program by -launcher-exec", job->ssh,
               strerror(errno));
    _exit(NO_SSH);
}

static int open_pipes(int to[2], int from[2])
{
    if (pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0)
        return 0;
    launch_say("pipes of a host: %s", strerror(errno));
    return -1;
}

static int send_config(launch_job_t *job, int host)
{
    launch_bytes_t bytes = {0};
    int rc = launch_config_put(job, host, &bytes);
    if (rc == 0)
        (void)channel_send(&job->hosts[host].channel, FRAME_CONFIG, 0, bytes.data, bytes.length);
    else
        launch_say("host %s: programs and environment are more than %u bytes", job->hosts[host].name, CHANNEL_MOST);
    free(bytes.data);
    return rc;
}

int launch_remote_start(launch_job_t *job, int host)
{
    launch_host_t *there = &job->hosts[host];
    const pid_t parent = getpid();
    char command[PATH_MAX + 64];
    int to[2];
    int from[2];
    if (make_command(command, sizeof(command)) != 0) {
        launch_say("its own path, which other hosts have to run, cannot be read or has a quote in it");
        return -1;
    }
    if (open_pipes(to, from) != 0)
        return -1;
    there->pid = fork();
    if (there->pid == 0)
        become_ssh(job, there->name, command, (const int[]){to[0], from[1]}, parent);
    close(to[0]);
    close(from[1]);
    (void)fcntl(to[1], F_SETFL, O_NONBLOCK);
    (void)fcntl(from[0], F_SETFL, O_NONBLOCK);
    there->channel = (launch_channel_t){.in = from[0], .out = to[1]};
    if (there->pid < 0) {
        there->pid = 0;
        launch_say("fork: %s", strerror(errno));
        return -1;
    }
    there->running = there->ranks;
    job->running += there->ranks;
    for (int i = 0; i < job->size; i++)
        job->ranks[i].away = job->ranks[i].away || job->ranks[i].host == host;
    return send_config(job, host);
}

static void say_why(const launch_job_t *job, const launch_host_t *host)
{
    const int code = host->pid == 0 && WIFEXITED(host->status) ? WEXITSTATUS(host->status) : -1;
    const char *name = host->name;
    if (host->channel.greeted)
        launch_say("host %s: its daemon, or the connection to it, ended; the job ends", name);
    else if (code == NO_SSH)
        launch_say("host %s: %s cannot be run; the job ends", name, job->ssh);
    else if (code == NOT_FOUND)
        launch_say("host %s: this mpiexec is not there; install Verbena at the same path on every host; the job ends",
                   name);
    else if (code == SSH_FAILED)
        launch_say(
            "host %s: %s cannot log in; 'ssh -o BatchMode=yes %s true' has to work without a question; the job ends",
            name, job->ssh, name);
    else if (code >= 0)
        launch_say("host %s: %s ended with exit code %d before the daemon answered; the job ends", name, job->ssh,
                   code);
    else
        launch_say("host %s: %s ended before the daemon answered; the job ends", name, job->ssh);
}

/* The host is no part of the job any more. text: what it said; NULL: nothing. */
static void lose(launch_job_t *job, launch_host_t *host, const char *text)
{
    if (host->lost)
        return;
    host->lost = 1;
    const int was_needed = host->running > 0 && !job->ending;
    if (was_needed && text != NULL)
        launch_say("host %s: %s; the job ends", host->name, text);
    else if (was_needed)
        say_why(job, host);
    job->running -= host->running;
    host->running = 0;
    channel_close(&host->channel);
    if (was_needed)
        launch_end(job, 1);
}

static void on_exit_of(launch_job_t *job, launch_rank_t *one, int status)
{
    for (int i = 0; i < 2; i++)
        launch_output_end(job, one, &one->streams[i]);
    one->away = 0;
    job->hosts[one->host].running--;
    job->running--;
    if (!job->ending && !job->asked)
        launch_judge(job, one->number, status);
}

static void on_output(launch_job_t *job, launch_host_t *host, launch_rank_t *one, const launch_frame_t *frame)
{
    const int which = frame->type == FRAME_ERR;
    host->owed[which] += frame->length;
    launch_output_put(job, one, &one->streams[which], frame->payload, frame->length);
}

/* -1: not what a daemon says. */
static int on_frame(launch_job_t *job, launch_host_t *host, const launch_frame_t *frame)
{
    char line[LAUNCH_LINE];
    const int length = frame->length < sizeof(line) ? (int)frame->length : (int)sizeof(line) - 1;
    snprintf(line, sizeof(line), "%.*s", length, (const char *)frame->payload);
    if (frame->type == FRAME_FAILED) {
        lose(job, host, line);
        return 0;
    }
    if (frame->rank >= (uint32_t)job->size)
        return -1;
    launch_rank_t *one = &job->ranks[frame->rank];
    const int is_output = frame->type == FRAME_OUT || frame->type == FRAME_ERR;
    if (&job->hosts[one->host] != host || (!one->away && frame->type == FRAME_EXIT))
        return -1; /* what a rank has left behind may write, read and speak by PMI */
    const size_t number = frame->length == 4 ? channel_number(frame->payload) : 0;
    if (frame->type == FRAME_PMI && frame->length < sizeof(line))
        launch_pmi_line(job, one, line);
    else if (is_output)
        on_output(job, host, one, frame);
    else if (frame->type == FRAME_INPUT && frame->length == 4)
        job->input -= number < job->input ? number : job->input;
    else if (frame->type == FRAME_EXIT && frame->length == 4)
        on_exit_of(job, one, (int)number);
    else
        return -1;
    return 0;
}

/* Before the daemon has answered, ssh's exit code says what is wrong: it comes with launch_remote_reaped. */
void launch_remote_serve(launch_job_t *job, int host)
{
    launch_host_t *there = &job->hosts[host];
    launch_frame_t frame;
    int rc = 0;
    const int ended = channel_read(&there->channel) != 0;
    while (!there->lost && (rc = channel_next(&there->channel, &frame)) > 0 && on_frame(job, there, &frame) == 0)
        ;
    if (rc != 0) {
        lose(job, there, "it sends frames that no daemon of Verbena sends");
        if (there->pid > 0) /* of no use any more, nor is what it started */
            (void)kill(-there->pid, SIGKILL);
    } else if (ended && (there->channel.greeted || there->pid == 0))
        lose(job, there, NULL);
    else if (ended && there->channel.in >= 0) {
        close(there->channel.in);
        there->channel.in = -1;
    } else
        (void)channel_flush(&there->channel);
}

void launch_remote_reaped(launch_job_t *job, pid_t pid, int status)
{
    for (int i = 0; i < job->host_count; i++) {
        launch_host_t *host = &job->hosts[i];
        if (host->pid != pid)
            continue;
        host->pid = 0;
        host->status = status;
        launch_remote_serve(job, i);
        lose(job, host, NULL);
    }
}

/* Reads our stdin for a rank 0 elsewhere. */
void launch_remote_feed(launch_job_t *job)
{
    char bytes[16384];
    const ssize_t n = read(0, bytes, sizeof(bytes));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    job->input_ended = n <= 0;
    job->input += n > 0 ? (size_t)n : 0;
    (void)channel_send(&job->hosts[job->ranks[0].host].channel, FRAME_INPUT, 0, bytes, n > 0 ? (size_t)n : 0);
}

/* In large pieces: the other side may have LAUNCH_OUTPUT bytes on their way. */
void launch_remote_credit(launch_job_t *job)
{
    for (int i = 0; i < 2 * job->host_count; i++) {
        launch_host_t *host = &job->hosts[i / 2];
        const int which = i % 2;
        if (host->owed[which] < LAUNCH_OUTPUT / 4 || host->lost || sink_is_full(which + 1))
            continue;
        (void)channel_send_number(&host->channel, which == 0 ? FRAME_OUT : FRAME_ERR, 0, (uint32_t)host->owed[which]);
        host->owed[which] = 0;
    }
}
