/* SPDX-License-Identifier: Apache-2.0
 * root.c - what each guest that starts from a snapshot gets of its own: time, random numbers, name; and the host's file
 * tree, read-only, with memory file systems where programs write. */
#include <fcntl.h>
#include <linux/random.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

#define ROOT "/new"
#define SEED_BYTES 64

/* Guests from one snapshot would otherwise draw the same random numbers. */
static void seed_random(const char *hex)
{
    unsigned words[2 + SEED_BYTES / 4] = {SEED_BYTES * 8, SEED_BYTES}; /* struct rand_pool_info */
    int fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);
    for (int i = 0; i < SEED_BYTES / 4; i++)
        if (sscanf(hex + 8 * i, "%8x", &words[2 + i]) != 1)
            fatal("the seed from the host is too short", "");
    if (fd < 0 || ioctl(fd, RNDADDENTROPY, words) != 0 || ioctl(fd, RNDRESEEDCRNG) != 0)
        fatal("cannot seed", "/dev/urandom");
    close(fd);
}

static void set_clock(const char *seconds)
{
    struct timespec now = {.tv_sec = strtol(seconds, NULL, 10)};
    if (clock_settime(CLOCK_REALTIME, &now) != 0)
        fatal("cannot set the clock", "");
}

static void make_link(const char *to, const char *path)
{
    if (symlink(to, path) != 0)
        fatal("cannot make the link", path);
}

static void mount_host(void)
{
    make_folders(ROOT);
    mount_or_die("root", ROOT, "9p", MS_RDONLY, "trans=virtio,version=9p2000.L,cache=loose,msize=262144");
    mount_or_die(ROOT, ROOT "/mnt", NULL, MS_BIND, NULL);
    mount_or_die("proc", ROOT "/proc", "proc", 0, NULL);
    mount_or_die("sysfs", ROOT "/sys", "sysfs", 0, NULL);
    mount_or_die("devtmpfs", ROOT "/dev", "devtmpfs", 0, NULL);
    make_folders(ROOT "/dev/pts");
    make_folders(ROOT "/dev/shm");
    mount_or_die("devpts", ROOT "/dev/pts", "devpts", 0, NULL);
    mount_or_die("tmpfs", ROOT "/dev/shm", "tmpfs", 0, "mode=1777,size=100%");
    make_link("/proc/self/fd", ROOT "/dev/fd");
    make_link("/proc/self/fd/0", ROOT "/dev/stdin");
    make_link("/proc/self/fd/1", ROOT "/dev/stdout");
    make_link("/proc/self/fd/2", ROOT "/dev/stderr");
}

static void mount_memory(const char *path)
{
    char target[4096];
    snprintf(target, sizeof(target), ROOT "%s", path);
    mount_or_die("tmpfs", target, "tmpfs", 0, "mode=1777");
}

/* A folder of the host that a memory file system hides comes back into sight. */
static void keep(const char *path)
{
    char source[4096], target[4096];
    snprintf(source, sizeof(source), ROOT "/mnt%s", path);
    snprintf(target, sizeof(target), ROOT "%s", path);
    make_folders(target);
    mount_or_die(source, target, NULL, MS_BIND, NULL);
}

static void enter_root(void)
{
    if (chdir(ROOT) != 0)
        fatal("cannot enter", ROOT);
    mount_or_die(".", "/", NULL, MS_MOVE, NULL);
    if (chroot(".") != 0 || chdir("/") != 0)
        fatal("cannot change the root to", ROOT);
}

static void apply(const char *key, const char *value)
{
    if (strcmp(key, "time") == 0)
        set_clock(value);
    else if (strcmp(key, "seed") == 0)
        seed_random(value);
    else if (strcmp(key, "name") == 0 && sethostname(value, strlen(value)) != 0)
        fatal("cannot set the host name", value);
    else if (strcmp(key, "memory") == 0)
        mount_memory(value);
    else if (strcmp(key, "keep") == 0)
        keep(value);
}

/* Lines "KEY VALUE": time (s), seed (hex), name, memory PATH..., keep PATH... */
void setup(char *text)
{
    char *rest = NULL;
    mount_host();
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        char *value = strchr(line, ' ');
        if (value == NULL)
            fatal("a line of the setup has no value:", line);
        *value = 0;
        apply(line, value + 1);
    }
    enter_root();
}
