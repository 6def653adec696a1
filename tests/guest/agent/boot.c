/* SPDX-License-Identifier: Apache-2.0
 * boot.c - from the kernel's start to the point where a snapshot is taken: kernel file systems and modules. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent.h"

void make_folders(const char *path)
{
    char part[4096];
    size_t length = strlen(path);
    if (length >= sizeof(part))
        fatal("path too long", path);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        mkdir(part, 0755);
    }
}

void mount_or_die(const char *source, const char *target, const char *type, unsigned long flags, const char *options)
{
    if (mount(source, target, type, flags, options) != 0)
        fatal("cannot mount", target);
}

/* The file is removed: it was only memory. */
static void load_module(const char *name)
{
    char path[300];
    int fd;
    snprintf(path, sizeof(path), "/modules/%s", name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) != 0 && errno != EEXIST))
        fatal("cannot load the kernel module", name);
    close(fd);
    unlink(path);
}

/* Their names begin with numbers in the order in which they need each other. */
static void load_modules(void)
{
    struct dirent **entries;
    int count = scandir("/modules", &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.')
            load_module(entries[i]->d_name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

void boot(void)
{
    make_folders("/proc");
    make_folders("/sys");
    make_folders("/dev");
    mount_or_die("proc", "/proc", "proc", 0, NULL);
    mount_or_die("sysfs", "/sys", "sysfs", 0, NULL);
    if (mount("devtmpfs", "/dev", "devtmpfs", 0, NULL) != 0 && errno != EBUSY)
        fatal("cannot mount", "/dev");
    load_modules();
}
