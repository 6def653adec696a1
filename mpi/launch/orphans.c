/* SPDX-License-Identifier: Apache-2.0
 * orphans.c - what ranks have started: a script's program is the rank, and only the script is our child. When a process
 * between has ended, the kernel makes its children ours (launch_adopt). So the end of a job reaches them all, whatever
 * session or group they are in, each generation when the one before it has been killed.
 */
#include "launch/launch.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 5000000000LL /* a process that the kernel does not let go is left alone then */
#define LOOK_NS 20000000L        /* a child may have come between looking and waiting */

void launch_adopt(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static int is_child(pid_t pid)
{
    launch_process_t process;
    return launch_process(pid, &process) == 0 && process.parent == getpid();
}

static void kill_children(void)
{
    DIR *folder = opendir("/proc");
    if (folder == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (isdigit((unsigned char)entry->d_name[0]) && is_child((pid_t)atoi(entry->d_name)))
            (void)kill((pid_t)atoi(entry->d_name), SIGKILL);
    closedir(folder);
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
