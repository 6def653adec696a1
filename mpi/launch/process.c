/* SPDX-License-Identifier: Apache-2.0
 * process.c - what the kernel says: of a process, see proc(5), and of the time.
 */
#include "launch/launch.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

int64_t launch_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int launch_process(pid_t pid, launch_process_t *process)
{
    char path[64];
    char text[512] = "";
    int parent = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return -1;
    const size_t length = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    const char *end = length > 0 ? strrchr(text, ')') : NULL; /* of the name, which may hold anything */
    if (end == NULL || sscanf(end + 1, " %c %d %*d %*d %*d %*d %u", &process->state, &parent, &process->flags) != 3)
        return -1;
    process->parent = (pid_t)parent;
    return 0;
}
