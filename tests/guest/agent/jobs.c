/* SPDX-License-Identifier: Apache-2.0
 * jobs.c - the host's commands: each in a session of its own, output through one pipe, ended at its limit.
 *
 * A command ends when its shell ends; what it left in its process group is killed then. Past the limit it gets SIGTERM,
 * 2 s later SIGKILL; one that the kernel does not let go is reported as ended 5 s after that and looked after no more. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

#define KILL_AFTER_MS 2000
#define GIVE_UP_AFTER_MS 5000

enum stage { FREE, RUNS, TERMINATED, KILLED };

static struct job {
    enum stage stage;
    unsigned id;
    pid_t pid;    /* and process group */
    int fd;       /* of its output; -1 once that has ended */
    long next_ms; /* when the next stage is due */
    int over_limit;
} jobs[JOBS];

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void run_shell(const char *command, int output)
{
    static char *environment[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
                                  "LANG=C.UTF-8", "TERM=dumb", NULL};
    char *argv[] = {"bash", "-c", (char *)(unsigned long)command, NULL};
    struct rlimit files = {65536, 65536}, locked = {RLIM_INFINITY, RLIM_INFINITY};
    sigset_t none;
    int input = open("/dev/null", O_RDONLY);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    setrlimit(RLIMIT_NOFILE, &files);
    setrlimit(RLIMIT_MEMLOCK, &locked);
    if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0)
        _exit(126);
    if (input > 2)
        close(input);
    execve("/bin/bash", argv, environment);
    dprintf(2, "agent: cannot run /bin/bash: %s\n", strerror(errno));
    _exit(127);
}

static struct job *find(unsigned id)
{
    for (int i = 0; i < JOBS; i++)
        if (jobs[i].stage != FREE && jobs[i].id == id)
            return &jobs[i];
    return NULL;
}

static void refuse(unsigned id, const char *why)
{
    port_send('O', id, 0, why, strlen(why));
    port_send('X', id, 126, NULL, 0);
}

void job_start(const struct frame *frame)
{
    struct job *job = NULL;
    int pipe_fds[2];
    pid_t pid;
    for (int i = 0; i < JOBS && job == NULL; i++)
        if (jobs[i].stage == FREE)
            job = &jobs[i];
    if (job == NULL || pipe2(pipe_fds, O_CLOEXEC) != 0) {
        refuse(frame->id, "agent: too many commands at once\n");
        return;
    }
    pid = fork();
    if (pid == 0)
        run_shell(frame->data, pipe_fds[1]);
    close(pipe_fds[1]);
    if (pid < 0) {
        close(pipe_fds[0]);
        refuse(frame->id, "agent: cannot fork: the guest has no memory left\n");
        return;
    }
    fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
    *job = (struct job){RUNS, frame->id, pid, pipe_fds[0], now_ms() + frame->value * 1000, 0};
}

static void signal_job(const struct job *job, int number)
{
    if (kill(-job->pid, number) != 0)
        kill(job->pid, number); /* it has just been forked and leads no group yet */
}

void job_signal(unsigned id, int number)
{
    struct job *job = find(id);
    if (job != NULL)
        signal_job(job, number);
}

int job_poll_fds(struct pollfd *fds)
{
    int count = 0;
    for (int i = 0; i < JOBS; i++)
        if (jobs[i].stage != FREE && jobs[i].fd >= 0)
            fds[count++] = (struct pollfd){jobs[i].fd, POLLIN, 0};
    return count;
}

/* One piece of output; 0 when there is none now. */
static int forward(struct job *job)
{
    static char data[32768];
    ssize_t length = read(job->fd, data, sizeof(data));
    if (length > 0) {
        port_send('O', job->id, 0, data, (size_t)length);
        return 1;
    }
    if (length == 0 || errno != EAGAIN) {
        close(job->fd);
        job->fd = -1;
    }
    return 0;
}

void job_output(int fd)
{
    for (int i = 0; i < JOBS; i++)
        if (jobs[i].stage != FREE && jobs[i].fd == fd)
            (void)forward(&jobs[i]);
}

static void finish(struct job *job, int status)
{
    for (int i = 0; i < 4 && job->fd >= 0 && forward(job); i++)
        continue; /* at most what a pipe holds: a daemon may go on writing */
    if (job->fd >= 0)
        close(job->fd);
    port_send('X', job->id, job->over_limit ? STATUS_LIMIT : status, NULL, 0);
    job->stage = FREE;
}

void job_reap(void)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (int i = 0; i < JOBS; i++) {
            if (jobs[i].stage == FREE || jobs[i].pid != pid)
                continue;
            kill(-pid, SIGKILL);
            finish(&jobs[i], WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        }
    }
}

static void next_stage(struct job *job, long now)
{
    static const char stuck[] = "agent: the command is stuck in the kernel and was given up\n";
    job->over_limit = 1;
    if (job->stage == RUNS) {
        signal_job(job, SIGTERM);
        job->stage = TERMINATED;
        job->next_ms = now + KILL_AFTER_MS;
    } else if (job->stage == TERMINATED) {
        signal_job(job, SIGKILL);
        job->stage = KILLED;
        job->next_ms = now + GIVE_UP_AFTER_MS;
    } else {
        port_send('O', job->id, 0, stuck, sizeof(stuck) - 1);
        finish(job, STATUS_LIMIT);
    }
}

int job_limits(void)
{
    long now = now_ms(), wait = -1;
    for (int i = 0; i < JOBS; i++) {
        if (jobs[i].stage != FREE && jobs[i].next_ms <= now)
            next_stage(&jobs[i], now);
        if (jobs[i].stage != FREE && (wait < 0 || jobs[i].next_ms - now < wait))
            wait = jobs[i].next_ms > now ? jobs[i].next_ms - now : 0;
    }
    return (int)wait;
}
