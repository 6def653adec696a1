/* SPDX-License-Identifier: Apache-2.0
 * use.c - notices in debug builds that two threads are inside calls of one worker at a time. A worker may pass from one
 * thread to another between calls. */
#include <stdlib.h>

#include "proto/am.h"
#include "proto/rma.h"

proto_engine_t *proto_engine_of_peer(const vbn_peer_t *peer)
{
    return peer == NULL ? NULL : proto_engine_of(peer);
}

proto_engine_t *proto_engine_of_key(const vbn_key_t *key)
{
    return key == NULL ? NULL : key->engine;
}

proto_engine_t *proto_engine_of_remote(const vbn_am_remote_t *remote)
{
    return remote == NULL ? NULL : remote->engine;
}

proto_engine_t *proto_use(proto_engine_t *engine)
{
    static _Thread_local char here;
    uintptr_t me = (uintptr_t)&here;
    uintptr_t user = 0;
    /* Relaxed: this must not order what it watches, or a race would hide. */
    if (engine == NULL ||
        atomic_compare_exchange_strong_explicit(&engine->user, &user, me, memory_order_relaxed, memory_order_relaxed))
        return engine;
    if (user == me)
        return NULL;                                       /* a call from within a callback */
    const log_sink_t on_stderr = {.level = VBN_LOG_ERROR}; /* the context's belongs to nobody knows which thread */
    LOG_ERROR(
        &on_stderr,
        "two threads are inside calls of one worker at the same time; a worker and its peers, keys and operations "
        "belong to one thread at a time: give each thread a worker of its own, or lock");
    abort();
}

void proto_unuse(proto_engine_t **used)
{
    if (*used != NULL)
        atomic_set_relaxed(&(*used)->user, (uintptr_t)0);
}
