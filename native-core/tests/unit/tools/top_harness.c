/* SPDX-License-Identifier: Apache-2.0
 * top_harness.c - pages.c of vbn-top with counting functions in place of those that make system calls. */
#include "top_harness.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/stats_format.h"

static unsigned calls;

static ssize_t counted_readlink(const char *path, char *target, size_t bytes)
{
    calls++;
    return readlink(path, target, bytes);
}

static int counted_stat(const char *path, struct stat *file)
{
    calls++;
    return stat(path, file);
}

static DIR *counted_opendir(const char *path)
{
    calls += 2; /* open, fstat */
    return opendir(path);
}

static int counted_closedir(DIR *dir)
{
    calls += 3; /* getdents until it gives nothing, close */
    return closedir(dir);
}

static vbn_status_t counted_view_open(const char *path, stats_view_t *view)
{
    calls += 6; /* open, F_GET_SEALS, fstat, pread, mmap, close */
    return stats_view_open(path, view);
}

#define readlink counted_readlink
#define stat(path, file) counted_stat(path, file)
#define opendir counted_opendir
#define closedir counted_closedir
#define stats_view_open counted_view_open
#include "../../../tools/vbn_top/pages.c"

static top_t top;

look_t top_harness_look(int pid)
{
    calls = 0;
    top.only_pid = pid;
    top_scan(&top);
    look_t look = {calls, top.count, top.count > 0 ? top.pages[0]->pid : 0, top.denied, top.left_out_count, top.failed};
    top_sample(&top);
    return look;
}

void top_harness_end(void)
{
    top_close(&top);
    memset(&top, 0, sizeof(top));
}
