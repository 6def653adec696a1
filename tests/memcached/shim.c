/* SPDX-License-Identifier: Apache-2.0
 * shim.c - what a test lets happen to a server, by LD_PRELOAD: the server is killed at the call of number VERBENA_KILL_AT (0: at
 * none) of those on a file whose path has VERBENA_KILL_FILE, and its Unix time is off by the seconds in the file VERBENA_CLOCK. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The next call that names the file or has it open. */
static void step(const char *path)
{
    static atomic_long steps;
    const char *file = getenv("VERBENA_KILL_FILE"), *at = getenv("VERBENA_KILL_AT");
    if (file != NULL && at != NULL && strstr(path, file) != NULL && ++steps == atol(at))
        kill(getpid(), SIGKILL);
}

static void step_on(int fd)
{
    char name[32], path[4096];
    (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(name, path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = '\0';
    step(path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

size_t fwrite(const void *bytes, size_t size, size_t count, FILE *file)
{
    step_on(fileno(file));
    return REAL(fwrite)(bytes, size, count, file);
}

size_t fread(void *bytes, size_t size, size_t count, FILE *file)
{
    step_on(fileno(file));
    return REAL(fread)(bytes, size, count, file);
}

int fflush(FILE *file)
{
    if (file != NULL)
        step_on(fileno(file));
    return REAL(fflush)(file);
}

int fclose(FILE *file)
{
    step_on(fileno(file));
    return REAL(fclose)(file);
}

FILE *fdopen(int fd, const char *mode)
{
    step_on(fd);
    return REAL(fdopen)(fd, mode);
}

int fsync(int fd)
{
    step_on(fd);
    return REAL(fsync)(fd);
}

int fdatasync(int fd)
{
    step_on(fd);
    return REAL(fdatasync)(fd);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at)
{
    step_on(fd);
    return REAL(pwrite)(fd, bytes, length, at);
}

ssize_t pread(int fd, void *bytes, size_t length, off_t at)
{
    step_on(fd);
    return REAL(pread)(fd, bytes, length, at);
}

int unlink(const char *path)
{
    step(path);
    return REAL(unlink)(path);
}

int rename(const char *from, const char *to)
{
    step(from);
    return REAL(rename)(from, to);
}

time_t time(time_t *time_p)
{
    const char *path = getenv("VERBENA_CLOCK");
    char text[32] = "0";
    time_t now = REAL(time)(NULL);
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t got = read(fd, text, sizeof(text) - 1);
        text[got > 0 ? got : 0] = '\0';
        (void)close(fd);
    }
    now += atol(text);
    if (time_p != NULL)
        *time_p = now;
    return now;
}
