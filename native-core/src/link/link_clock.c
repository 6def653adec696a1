/* SPDX-License-Identifier: Apache-2.0
 * link_clock.c - timers of an engine and of a peer that keeps packets, and the check whether this process is a forked child. */
#include "link/link_private.h"

#define NS_PER_MS UINT64_C(1000000)

vbn_status_t link_fork_check(const link_engine_t *engine)
{
    if (os_fork_generation() == engine->fork_generation)
        return VBN_OK;
    return err_set(VBN_ERR_FORKED, "the worker belongs to the parent process; open a context of its own after fork()");
}

/* The wheel may not have been advanced for long. */
void link_timer_add(link_engine_t *engine, wheel_timer_t *timer, uint64_t delay_ns)
{
    uint64_t now = link_now_ns(engine), now_ms = now / NS_PER_MS;
    uint64_t behind = now_ms > engine->wheel.now_ms ? now_ms - engine->wheel.now_ms : 0;
    if (engine->wheel.count == 0)
        engine->looked_ns = now;
    wheel_add(&engine->wheel, timer, behind + (delay_ns + NS_PER_MS - 1) / NS_PER_MS);
}

void link_arq_arm(link_arq_t *arq, uint64_t due_ns)
{
    uint64_t now = link_now_ns(arq->peer->engine);
    arq->timer_ns = due_ns > now ? due_ns : now + 1;
    link_timer_add(arq->peer->engine, &arq->timer, arq->timer_ns - now);
}
