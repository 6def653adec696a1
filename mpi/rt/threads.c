/* SPDX-License-Identifier: Apache-2.0
 * threads.c - MPI_THREAD_MULTIPLE: the mutex around the runtime, the drive and how it passes from thread to thread
 * (threads.h, T2 to T4). And how a thread enters while the keeper is inside.
 */
#include "rt/threads.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "rt/rt.h"
#include "rt/shared.h"

#define TRIES 200 /* of the mutex before a thread sleeps on it: the driver holds it for one progress */

rt_gate_t rt_gate;
rt_shared_t rt_shared = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local char own_mark;

void *rt_self(void)
{
    return &own_mark;
}

/* The word says that this thread is inside: once the keeper has left the mutex it will not come again. */
void rt_enter_after_keeper(void)
{
    atomic_fetch_add_explicit(&rt_shared.entering, 1, memory_order_relaxed); /* the keeper makes it short */
    pthread_mutex_lock(&rt_shared.mutex);
    pthread_mutex_unlock(&rt_shared.mutex);
    atomic_fetch_sub_explicit(&rt_shared.entering, 1, memory_order_relaxed);
}

static void take(void)
{
    atomic_store_explicit(&rt_shared.owner, rt_self(), memory_order_relaxed); /* others only compare it */
    rt_shared.depth = 1;
}

void rt_unlock(void)
{
    atomic_store_explicit(&rt_shared.owner, NULL, memory_order_relaxed);
    pthread_mutex_unlock(&rt_shared.mutex);
}

int rt_try_lock(void)
{
    if (pthread_mutex_trylock(&rt_shared.mutex) != 0)
        return 0;
    take();
    return 1;
}

void rt_lock(void)
{
    if (pthread_mutex_trylock(&rt_shared.mutex) != 0) {
        atomic_fetch_add_explicit(&rt_shared.entering, 1, memory_order_relaxed);
        int tries = 0;
        while (pthread_mutex_trylock(&rt_shared.mutex) != 0)
            if (++tries == TRIES) {
                pthread_mutex_lock(&rt_shared.mutex);
                break;
            }
        atomic_fetch_sub_explicit(&rt_shared.entering, 1, memory_order_relaxed);
    }
    take();
}

void rt_enter_shared(void)
{
    if (atomic_load_explicit(&rt_shared.owner, memory_order_relaxed) == rt_self()) {
        rt_shared.depth++;
        return;
    }
    rt_lock();
    /* read by who lets others in, without the mutex */
    atomic_fetch_add_explicit(&rt_shared.entries, 1, memory_order_relaxed);
}

static void tell(rt_sleeper_t *sleeper)
{
    sleeper->told = 1;
    pthread_cond_signal(&sleeper->condition);
}

/* Somebody drives as long as somebody waits. */
static void hand_over(void)
{
    if (rt_shared.driver == rt_self()) {
        rt_shared.driver = NULL;
        rt_shared.armed = 0;
    }
    if (rt_shared.driver == NULL && rt_shared.sleepers != NULL)
        tell(rt_shared.sleepers);
}

static void wake_driver(void)
{
    if (!rt_shared.armed)
        return;
    rt_shared.armed = 0;
    vbn_worker_wake(rt.worker);
}

void rt_leave_shared(void)
{
    if (--rt_shared.depth > 0)
        return;
    hand_over();
    rt_tell_sleepers(0);
    wake_driver();
    rt_unlock();
}

void rt_tell_sleepers(int all)
{
    for (rt_sleeper_t *sleeper = rt_shared.sleepers; sleeper != NULL; sleeper = sleeper->next) {
        const int is_met = sleeper->op != NULL ? sleeper->op->complete != 0 : all || rt.events != sleeper->events;
        if (is_met && !sleeper->told)
            tell(sleeper);
    }
}

/* look_ms 0: until it is told. */
static void sleep_on(rt_sleeper_t *sleeper, int look_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += look_ms * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    int rc = 0;
    while (!sleeper->told && rc == 0)
        rc = look_ms == 0 ? pthread_cond_wait(&sleeper->condition, &rt_shared.mutex)
                          : pthread_cond_clockwait(&sleeper->condition, &rt_shared.mutex, CLOCK_MONOTONIC, &until);
}

/* Until its operation is complete, or perhaps so, or the drive is handed to this thread. */
void rt_sleep_until_told(rt_wait_t *wait)
{
    const int depth = rt_shared.depth;
    if (!wait->joined)
        wake_driver();
    wait->joined = 1;
    rt_sleeper_t sleeper = {.condition = PTHREAD_COND_INITIALIZER, .op = wait->op, .events = rt.events};
    rt_sleeper_t **at = &rt_shared.sleepers;
    while (*at != NULL)
        at = &(*at)->next;
    *at = &sleeper;
    atomic_store_explicit(&rt_shared.owner, NULL, memory_order_relaxed);
    sleep_on(&sleeper, wait->look_ms);
    take();
    rt_shared.depth = depth;
    for (at = &rt_shared.sleepers; *at != &sleeper; at = &(*at)->next)
        ;
    *at = sleeper.next;
    pthread_cond_destroy(&sleeper.condition);
}

/* The driver holds the mutex from one progress to the next, and who tests in a loop is back before others are awake: they step
 * aside for those who want in. */
void rt_let_in(void)
{
    if (atomic_load_explicit(&rt_shared.entering, memory_order_relaxed) == 0)
        return;
    const int depth = rt_shared.depth;
    const unsigned before = atomic_load_explicit(&rt_shared.entries, memory_order_relaxed);
    rt_unlock();
    while (atomic_load_explicit(&rt_shared.entering, memory_order_relaxed) != 0 &&
           atomic_load_explicit(&rt_shared.entries, memory_order_relaxed) == before)
        (void)sched_yield();
    rt_lock();
    rt_shared.depth = depth;
}

/* Whoever runs meanwhile may want in. */
void rt_yield(void)
{
    const int depth = rt_shared.depth;
    if (rt_gate.shared)
        rt_unlock();
    (void)sched_yield();
    if (!rt_gate.shared)
        return;
    rt_lock();
    rt_shared.depth = depth;
}
