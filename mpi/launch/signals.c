/* SPDX-License-Identifier: Apache-2.0
 * signals.c - signals for mpiexec, by a signalfd: SIGINT and SIGTERM ask the ranks to end, as SIGALRM does when --timeout has
 * passed; a second SIGINT kills them; others are the ranks'. SIGQUIT has its usual effect. What a signal of the terminal is ranks
 * of this host have got themselves: they are in our process group, as rank 0 has to be to read the terminal.
 */
#include "launch/launch.h"

#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define ONE_NS 100000000 /* timeout(1) sends a signal twice, to its child and to the group: that is one */

static const int passed_on[] = {SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, 0};

static int is_ignored(int signal)
{
    struct sigaction now;
    return sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* What is passed on stays ignored where it was when we were started: by nohup, for one. SIGINT ends us all the same: a script
 * that starts us in the background has it ignored, and Ctrl-C is to end all that the script does. */
static int open_for(const int *more)
{
    sigset_t handled;
    sigemptyset(&handled);
    (void)signal(SIGCHLD, SIG_DFL); /* ignored, no end of a child would be told */
    sigaddset(&handled, SIGCHLD);
    sigaddset(&handled, SIGINT);
    sigaddset(&handled, SIGTERM);
    sigaddset(&handled, SIGALRM);
    for (; *more != 0; more++)
        if (!is_ignored(*more))
            sigaddset(&handled, *more);
    (void)sigprocmask(SIG_BLOCK, &handled, NULL);
    return signalfd(-1, &handled, SFD_NONBLOCK | SFD_CLOEXEC);
}

int launch_signals(void)
{
    return open_for((const int[]){0});
}

int launch_all_signals(void)
{
    return open_for(passed_on);
}

/* As the shell expects it: mpiexec stands still, too, until SIGCONT. */
static void stand_still(void)
{
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    (void)raise(SIGTSTP);
    (void)sigprocmask(SIG_UNBLOCK, &stop, NULL);
    (void)sigprocmask(SIG_BLOCK, &stop, NULL);
}

static void pass_on(launch_job_t *job, int signal, int of_terminal)
{
    if (!of_terminal)
        launch_signal(job, signal, 0);
    launch_remote_signal(job, signal);
    if (signal == SIGTSTP)
        stand_still();
}

static void on_end(launch_job_t *job, int signal)
{
    static int64_t first;
    const int is_second = first != 0 && signal == SIGINT && launch_now() > first + ONE_NS;
    if (is_second) {
        job->hasty = 1;
        launch_end(job, 128 + signal);
    } else if (first == 0 && job->kill_after > 0 && job->running > 0 && !job->ending)
        launch_say("signal %d (%s): the ranks get SIGTERM, and SIGKILL after %d s; a second SIGINT kills them at once",
                   signal, strsignal(signal), job->kill_after);
    else if (first == 0)
        launch_say("signal %d (%s); the job ends", signal, strsignal(signal));
    first = first == 0 ? launch_now() : first;
    launch_ask(job, signal);
}

void launch_on_signals(launch_job_t *job)
{
    struct signalfd_siginfo info;
    while (read(job->signals, &info, sizeof(info)) == sizeof(info)) {
        const int signal = (int)info.ssi_signo;
        if (signal == SIGALRM && job->timeout > 0)
            launch_say("the job has run for %d s, which is all that --timeout gives it", job->timeout);
        if (signal == SIGINT || signal == SIGTERM || signal == SIGALRM)
            on_end(job, signal);
        else if (signal != SIGCHLD)
            pass_on(job, signal, info.ssi_code == SI_KERNEL);
    }
}
