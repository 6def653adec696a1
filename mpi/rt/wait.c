/* SPDX-License-Identifier: Apache-2.0
 * wait.c - how a rank waits: it polls while a processor is its own, then sleeps on the worker's event fd. More
 * ranks than processors do not poll: each step that finds nothing gives the processor away, a few times, then
 * sleeps.
 */
#include "rt/rt.h"

#include <poll.h>
#include <sched.h>
#include <time.h>

#define POLLS 32u /* calls of vbn_progress between two looks at the clock */
#define YIELDS 4u /* of an oversubscribed rank before it sleeps */

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int is_idle_for_long(rt_wait_t *wait)
{
    if (rt.oversubscribed) {
        (void)sched_yield();
        return ++wait->polls > YIELDS;
    }
    if (++wait->polls % POLLS != 0)
        return 0;
    const int64_t now = now_ns();
    if (wait->until == 0)
        wait->until = now + rt.spin_ns;
    return now >= wait->until;
}

/* A send may complete inside a vbn_progress that returns 0 (it was announced, and its receive has fetched it): so the
 * caller looks once more between arming and sleeping. */
void rt_wait_step(rt_wait_t *wait)
{
    struct pollfd entries[2] = {{.fd = vbn_event_fd(rt.worker), .events = POLLIN}, {.fd = wait->fd, .events = POLLIN}};
    if (wait->armed) {
        wait->armed = 0;
        (void)poll(entries, wait->fd < 0 ? 1 : 2, -1);
    }
    if (rt_progress() != 0) {
        wait->until = 0;
        wait->polls = 0;
        return;
    }
    if (is_idle_for_long(wait))
        wait->armed = vbn_arm(rt.worker) == VBN_OK;
}

void rt_look(void)
{
    if (rt_progress() == 0 && rt.oversubscribed)
        (void)sched_yield();
}
