/* SPDX-License-Identifier: Apache-2.0
 * os_own.c - Linux implementation of os_own.h: a set of descriptors, a bit for each number. fork() waits for the lock, so
 * that the child finds the set whole, with every descriptor that was opened for it. */
#include "base/os_own.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BITS 64

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

static void in_child(void)
{
    for (int i = 0; i < word_count; i++)
        for (; words[i] != 0; words[i] &= words[i] - 1)
            close(i * BITS + __builtin_ctzll(words[i]));
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
