/* SPDX-License-Identifier: Apache-2.0
 * lookup.c - addresses of a name. The C library asks name servers until they answer or its own patience is over, so a thread of
 * its own asks, and whoever waits for the answer keeps its own time. The thread ends with the answer, also when nobody waits any
 * more. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/os.h"
#include "client/mc.h"

#define FRESH_NS UINT64_C(60000000000) /* an address may be used so long after it was asked for */

struct lookup {
    char *host;
    char port[16];
    _Atomic uint32_t owners; /* the caller, and the thread */
    int ready, done;         /* a pipe: the caller's end, the thread's */
    int error, system_error; /* of getaddrinfo; valid, as addresses, when a byte is in the pipe */
    struct addrinfo *addresses;
    uint64_t asked_ns;
};

static void release(lookup_t *lookup)
{
    /* pairs with the other owner's: the last one sees all that it has written */
    if (atomic_fetch_sub_explicit(&lookup->owners, 1, memory_order_acq_rel) > 1)
        return;
    if (lookup->addresses != NULL)
        freeaddrinfo(lookup->addresses);
    free(lookup->host);
    free(lookup);
}

static void *run(void *argument)
{
    lookup_t *lookup = argument;
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    lookup->error = getaddrinfo(lookup->host, lookup->port, &hints, &lookup->addresses);
    lookup->system_error = errno;
    (void)!write(lookup->done, "", 1);
    (void)close(lookup->done);
    release(lookup);
    return NULL;
}

/* It gets no signal: those are for the program's threads. */
static int start_thread(lookup_t *lookup)
{
    sigset_t all, before;
    pthread_t thread;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, run, lookup);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        (void)pthread_detach(thread);
    return error;
}

lookup_t *lookup_start(const char *host, int port)
{
    lookup_t *lookup = calloc(1, sizeof(*lookup));
    int ends[2];
    if (lookup == NULL)
        return NULL;
    lookup->host = strdup(host);
    if (lookup->host == NULL || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        free(lookup->host);
        free(lookup);
        return NULL;
    }
    (void)snprintf(lookup->port, sizeof(lookup->port), "%d", port);
    lookup->owners = 2;
    lookup->asked_ns = os_now_ns();
    lookup->ready = ends[0];
    lookup->done = ends[1];
    if (start_thread(lookup) != 0)
        (void)run(lookup); /* a process that may have no more threads waits itself */
    return lookup;
}

int lookup_fd(const lookup_t *lookup)
{
    return lookup->ready;
}

bool lookup_is_spent(const lookup_t *lookup)
{
    struct pollfd entry = {.fd = lookup->ready, .events = POLLIN};
    if (poll(&entry, 1, 0) != 1)
        return false;
    atomic_thread_fence(
        memory_order_acquire); /* pairs with the thread's write into the pipe, which comes after the answer */
    return lookup->error != 0 || os_now_ns() - lookup->asked_ns > FRESH_NS;
}

const char *lookup_take(lookup_t *lookup, struct addrinfo **addresses_p)
{
    char byte;
    if (read(lookup->ready, &byte, 1) != 1) /* pairs with the thread's write, which comes after the answer */
        return "the answer got lost";
    *addresses_p = lookup->addresses;
    lookup->addresses = NULL;
    if (lookup->error == 0)
        return NULL;
    return lookup->error == EAI_SYSTEM ? strerror(lookup->system_error) : gai_strerror(lookup->error);
}

void lookup_drop(lookup_t *lookup, bool forked)
{
    if (lookup == NULL)
        return;
    (void)close(lookup->ready);
    if (!forked) /* in a child there is no thread, and what that holds stays */
        release(lookup);
}
