/* SPDX-License-Identifier: Apache-2.0
 * shim.c - what a test lets happen to a server, by LD_PRELOAD: the server is killed at the call of number VERBENA_KILL_AT of those
 * that write or read the file of -e (0: at none), and its Unix time is off by the seconds in the file VERBENA_CLOCK. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void step(void)
{
    static atomic_long steps;
    const char *at = getenv("VERBENA_KILL_AT");
    if (at != NULL && ++steps == atol(at))
        kill(getpid(), SIGKILL);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

size_t fwrite(const void *bytes, size_t size, size_t count, FILE *file)
{
    step();
    return REAL(fwrite)(bytes, size, count, file);
}

size_t fread(void *bytes, size_t size, size_t count, FILE *file)
{
    step();
    return REAL(fread)(bytes, size, count, file);
}

int fflush(FILE *file)
{
    step();
    return REAL(fflush)(file);
}

int fclose(FILE *file)
{
    step();
    return REAL(fclose)(file);
}

FILE *fdopen(int fd, const char *mode)
{
    step();
    return REAL(fdopen)(fd, mode);
}

int fsync(int fd)
{
    step();
    return REAL(fsync)(fd);
}

int unlink(const char *path)
{
    step();
    return REAL(unlink)(path);
}

int rename(const char *from, const char *to)
{
    step();
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
