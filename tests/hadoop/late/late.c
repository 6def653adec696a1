/* SPDX-License-Identifier: Apache-2.0
 * late.c - plays a file system that tells late that it has no space: LD_PRELOAD beside a JVM.
 *
 * A file whose name contains "late-close" fails at close with EDQUOT, one with "late-fsync" at fsync, "late-write" at its second
 * write with ENOSPC. "late-short" loses half of its bytes at close and says nothing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 4096, LINK_BYTES = 64 };

static bool is_named(int fd, const char *part)
{
    char link[LINK_BYTES];
    char name[NAME_BYTES];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, name, sizeof name - 1);
    if (length < 0)
        return false;
    name[length] = '\0';
    return strstr(name, part) != NULL;
}

static int fail(int error)
{
    errno = error;
    return -1;
}

int close(int fd)
{
    static int (*real)(int);
    if (real == NULL)
        real = (int (*)(int))dlsym(RTLD_NEXT, "close");
    bool fails = is_named(fd, "late-close");
    struct stat now;
    if (is_named(fd, "late-short") && fstat(fd, &now) == 0 && ftruncate(fd, now.st_size / 2) != 0)
        perror("late.c: ftruncate");
    int status = real(fd);
    return fails ? fail(EDQUOT) : status;
}

int fsync(int fd)
{
    static int (*real)(int);
    if (real == NULL)
        real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    return is_named(fd, "late-fsync") ? fail(EDQUOT) : real(fd);
}

ssize_t write(int fd, const void *bytes, size_t length)
{
    static ssize_t (*real)(int, const void *, size_t);
    if (real == NULL)
        real = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    struct stat now;
    if (is_named(fd, "late-write") && fstat(fd, &now) == 0 && now.st_size > 0)
        return fail(ENOSPC);
    return real(fd, bytes, length);
}
