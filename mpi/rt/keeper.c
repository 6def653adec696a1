/* SPDX-License-Identifier: Apache-2.0
 * keeper.c - a rank that computes answers nobody: first contacts, rendezvous messages and acknowledgements would wait
 * until its next call. So a thread looks from time to time whether the runtime was entered since; if not, it makes
 * progress in the rank's place, for a short time: who enters meanwhile waits for it (threads.h, T1).
 * So a call that a program may make in a loop either does not enter the runtime, or makes progress itself.
 * It looks in one way for as long as it runs, so it starts anew when the program gets MPI_THREAD_MULTIPLE (rt_threads_open).
 * It also sees that the launcher has gone: a launcher's child ends with it by itself, a script's child would go on for ever.
 */
#include "rt/keeper.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "rt/shared.h"
#include "rt/threads.h"

#define SERVE_MS 1        /* of a rank that others reach at any time */
#define BUSY_MS 1         /* between the first ones after something did: a handshake has several steps */
#define TURN_NS 2000000LL /* the longest time inside */

static struct {
    pthread_t thread;
    pthread_mutex_t mutex; /* guards stop */
    pthread_cond_t stopped;
    int stop;
    int running;
    int barrier;        /* there is membarrier() */
    _Atomic int serves; /* rt_keeper_serve */
    int armed;          /* the worker, by the last look */
    int look_ms;        /* between two looks while nothing happens (mpi.keeper) */
} keeper = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* While there is something to do and nobody wants in. */
static unsigned progress(void)
{
    const int64_t end = now_ns() + TURN_NS;
    unsigned events = 0;
    unsigned more;
    rt.keeping = 1;
    do {
        more = rt_progress();
        events += more;
    } while (more > 0 && atomic_load_explicit(&rt_shared.entering, memory_order_relaxed) == 0 && now_ns() < end);
    keeper.armed = more == 0 && atomic_load_explicit(&keeper.serves, memory_order_relaxed) &&
                   vbn_arm(rt.worker) == VBN_OK;
    rt.keeping = 0;
    return events;
}

/* Below MPI_THREAD_MULTIPLE. */
static unsigned look_alone(void)
{
    unsigned events = 0;
    pthread_mutex_lock(&rt_shared.mutex);
    atomic_store_explicit(&rt_gate.wanted, 1, memory_order_relaxed);
    if (keeper.barrier)
        (void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    /* acquire: pairs with the release of rt_leave */
    if ((atomic_load_explicit(&rt_gate.word, memory_order_acquire) & RT_GATE_DEPTH) == 0)
        events = progress();
    /* release: pairs with the acquire of rt_enter */
    atomic_store_explicit(&rt_gate.wanted, !keeper.barrier, memory_order_release);
    pthread_mutex_unlock(&rt_shared.mutex);
    return events;
}

/* A driver makes progress itself. */
static unsigned look_shared(void)
{
    unsigned events = 0;
    if (!rt_try_lock())
        return 0;
    if (rt_shared.driver == NULL)
        events = progress();
    rt_unlock();
    return events;
}

static unsigned entries(void)
{
    return rt_gate.shared ? atomic_load_explicit(&rt_shared.entries, memory_order_relaxed)
                          : atomic_load_explicit(&rt_gate.word, memory_order_relaxed) / RT_GATE_ENTRY;
}

/* Sleeps so long; 1: the keeper ends. */
static int rest(int ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&keeper.mutex);
    while (!keeper.stop && !(ms > SERVE_MS && atomic_load_explicit(&keeper.serves, memory_order_relaxed)) &&
           pthread_cond_timedwait(&keeper.stopped, &keeper.mutex, &until) == 0)
        ;
    const int stop = keeper.stop;
    pthread_mutex_unlock(&keeper.mutex);
    return stop;
}

/* The launcher closes its end only when it has ended; pmi.fd is set before the keeper starts and closed after its end. */
static void look_for_launcher(void)
{
    struct pollfd entry = {.fd = rt.pmi.fd};
    if (rt.pmi.fd < 0 || poll(&entry, 1, 0) <= 0 || (entry.revents & (POLLHUP | POLLERR)) == 0)
        return;
    rt_say("rank %d of %d: its launcher has ended, so the rank ends", rt.rank, rt.size);
    _exit(1);
}

static int is_stopped(void)
{
    pthread_mutex_lock(&keeper.mutex);
    const int stop = keeper.stop;
    pthread_mutex_unlock(&keeper.mutex);
    return stop;
}

/* Until something arrives at the worker, which the last look has armed, or a millisecond has gone: the program may have
 * disarmed it since, which costs it nothing to do and cannot be seen here. 1: something has arrived. */
static int doze(void)
{
    struct pollfd look[2] = {{.fd = vbn_event_fd(rt.worker), .events = POLLIN}, {.fd = rt.pmi.fd}};
    if (poll(look, 2, SERVE_MS) > 0 && look[1].revents != 0)
        look_for_launcher();
    return look[0].revents != 0;
}

/* Looks while the program computes; whatever arrives ends a doze. */
static void serve(void)
{
    unsigned seen = entries();
    while (!is_stopped() && atomic_load_explicit(&keeper.serves, memory_order_relaxed)) {
        const int has_event = doze();
        const unsigned now = entries();
        const int is_idle = now == seen;
        seen = now;
        if (!is_idle)
            keeper.armed = 0;
        const int looks = is_idle && (has_event || !keeper.armed);
        const unsigned events = !looks ? 0 : rt_gate.shared ? look_shared() : look_alone();
        if (has_event && events == 0) /* the program is at it */
            (void)rest(SERVE_MS);
    }
}

void rt_keeper_serve(int change)
{
    atomic_fetch_add_explicit(&keeper.serves, change, memory_order_relaxed);
    pthread_mutex_lock(&keeper.mutex);
    pthread_cond_signal(&keeper.stopped);
    pthread_mutex_unlock(&keeper.mutex);
}

int rt_keeper_runs(void)
{
    return keeper.running;
}

static void *keep(void *unused)
{
    int pause = keeper.look_ms;
    unsigned seen = entries();
    (void)unused;
    while (!rest(pause)) {
        look_for_launcher();
        if (atomic_load_explicit(&keeper.serves, memory_order_relaxed))
            serve();
        const unsigned now = entries();
        const int is_idle = now == seen;
        seen = now;
        if (!is_idle)
            pause = keeper.look_ms;
        else if ((rt_gate.shared ? look_shared() : look_alone()) > 0)
            pause = BUSY_MS;
        else
            pause = pause * 2 < keeper.look_ms ? pause * 2 : keeper.look_ms;
    }
    return NULL;
}

/* Without membarrier() every entry takes the mutex. */
static void find_barrier(void)
{
#ifdef __SANITIZE_THREAD__
    keeper.barrier = 0; /* the race detector cannot see a membarrier */
#else
    keeper.barrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#endif
    atomic_store_explicit(&rt_gate.wanted, !keeper.barrier, memory_order_relaxed);
}

int rt_keeper_start(void)
{
    pthread_condattr_t attributes;
    sigset_t all;
    sigset_t before;
    int64_t look_ns = 0;
    find_barrier();
    if (vbn_setting(rt.context, "mpi.keeper", NULL, 0, &look_ns) != VBN_OK || look_ns == 0)
        return 0;
    keeper.look_ms = look_ns < 1000000 ? 1 : (int)(look_ns / 1000000);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&keeper.stopped, &attributes);
    pthread_condattr_destroy(&attributes);
    keeper.stop = 0;
    sigfillset(&all); /* signals are the program's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int rc = pthread_create(&keeper.thread, NULL, keep, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    keeper.running = rc == 0;
    return rc == 0 ? 0 : rt_fail("thread that answers while the program computes: %s", strerror(rc));
}

void rt_keeper_stop(void)
{
    if (!keeper.running)
        return;
    pthread_mutex_lock(&keeper.mutex);
    keeper.stop = 1;
    pthread_cond_signal(&keeper.stopped);
    pthread_mutex_unlock(&keeper.mutex);
    pthread_join(keeper.thread, NULL);
    pthread_cond_destroy(&keeper.stopped);
    keeper.running = 0;
}

static int users; /* of rt_threads_open */

static void share(void)
{
    (void)atomic_fetch_sub_explicit(&rt_gate.word, 1, memory_order_relaxed);
    rt_gate.shared = 1;
    rt_lock();
}

int rt_threads_open(int shared)
{
    const int starts = users++ == 0;
    const int changes = shared && !rt_gate.shared;
    if (!starts && !changes)
        return 0;
    rt_keeper_stop();
    if (changes)
        share();
    return rt.size > 1 ? rt_keeper_start() : 0;
}

void rt_threads_close(void)
{
    if (--users > 0)
        return;
    rt_keeper_stop();
    if (!rt_gate.shared)
        return;
    rt_unlock();
    rt_gate.shared = 0;
    (void)atomic_fetch_add_explicit(&rt_gate.word, 1, memory_order_relaxed);
}
