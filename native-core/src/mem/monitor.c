/* SPDX-License-Identifier: Apache-2.0
 * monitor.c - see monitor.h. */
#include "mem/monitor.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/os.h"
#include "base/os_watch.h"

#define SETTLE_NS UINT64_C(1000000000)

struct mem_monitor {
    int watch_fd;
    int stop_fd; /* eventfd: written once, ends the thread */
    pthread_mutex_t *lock;
    monitor_gone_func_t gone;
    void *arg;
    _Atomic uint32_t reading; /* odd while news is read that nobody has been told yet */
    pthread_t thread;
    sem_t ended; /* the thread touches nothing of ours any more */
};

/* Lock held, so nobody else counts. Reading lets the thread in munmap go on before `gone` has run (monitor_reading). */
static void read_news(mem_monitor_t *monitor)
{
    uintptr_t start, end;
    uint32_t turn = atomic_get_relaxed(&monitor->reading);
    atomic_set_seq(&monitor->reading, turn + 1);
    while (os_watch_read(monitor->watch_fd, &start, &end))
        monitor->gone(monitor->arg, start, end);
    atomic_set_release(&monitor->reading, turn + 2); /* pairs with the acquire in monitor_reading */
}

bool monitor_reading(const mem_monitor_t *monitor)
{
    return atomic_get_acquire(&monitor->reading) % 2 != 0;
}

static void *helper(void *arg)
{
    mem_monitor_t *monitor = arg;
    struct pollfd fds[2] = {{.fd = monitor->watch_fd, .events = POLLIN}, {.fd = monitor->stop_fd, .events = POLLIN}};
    for (;;) {
        int ready = poll(fds, 2, -1);
        if (ready < 0 && errno != EINTR)
            break;
        if (ready > 0 && fds[1].revents != 0)
            break;
        if (ready > 0 && fds[0].revents != 0) {
            pthread_mutex_lock(monitor->lock);
            read_news(monitor);
            pthread_mutex_unlock(monitor->lock);
        }
    }
    sem_post(&monitor->ended);
    return NULL;
}

/* The host's signal handlers do not run in our thread. */
static int start_helper(mem_monitor_t *monitor)
{
    sigset_t all, before;
    sigfillset(&all);
    int error = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (error != 0)
        return error;
    error = pthread_create(&monitor->thread, NULL, helper, monitor);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

vbn_status_t monitor_open(pthread_mutex_t *lock, monitor_gone_func_t gone, void *arg, mem_monitor_t **monitor_p)
{
    int error;
    mem_monitor_t *monitor = calloc(1, sizeof(*monitor));
    if (monitor == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a monitor of mappings");
    *monitor = (mem_monitor_t){.watch_fd = -1, .lock = lock, .gone = gone, .arg = arg};
    sem_init(&monitor->ended, 0, 0);
    monitor->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    vbn_status_t status;
    if (monitor->stop_fd < 0)
        status = err_sys(errno, "eventfd");
    else if ((status = os_watch_open(&monitor->watch_fd)) == VBN_OK && (error = start_helper(monitor)) != 0)
        status = err_sys(error, "cannot start the thread that reads about changed mappings");
    if (status == VBN_OK) {
        *monitor_p = monitor;
        return VBN_OK;
    }
    if (monitor->watch_fd >= 0)
        os_watch_close(monitor->watch_fd);
    if (monitor->stop_fd >= 0)
        close(monitor->stop_fd);
    free(monitor);
    return status;
}

void monitor_close(mem_monitor_t *monitor)
{
    (void)eventfd_write(monitor->stop_fd, 1);
    while (sem_wait(&monitor->ended) != 0)
        continue; /* a signal */
    /* Before the join: an ending thread discards pages of its stack, and if that lies in a watched mapping it waits for
     * a reader, which it was itself. */
    os_watch_close(monitor->watch_fd);
    pthread_join(monitor->thread, NULL);
    sem_destroy(&monitor->ended);
    close(monitor->stop_fd);
    free(monitor);
}

bool monitor_watch(mem_monitor_t *monitor, uintptr_t start, uintptr_t end)
{
    return os_watch_range(monitor->watch_fd, start, end);
}

bool monitor_settle(mem_monitor_t *monitor)
{
    if (!os_watch_in_flight(monitor->watch_fd))
        return true;
    uint64_t deadline = os_now_ns() + SETTLE_NS;
    do {
        read_news(monitor);
        if (!os_watch_in_flight(monitor->watch_fd))
            return true;
        sched_yield(); /* the thread in munmap has to run before the kernel says that it is over */
    } while (os_now_ns() < deadline);
    return false;
}
