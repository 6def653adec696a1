/* SPDX-License-Identifier: Apache-2.0
 * link_wait.h - adaptive wait: when a worker that is about to sleep should look on for a moment instead. Sleeping costs the
 * waker a system call and often the start of an idle processor, which takes longer than a peer needs to answer. Pure.
 *
 * Credit grows with each look that found something and with each sleep that ended soon, and shrinks more with each look in
 * vain: a worker whose messages are far apart hardly ever looks on, one whose look never helps once in WAIT_PRICE sleeps.
 * Between two looks the processor is given away. Who gets it may keep it for milliseconds, where a sleeper would have been
 * woken at once: then looking on is given up for WAIT_LOST sleeps.
 *
 * How long a look takes is progress.spin: by default 50 us, about what sleeping and waking take. With 0 there is none. */
#ifndef VBN_LINK_WAIT_H
#define VBN_LINK_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#define WAIT_SHORT 2u                 /* after a sleep shorter than so many looks, one might have paid */
#define WAIT_GONE_NS UINT64_C(300000) /* the processor was away for longer */
#define WAIT_START 8
#define WAIT_MAX 16
#define WAIT_PRICE 4
#define WAIT_LOST 2000

typedef struct link_wait {
    uint64_t slept_ns; /* when the last sleep began; 0: none since the last look */
    int32_t credit;
} link_wait_t;

static inline void link_wait_found(link_wait_t *wait)
{
    wait->credit += wait->credit < WAIT_MAX;
}

static inline void link_wait_in_vain(link_wait_t *wait)
{
    wait->credit -= WAIT_PRICE;
}

static inline void link_wait_lost(link_wait_t *wait)
{
    wait->credit = WAIT_START - WAIT_LOST;
}

/* The worker has nothing to do. true: look on, for look_ns at most, before sleeping. */
static inline bool link_wait_pays(link_wait_t *wait, uint64_t now_ns, uint64_t look_ns)
{
    if (wait->slept_ns != 0 && now_ns - wait->slept_ns < WAIT_SHORT * look_ns)
        link_wait_found(wait);
    wait->slept_ns = 0;
    return wait->credit >= WAIT_START;
}

#endif
