/* SPDX-License-Identifier: Apache-2.0
 * os_own.c - Linux implementation of os_own.h: a set of descriptors, a bit for each number. fork() waits for the lock, so
 * that the child finds the set whole, with every descriptor that was opened for it. The child, which may be that of a
 * program with threads, calls nothing but the kernel. */
#include "base/os_own.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define BITS 64
#define DEVICES 16u /* different ones */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf: nothing else is locked under it */
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static uint64_t *words;
static int word_count;

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

/* ------------------------------------------------------------------------------------- what devices have mapped */

typedef struct device {
    dev_t file_system;
    ino_t inode;
} device_t;

typedef struct devices {
    device_t each[DEVICES];
    unsigned count;
} devices_t;

static bool is_among(const devices_t *devices, dev_t file_system, ino_t inode)
{
    for (unsigned i = 0; i < devices->count; i++)
        if (devices->each[i].file_system == file_system && devices->each[i].inode == inode)
            return true;
    return false;
}

static void note_device(devices_t *devices, int fd)
{
    struct stat file;
    if (fstat(fd, &file) < 0 || !S_ISCHR(file.st_mode) || devices->count == DEVICES ||
        is_among(devices, file.st_dev, file.st_ino))
        return;
    devices->each[devices->count++] = (device_t){file.st_dev, file.st_ino};
}

/* A line of /proc/self/maps, read by the character: START-END RIGHTS OFFSET MAJOR:MINOR INODE PATH */
enum { START, END, RIGHTS, OFFSET, MAJOR, MINOR, INODE, PATH, FIELDS };

typedef struct line {
    uint64_t field[FIELDS];
    unsigned at;
} line_t;

static void take_character(line_t *line, char c)
{
    if (line->at == PATH || line->at == RIGHTS) {
        line->at += line->at == RIGHTS && c == ' ';
        return;
    }
    uint64_t digit = c >= '0' && c <= '9' ? (uint64_t)(c - '0') : c >= 'a' && c <= 'f' ? (uint64_t)(c - 'a') + 10 : 16;
    if (digit < 16)
        line->field[line->at] = line->field[line->at] * (line->at == INODE ? 10 : 16) + digit;
    else
        line->at++;
}

static void unmap_if_among(const devices_t *devices, const line_t *line)
{
    const uint64_t *field = line->field;
    if (is_among(devices, makedev((unsigned)field[MAJOR], (unsigned)field[MINOR]), (ino_t)field[INODE]))
        (void)munmap((void *)(uintptr_t)field[START],
                     (size_t)(field[END] - field[START])); /* NOLINT: an address as text */
}

static void unmap(const devices_t *devices)
{
    char bytes[1024];
    line_t line = {.at = START};
    int fd = devices->count > 0 ? open("/proc/self/maps", O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    for (ssize_t count; (count = read(fd, bytes, sizeof(bytes))) > 0 || (count < 0 && errno == EINTR);)
        for (ssize_t i = 0; i < count; i++) {
            if (bytes[i] != '\n') {
                take_character(&line, bytes[i]);
                continue;
            }
            unmap_if_among(devices, &line);
            line = (line_t){.at = START};
        }
    close(fd);
}

/* ---------------------------------------------------------------------------------------------------- fork */

static void in_child(void)
{
    devices_t devices = {.count = 0};
    for (int i = 0; i < word_count; i++)
        for (; words[i] != 0; words[i] &= words[i] - 1) {
            int fd = i * BITS + __builtin_ctzll(words[i]);
            note_device(&devices, fd);
            close(fd);
        }
    unmap(&devices);
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}

static void enter(void)
{
    pthread_once(&fork_once, watch_forks);
    pthread_mutex_lock(&lock);
}

/* Under the lock. */
static bool add(int fd)
{
    int wanted = fd / BITS + 1;
    if (wanted > word_count) {
        uint64_t *more = realloc(words, (size_t)wanted * sizeof(*words));
        if (more == NULL)
            return false;
        memset(more + word_count, 0, (size_t)(wanted - word_count) * sizeof(*words));
        words = more;
        word_count = wanted;
    }
    words[fd / BITS] |= UINT64_C(1) << (fd % BITS);
    return true;
}

/* Under the lock: the new descriptor, if there is one and it can be kept. */
static int added(int fd)
{
    if (fd < 0 || add(fd))
        return fd;
    close(fd);
    errno = ENOMEM;
    return -1;
}

static void leave(void)
{
    int error = errno;
    pthread_mutex_unlock(&lock);
    errno = error;
}

int os_own_socket(int domain, int type)
{
    enter();
    int fd = added(socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    leave();
    return fd;
}

int os_own_accept(int listener, struct sockaddr *from, socklen_t *length)
{
    enter();
    int fd = added(accept4(listener, from, length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    leave();
    return fd;
}

bool os_own_keep(int fd)
{
    enter();
    bool kept = add(fd);
    leave();
    return kept;
}

/* Under the lock. False: it was not in the set. */
static bool take_out(int fd)
{
    if (fd < 0 || fd / BITS >= word_count)
        return false;
    bool found = (words[fd / BITS] >> (fd % BITS) & 1) != 0;
    words[fd / BITS] &= ~(UINT64_C(1) << (fd % BITS));
    return found;
}

bool os_own_forget(int fd)
{
    enter();
    bool found = take_out(fd);
    leave();
    return found;
}

/* All under the lock: a fork in between would give the child a copy that is in no set. */
void os_own_close(int fd)
{
    enter();
    if (take_out(fd)) {
        (void)shutdown(fd, SHUT_RDWR); /* of what is no socket there is no end to tell */
        close(fd);
    }
    leave();
}
