/* SPDX-License-Identifier: Apache-2.0
 * start.c - starting the ranks of this host. Each gets the socket of PMI-1, the descriptor with the job key, pipes for its
 * output; rank 0 has our stdin. A rank ends with us, however we end.
 */
#include "launch/launch.h"
#include "launch/sink.h"

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

#define STARTING 8   /* descriptors more while a rank is started */
#define FD_LEAST 500 /* scripts number their own descriptors from 3 on, and do so without a look (`exec 3>file`) */

static int failed(const char *what)
{
    launch_say("%s: %s", what, strerror(errno));
    return -1;
}

/* The key of the job in memory that only the ranks inherit. */
static int keep_key(launch_job_t *job)
{
    job->key_fd = memfd_create("verbena-job-key", MFD_CLOEXEC);
    return job->key_fd >= 0 && pwrite(job->key_fd, job->key, sizeof(job->key), 0) == sizeof(job->key)
               ? 0
               : failed("job key");
}

/* Ranks inherit the limit: a peer over shared memory takes up to three descriptors. For us: the three ends of each rank that we
 * keep, twice those of one that is being started, the channels of other hosts; open_now is the first that is free. */
static int raise_limits(const launch_job_t *job, int open_now)
{
    struct rlimit limit;
    const rlim_t needed = (rlim_t)open_now + 3 * (rlim_t)job->local + 2 * (rlim_t)job->host_count + STARTING;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= needed)
        return 0;
    launch_say(
        "%d ranks on this host take %llu descriptors, and the limit is %llu: raise it (ulimit -n %llu; the hard one, "
        "ulimit -Hn, too), or take more hosts",
        job->local, (unsigned long long)needed, (unsigned long long)limit.rlim_cur, (unsigned long long)needed);
    return -1;
}

int launch_prepare(launch_job_t *job)
{
    launch_adopt();
    (void)unsetenv("PMI_PORT");
    return keep_key(job) == 0 ? raise_limits(job, job->key_fd + 1) : -1;
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

/* What programs of other MPI libraries read before MPI_Init. */
static void set_places(const launch_job_t *job, const launch_rank_t *one)
{
    const int known = job->hosts[one->host].ranks; /* a daemon has the ranks of one host only */
    const int local = known > 0 ? known : job->local;
    int before = 0;
    for (const launch_rank_t *other = job->ranks; other < one; other++)
        before += other->host == one->host;
    set_number("OMPI_COMM_WORLD_SIZE", job->size);
    set_number("OMPI_COMM_WORLD_RANK", one->number);
    set_number("OMPI_COMM_WORLD_LOCAL_SIZE", local);
    set_number("OMPI_COMM_WORLD_LOCAL_RANK", before);
    set_number("OMPI_COMM_WORLD_NODE_RANK", before);
    set_number("OMPI_UNIVERSE_SIZE", job->size);
    set_number("MPI_LOCALNRANKS", local);
    set_number("MPI_LOCALRANKID", before);
}

/* The descriptor as the rank's program has it: open, and with a high number, unless ulimit -n is low. */
static int handed_over(int fd)
{
    const int high = fcntl(fd, F_DUPFD, FD_LEAST);
    if (high >= 0)
        return high;
    (void)fcntl(fd, F_SETFD, 0); /* without close-on-exec */
    return fd;
}

static void set_environment(const launch_job_t *job, const launch_rank_t *one, int pmi)
{
    const launch_part_t *part = &job->parts[one->part];
    set_number("PMI_FD", handed_over(pmi));
    set_number("PMI_RANK", one->number);
    set_number("PMI_SIZE", job->size);
    set_number("VERBENA_KEY_FD", handed_over(job->key_fd));
    set_number("VERBENA_HOST_RANKS", job->local);
    set_places(job, one);
    if (job->hosts[one->host].fake)
        set_number("VBN_TL_SHM_GROUP", one->host + 1);
    for (int i = 0; i < part->environment_count; i++)
        (void)setenv(part->environment[2 * i], part->environment[2 * i + 1], 1);
    launch_family_environment(part->arguments[0]);
}

/* A name without a slash is looked for in the PATH alone. */
static void say_why(const char *program, const char *host, int error)
{
    if (error != ENOENT || strchr(program, '/') != NULL)
        launch_say("cannot run %s on %s: %s", program, host, strerror(error));
    else if (access(program, X_OK) == 0)
        launch_say("cannot run %s on %s: no folder of PATH has it; for the file of this folder write ./%s", program,
                   host, program);
    else
        launch_say("cannot run %s on %s: no folder of PATH has it; give the program's path", program, host);
}

/* In the child. */
__attribute__((noreturn)) static void become(const launch_job_t *job, const launch_rank_t *one, const ends_t *ends,
                                             pid_t parent)
{
    const launch_part_t *part = &job->parts[one->part];
    const char *host = job->hosts[one->host].name;
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    if (job->apart)
        (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    const int input = one->input >= 0 ? one->input : one->number == 0 ? 0 : open("/dev/null", O_RDONLY);
    if (input > 0)
        (void)dup2(input, 0);
    (void)dup2(ends->pipes[0][1], 1);
    (void)dup2(ends->pipes[1][1], 2);
    sink_leave();
    set_environment(job, one, ends->socket[1]);
    if (part->folder != NULL && chdir(part->folder) != 0) {
        launch_say("-wdir %s on %s: %s", part->folder, host, strerror(errno));
        _exit(127);
    }
    execvp(part->arguments[0], part->arguments);
    say_why(part->arguments[0], host, errno);
    _exit(127);
}

int launch_start_rank(launch_job_t *job, launch_rank_t *one)
{
    const pid_t parent = getpid();
    ends_t ends;
    if (open_ends(&ends) != 0)
        return -1;
    one->pid = fork();
    if (one->pid < 0) {
        launch_say(
            "rank %d of %d cannot be started: %s; see how many processes this user may have (ulimit -u) and this "
            "container (pids.max), or take fewer ranks",
            one->number, job->size, strerror(errno));
        return -1;
    }
    if (one->pid == 0)
        become(job, one, &ends, parent);
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

/* Other hosts first: their daemons start while we start ours. */
int launch_start(launch_job_t *job)
{
    if (getrandom(job->key, sizeof(job->key), 0) != sizeof(job->key))
        return failed("job key");
    if (launch_prepare(job) != 0)
        return -1;
    for (int i = 0; i < job->host_count; i++)
        if (job->hosts[i].remote && job->hosts[i].ranks > 0 && launch_remote_start(job, i) != 0)
            return -1;
    for (int i = 0; i < job->size; i++)
        if (!job->hosts[job->ranks[i].host].remote && launch_start_rank(job, &job->ranks[i]) != 0)
            return -1;
    return 0;
}
