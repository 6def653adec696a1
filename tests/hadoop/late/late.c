/* SPDX-License-Identifier: Apache-2.0
 * late.c - plays a file system that tells late that it has no space: LD_PRELOAD beside a JVM.
 *
 * A file whose name contains "late-close" fails at close with EDQUOT, one with "late-fsync" at fsync, "late-write" at its second
 * write with ENOSPC. "late-short" loses half of its bytes at close and says nothing. Each fsync of
 * such a file is a line of standard error. Below a folder "bare" fcntl locks fail with ENOSYS, as on Lustre without the mount
 * option flock, and hard links with EPERM. A name with "late-unlink" cannot be removed, as in a sticky folder of another user. The
 * list of a folder "late-list" ends with ESTALE behind its first name. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
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
    if (is_named(fd, "/late-"))
        fprintf(stderr, "late.c: fsync\n");
    return is_named(fd, "late-fsync") ? fail(EDQUOT) : real(fd);
}

ssize_t write(int fd, const void *bytes, size_t length)
{
    static ssize_t (*real)(int, const void *, size_t);
    if (real == NULL)
        real = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    struct stat now;
    if (is_named(fd, "late-write") && fstat(fd, &now) == 0 && now.st_size > 0)
        return fail(ENOSPC);
    return real(fd, bytes, length);
}

int link(const char *from, const char *to)
{
    int (*real)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "link");
    return strstr(to, "/bare/") != NULL ? fail(EPERM) : real(from, to);
}

int unlink(const char *name)
{
    int (*real)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
    return strstr(name, "late-unlink") != NULL ? fail(EPERM) : real(name);
}

static bool breaks_off(DIR *folder)
{
    if (telldir(folder) == 0 || !is_named(dirfd(folder), "late-list"))
        return false;
    errno = ESTALE;
    return true;
}

/* Which of both a JVM calls depends on its version. */
struct dirent *readdir(DIR *folder)
{
    struct dirent *(*real)(DIR *) = (struct dirent * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir");
    return breaks_off(folder) ? NULL : real(folder);
}

struct dirent64 *readdir64(DIR *folder)
{
    struct dirent64 *(*real)(DIR *) = (struct dirent64 * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir64");
    return breaks_off(folder) ? NULL : real(folder);
}

static int lock_or_pass(const char *function, int fd, int command, void *argument)
{
    bool locks = command == F_SETLK || command == F_SETLKW || command == F_GETLK;
    if (locks && is_named(fd, "/bare/"))
        return fail(ENOSYS);
    int (*real)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, function);
    return real(fd, command, argument);
}

int fcntl(int fd, int command, ...)
{
    va_list words;
    va_start(words, command);
    void *argument = va_arg(words, void *);
    va_end(words);
    return lock_or_pass("fcntl", fd, command, argument);
}

int fcntl64(int fd, int command, ...)
{
    va_list words;
    va_start(words, command);
    void *argument = va_arg(words, void *);
    va_end(words);
    return lock_or_pass("fcntl64", fd, command, argument);
}
