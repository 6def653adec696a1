/* SPDX-License-Identifier: Apache-2.0
 * wait.c - how a rank waits: it polls while a processor is its own, then sleeps on the worker's event fd. More
 * ranks than processors do not poll: each step that finds nothing gives the processor away, a few times, then
 * sleeps. Of several waiting threads one does so, the others sleep (threads.h).
 */
#include "rt/rt.h"

#include <poll.h>
#include <time.h>

#include "rt/shared.h"

#define POLLS 32u   /* calls of vbn_progress between two looks at the clock */
#define YIELDS 4u   /* of an oversubscribed rank before it sleeps */
#define LOOKS 1024u /* that found nothing, between two times that the watch looks */

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int is_idle_for_long(rt_wait_t *wait)
{
    if (rt.oversubscribed) {
        rt_yield();
        return ++wait->polls > (wait->yields > 0 ? wait->yields : YIELDS);
    }
    if (++wait->polls % POLLS != 0)
        return 0;
    const int64_t now = now_ns();
    if (wait->until == 0)
        wait->until = now + rt.spin_ns;
    return now >= wait->until;
}

/* With MPI_THREAD_MULTIPLE others may enter meanwhile; who does wakes this thread when it leaves. */
static void sleep_on_event(const rt_wait_t *wait)
{
    struct pollfd entries[2] = {{.fd = vbn_event_fd(rt.worker), .events = POLLIN}, {.fd = wait->fd, .events = POLLIN}};
    const int depth = rt_shared.depth;
    if (rt_gate.shared)
        rt_unlock();
    const int most = rt.watch != NULL ? RT_WATCH_MS : -1;
    (void)poll(entries, wait->fd < 0 ? 1 : 2, wait->look_ms > 0 ? wait->look_ms : most);
    if (!rt_gate.shared)
        return;
    rt_lock();
    rt_shared.depth = depth;
}

/* A send may complete inside a vbn_progress that returns 0 (it was announced, and its receive has fetched it): so the
 * caller looks once more between arming and sleeping. */
static void drive(rt_wait_t *wait)
{
    if (wait->armed) {
        wait->armed = 0;
        sleep_on_event(wait);
        if (rt.watch != NULL)
            rt.watch();
    }
    if (rt_progress() != 0) {
        wait->until = 0;
        wait->polls = 0;
        return;
    }
    if (is_idle_for_long(wait))
        wait->armed = vbn_arm(rt.worker) == VBN_OK;
}

static void wait_with_others(rt_wait_t *wait)
{
    if (rt_shared.driver != NULL && rt_shared.driver != rt_self()) {
        rt_sleep_until_told(wait);
        return;
    }
    rt_shared.driver = rt_self();
    drive(wait);
    if (rt_shared.driver == rt_self())
        rt_shared.armed = wait->armed;
    else
        wait->armed = 0; /* it has left in between, and lost the drive (T4) */
    rt_tell_sleepers(wait->armed);
    rt_let_in();
}

void rt_wait_step(rt_wait_t *wait)
{
    if (rt_gate.shared)
        wait_with_others(wait);
    else
        drive(wait);
}

void rt_look(void)
{
    static unsigned looks; /* R1: one thread at a time */
    if (rt_progress() != 0)
        return;
    if (rt.watch != NULL && ++looks % LOOKS == 0)
        rt.watch();
    if (rt.oversubscribed)
        rt_yield();
    else if (rt_gate.shared)
        rt_let_in();
}
