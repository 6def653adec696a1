/* SPDX-License-Identifier: Apache-2.0
 * wait.c - how a rank waits: it polls while a processor is its own, then sleeps on the worker's event fd. More
 * ranks than processors do not poll: each step that finds nothing gives the processor away, a few times, then
 * sleeps.
 */
#include "rt/rt.h"

#include <poll.h>
#include <sched.h>
#include <time.h>

#define POLLS 32 /* calls of vbn_progress between two looks at the clock */
#define YIELDS 4 /* of an oversubscribed rank before it sleeps */

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The worker looks itself for a while where answers came soon lately (vbn_arm). */
static void sleep_until_work(const rt_wait_t *wait)
{
    struct pollfd entries[2] = {{.fd = vbn_event_fd(rt.worker), .events = POLLIN}, {.fd = wait->fd, .events = POLLIN}};
    if (vbn_arm(rt.worker) == VBN_OK)
        (void)poll(entries, wait->fd < 0 ? 1 : 2, -1);
}

void rt_wait_step(rt_wait_t *wait)
{
    for (int i = 0; i < POLLS; i++) {
        if (vbn_progress(rt.worker) != 0) {
            wait->until = 0;
            wait->yields = 0;
            return;
        }
        if (rt.oversubscribed)
            break;
    }
    if (rt.oversubscribed && wait->yields < YIELDS) {
        wait->yields++;
        (void)sched_yield();
        return;
    }
    if (!rt.oversubscribed) {
        const int64_t now = now_ns();
        if (wait->until == 0)
            wait->until = now + rt.spin_ns;
        if (now < wait->until)
            return;
    }
    sleep_until_work(wait);
}
