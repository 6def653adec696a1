/* SPDX-License-Identifier: Apache-2.0
 * orphans.c - what ranks have started: a script's program is the rank, and only the script is our child. When a process
 * between has ended, the kernel makes its children ours (launch_adopt). So the end of a job reaches them all, whatever
 * session or group they are in, each generation when the one before it has been killed. A signal reaches all generations at once.
 */
#include "launch/launch.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 5000000000LL /* a process that the kernel does not let go is left alone then */
#define STOPS 32                 /* looks for processes that came while others were stopped */
#define STOP_NS 1000000L         /* between two of them */
#define LOOK_NS 20000000L        /* a child may have come between looking and waiting */

void launch_adopt(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}

typedef struct member {
    pid_t pid;
    pid_t parent;
    char state;
} member_t;

/* All processes of this host, by their ids. */
typedef struct family {
    member_t *members;
    size_t count;
} family_t;

static int compare(const void *left, const void *right)
{
    const pid_t a = ((const member_t *)left)->pid;
    const pid_t b = ((const member_t *)right)->pid;
    return (a > b) - (a < b);
}

static int add(family_t *family, pid_t pid)
{
    launch_process_t process;
    if (launch_process(pid, &process) != 0)
        return 0;
    member_t *more = realloc(family->members, (family->count + 1) * sizeof(*more));
    if (more == NULL)
        return -1;
    family->members = more;
    more[family->count++] = (member_t){.pid = pid, .parent = process.parent, .state = process.state};
    return 0;
}

static family_t look(void)
{
    family_t family = {0};
    DIR *folder = opendir("/proc");
    if (folder == NULL)
        return family;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (isdigit((unsigned char)entry->d_name[0]) && add(&family, (pid_t)atoi(entry->d_name)) != 0)
            break;
    closedir(folder);
    if (family.count > 0)
        qsort(family.members, family.count, sizeof(*family.members), compare);
    return family;
}

static pid_t parent_of(const family_t *family, pid_t pid)
{
    const member_t wanted = {.pid = pid};
    const member_t *found = family->count == 0
                                ? NULL
                                : bsearch(&wanted, family->members, family->count, sizeof(wanted), compare);
    return found == NULL ? 0 : found->parent;
}

/* Our child that a process is, or descends from; 0: none. Processes end while we look, and their ids are given anew: the
 * number of steps keeps a ring of them from being endless. */
static pid_t branch_of(const family_t *family, pid_t pid)
{
    for (size_t i = 0; pid > 1 && i < family->count; i++) {
        const pid_t parent = parent_of(family, pid);
        if (parent == getpid())
            return pid;
        pid = parent;
    }
    return 0;
}

/* An ssh is ours, too, and no part of the job. */
static int is_of_job(const launch_job_t *job, pid_t branch)
{
    for (int i = 0; i < job->host_count; i++)
        if (job->hosts[i].pid == branch)
            return 0;
    return branch > 0;
}

static void send_to_all(const launch_job_t *job, const family_t *family, int signal)
{
    for (size_t i = 0; i < family->count; i++)
        if (is_of_job(job, branch_of(family, family->members[i].pid)))
            (void)kill(family->members[i].pid, signal);
}

/* Whether a process of the job has come since the look before. */
static int has_more(const launch_job_t *job, const family_t *before, const family_t *family)
{
    for (size_t i = 0; i < family->count; i++)
        if (parent_of(before, family->members[i].pid) == 0 && is_of_job(job, branch_of(family, family->members[i].pid)))
            return 1;
    return 0;
}

/* Whether all processes of the job are stopped or have ended. One that sleeps in the kernel (D) waits for a child of vfork, or
 * stops before it can fork. */
static int stand_still(const launch_job_t *job, const family_t *family)
{
    for (size_t i = 0; i < family->count; i++)
        if (strchr("TtZXxD", family->members[i].state) == NULL &&
            is_of_job(job, branch_of(family, family->members[i].pid)))
            return 0;
    return 1;
}

/* All processes of the job, which stand still. A process that is in fork(2) when it is told to stop still makes its child, so what
 * counts is that a look has found all of them stopped, and the next one nobody else. A process of another user, which may not be
 * stopped, costs all looks. */
static family_t stop_all(const launch_job_t *job)
{
    const struct timespec pause = {.tv_nsec = STOP_NS};
    family_t family = look();
    int goes_on = 1;
    for (int i = 0; i < STOPS && goes_on; i++) {
        family_t before = family;
        send_to_all(job, &before, SIGSTOP);
        (void)nanosleep(&pause, NULL);
        family = look();
        goes_on = !stand_still(job, &before) || has_more(job, &before, &family);
        free(before.members);
    }
    return family;
}

void launch_signal(const launch_job_t *job, int signal, int all)
{
    family_t family = all ? stop_all(job) : look();
    send_to_all(job, &family, signal);
    if (all)
        send_to_all(job, &family, SIGCONT);
    free(family.members);
}

int launch_has_orphans(const launch_job_t *job)
{
    family_t family = look();
    int has = 0;
    for (size_t i = 0; i < family.count && !has; i++)
        has = family.members[i].parent == getpid() && is_of_job(job, family.members[i].pid);
    free(family.members);
    return has;
}

static void kill_children(void)
{
    family_t family = look();
    for (size_t i = 0; i < family.count; i++)
        if (family.members[i].parent == getpid())
            (void)kill(family.members[i].pid, SIGKILL);
    free(family.members);
}

void launch_end_orphans(void)
{
    const struct timespec look = {.tv_nsec = LOOK_NS};
    const int64_t end = launch_now() + PATIENCE_NS;
    sigset_t child;
    pid_t pid;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    while (launch_now() < end) {
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (pid < 0)
            return; /* there are none */
        kill_children();
        (void)sigtimedwait(&child, NULL, &look);
    }
}
