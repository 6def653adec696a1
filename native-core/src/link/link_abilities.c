/* SPDX-License-Identifier: Apache-2.0
 * link_abilities.c - the abilities of a worker's transports that decide how packets and lanes are handled. */
#include "link/link_private.h"

bool link_is_costly(const link_engine_t *engine, unsigned transport)
{
    const link_transport_t *t = &engine->transports[transport];
    return (t->ops->caps(t->iface)->flags & TL_CAP_COSTLY) != 0;
}

bool link_promotes(const link_engine_t *engine)
{
    for (unsigned i = 0; i < engine->transport_count; i++)
        if (link_is_costly(engine, i))
            return true;
    return false;
}

bool link_keeps_wanted(const link_engine_t *engine, unsigned transport)
{
    const link_transport_t *t = &engine->transports[transport];
    return (t->ops->caps(t->iface)->flags & TL_CAP_BREAKS) != 0 &&
           (engine->params.settings->link_resume_timeout > 0 || engine->rails > 1 || link_promotes(engine));
}
