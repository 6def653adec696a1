/* SPDX-License-Identifier: Apache-2.0
 * link_wait.c - looking on before a sleep, where link_wait.h says that it pays. The processor is given away between two
 * looks: with more workers than processors it is the one that the answering peer needs. */
#include "link/link_private.h"

#include <sched.h>

/* Something of a transport that nobody can look at must not wait for us. */
static bool can_look(const link_engine_t *engine)
{
    for (unsigned i = 0; i < engine->transport_count; i++) {
        const link_transport_t *t = &engine->transports[i];
        if (t->ops->waiting == NULL && t->ops->event_fd(t->iface) >= 0)
            return false;
    }
    return true;
}

static bool something_waits(const link_engine_t *engine)
{
    for (unsigned i = 0; i < engine->transport_count; i++) {
        const link_transport_t *t = &engine->transports[i];
        if (t->ops->waiting != NULL && t->ops->waiting(t->iface))
            return true;
    }
    return atomic_get_relaxed(&engine->wakes) != engine->wakes_seen;
}

bool link_wait_look(link_engine_t *engine)
{
    uint64_t look = engine->params.settings->progress_spin;
    if (look == 0)
        return false;
    uint64_t now = os_now_ns(), end = now + look, before;
    if (!link_wait_pays(&engine->wait, now, look) || !can_look(engine))
        return false;
    do {
        if (something_waits(engine)) {
            link_wait_found(&engine->wait);
            return true;
        }
        before = now;
        (void)sched_yield();
        now = os_now_ns();
    } while (now < end);
    if (now - before >= WAIT_GONE_NS)
        link_wait_lost(&engine->wait);
    else
        link_wait_in_vain(&engine->wait);
    return something_waits(engine);
}
