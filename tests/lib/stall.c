/* SPDX-License-Identifier: Apache-2.0
 * stall.c - a disk that stands still, for a program that is started with this library in LD_PRELOAD.
 *
 * VERBENA_STALL_FOLDER is the disk: an absolute path without links. VERBENA_STALL_CONTROL is a folder elsewhere. While a file
 * "stalled" is in it, no call that opens, reads, writes or syncs a file of the disk goes on; all others do. A call that waits is a
 * file there, whose name is that of the call and of its thread. With VERBENA_STALL_CALL, one of "open", "read", "write" and "sync",
 * calls of this kind alone wait. Any thread; the kernel is called without libc's own functions. */
#define _GNU_SOURCE /* O_TMPFILE, and the names with 64 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static bool is_stalled(const char *control)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/stalled", control);
    return access(path, F_OK) == 0;
}

static bool is_of_disk(const char *path)
{
    const char *disk = getenv("VERBENA_STALL_FOLDER");
    size_t length = disk == NULL ? 0 : strlen(disk);
    return length > 0 && strncmp(path, disk, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static bool may_wait(const char *call)
{
    const char *one = getenv("VERBENA_STALL_CALL");
    return one == NULL || strcmp(one, call) == 0;
}

/* Waits while the disk stands still. */
static void wait_for_path(const char *path, const char *call)
{
    const char *control = getenv("VERBENA_STALL_CONTROL");
    if (control == NULL || !may_wait(call) || !is_of_disk(path) || !is_stalled(control))
        return;
    char mark[PATH_MAX];
    snprintf(mark, sizeof(mark), "%s/%s-%ld", control, call, syscall(SYS_gettid));
    long file = syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    while (is_stalled(control))
        nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
    if (file >= 0) {
        close((int)file);
        unlink(mark);
    }
}

static void wait_for_file(int fd, const char *call)
{
    const char *control = getenv("VERBENA_STALL_CONTROL");
    if (control == NULL || !is_stalled(control))
        return;
    int kept = errno;
    char link[64];
    char path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    if (length > 0) {
        path[length] = '\0';
        wait_for_path(path, call);
    }
    errno = kept;
}

static int open_at(int folder, const char *path, int flags, mode_t mode)
{
    int kept = errno;
    wait_for_path(path, "open");
    errno = kept;
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

static mode_t mode_of(int flags, va_list rest)
{
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return open_at(folder, path, flags, mode);
}

ssize_t read(int fd, void *data, size_t bytes)
{
    wait_for_file(fd, "read");
    return syscall(SYS_read, fd, data, bytes);
}

ssize_t pread(int fd, void *data, size_t bytes, off_t at)
{
    wait_for_file(fd, "read");
    return syscall(SYS_pread64, fd, data, bytes, at);
}

ssize_t readv(int fd, const struct iovec *parts, int count)
{
    wait_for_file(fd, "read");
    return syscall(SYS_readv, fd, parts, count);
}

ssize_t sendfile(int to, int from, off_t *at, size_t bytes)
{
    wait_for_file(from, "read");
    return syscall(SYS_sendfile, to, from, at, bytes);
}

ssize_t write(int fd, const void *data, size_t bytes)
{
    wait_for_file(fd, "write");
    return syscall(SYS_write, fd, data, bytes);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    wait_for_file(fd, "write");
    return syscall(SYS_pwrite64, fd, data, bytes, at);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    wait_for_file(fd, "write");
    return syscall(SYS_writev, fd, parts, count);
}

int fsync(int fd)
{
    wait_for_file(fd, "sync");
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    wait_for_file(fd, "sync");
    return (int)syscall(SYS_fdatasync, fd);
}

/* Names under which programs with 64-bit offsets call them. */
extern __typeof__(open) open64 __attribute__((alias("open")));
extern __typeof__(openat) openat64 __attribute__((alias("openat")));
extern __typeof__(pread) pread64 __attribute__((alias("pread")));
extern __typeof__(pwrite) pwrite64 __attribute__((alias("pwrite")));
extern __typeof__(sendfile) sendfile64 __attribute__((alias("sendfile")));
