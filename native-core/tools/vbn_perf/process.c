/* SPDX-License-Identifier: Apache-2.0
 * process.c - what each process of vbn-perf needs: the time, its processor, and how it ends. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "perf.h"

double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Set where there are two processes: what ends one mostly ends the other as well, and one line is enough. */
static shared_t *both;

void end_together(shared_t *shared)
{
    both = shared;
}

_Noreturn static void end_both(const char *what, const char *why)
{
    bool first = both == NULL || atomic_exchange(&both->failing, 1) == 0;
    if (first)
        fprintf(stderr, "%s: %s: %s\n", PERF_NAME, what, why);
    if (both != NULL && first)
        atomic_store(&both->failed, 1);
    for (double end = now() + 1;
         !first && atomic_load(&both->failed) == 0 && now() < end;) /* the child ends with its parent */
        (void)sched_yield();
    exit(TOOL_ERROR);
}

bool other_failed(const side_t *side)
{
    return atomic_load(&side->shared->failed) != 0;
}

_Noreturn void fail(const char *what)
{
    end_both(what, vbn_error_text());
}

void check(vbn_status_t status, const char *what)
{
    if (status < 0)
        fail(what);
}

_Noreturn void fail_system(const char *what)
{
    end_both(what, strerror(errno));
}

void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)cpu, &set);
    if (cpu >= 0 && sched_setaffinity(0, sizeof(set), &set) != 0)
        fprintf(stderr, "vbn-perf: cannot run on cpu %d (%s); results will be noisy\n", cpu, strerror(errno));
}

void end_with(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
}
