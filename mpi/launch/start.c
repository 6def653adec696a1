/* SPDX-License-Identifier: Apache-2.0
 * start.c - starting the ranks. Each gets the socket of PMI-1, the descriptor with the job key, pipes for its
 * output; rank 0 has our stdin. A rank ends with us, however we end.
 */
#include "launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEY_BYTES 32

static int failed(const char *what)
{
    fprintf(stderr, "mpiexec: %s: %s\n", what, strerror(errno));
    return -1;
}

/* The key of this job, in memory that only the ranks inherit. */
static int make_key(void)
{
    unsigned char key[KEY_BYTES];
    const int fd = memfd_create("verbena-job-key", 0);
    if (fd < 0 || getrandom(key, sizeof(key), 0) != sizeof(key) || pwrite(fd, key, sizeof(key), 0) != sizeof(key))
        return failed("job key");
    return fd;
}

/* A peer over shared memory takes up to three descriptors. */
static void raise_limits(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", value);
    (void)setenv(name, text, 1);
}

typedef struct ends {
    int socket[2];
    int pipes[2][2];
} ends_t;

static int open_ends(ends_t *ends)
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends->socket) != 0)
        return failed("socket of a rank");
    for (int i = 0; i < 2; i++)
        if (pipe2(ends->pipes[i], O_CLOEXEC) != 0)
            return failed("pipe of a rank");
    return 0;
}

/* In the child. */
__attribute__((noreturn)) static void become(const launch_job_t *job, int rank, const ends_t *ends, pid_t parent)
{
    const launch_part_t *part = &job->parts[job->ranks[rank].part];
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    (void)dup2(ends->pipes[0][1], 1);
    (void)dup2(ends->pipes[1][1], 2);
    if (rank != 0) {
        const int nothing = open("/dev/null", O_RDONLY);
        if (nothing >= 0)
            (void)dup2(nothing, 0);
    }
    const int pmi = dup(ends->socket[1]); /* without close-on-exec */
    set_number("PMI_FD", pmi);
    set_number("PMI_RANK", rank);
    set_number("PMI_SIZE", job->size);
    set_number("VERBENA_KEY_FD", job->key_fd);
    for (int i = 0; i < part->environment_count; i++)
        (void)setenv(part->environment[2 * i], part->environment[2 * i + 1], 1);
    if (part->folder != NULL && chdir(part->folder) != 0) {
        fprintf(stderr, "mpiexec: -wdir %s: %s\n", part->folder, strerror(errno));
        _exit(127);
    }
    execvp(part->arguments[0], part->arguments);
    fprintf(stderr, "mpiexec: cannot run %s: %s\n", part->arguments[0], strerror(errno));
    _exit(127);
}

static int start_rank(launch_job_t *job, int rank, int part)
{
    launch_rank_t *one = &job->ranks[rank];
    const pid_t parent = getpid();
    ends_t ends;
    if (open_ends(&ends) != 0)
        return -1;
    one->part = part;
    one->pid = fork();
    if (one->pid < 0)
        return failed("fork");
    if (one->pid == 0)
        become(job, rank, &ends, parent);
    job->running++;
    one->pmi = ends.socket[0];
    (void)fcntl(one->pmi, F_SETFL, O_NONBLOCK);
    close(ends.socket[1]);
    for (int i = 0; i < 2; i++) {
        one->streams[i] = (launch_stream_t){.fd = ends.pipes[i][0], .target = i + 1};
        (void)fcntl(ends.pipes[i][0], F_SETFL, O_NONBLOCK);
        close(ends.pipes[i][1]);
    }
    return 0;
}

int launch_start(launch_job_t *job)
{
    raise_limits();
    (void)unsetenv("PMI_PORT");
    job->key_fd = make_key();
    job->ranks = calloc((size_t)job->size, sizeof(*job->ranks));
    if (job->key_fd < 0 || job->ranks == NULL)
        return -1;
    for (int i = 0; i < job->size; i++)
        job->ranks[i].pmi = job->ranks[i].streams[0].fd = job->ranks[i].streams[1].fd = -1;
    for (int part = 0, rank = 0; part < job->part_count; part++)
        for (int i = 0; i < job->parts[part].ranks; i++, rank++)
            if (start_rank(job, rank, part) != 0)
                return -1;
    return 0;
}
