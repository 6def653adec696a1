/* SPDX-License-Identifier: Apache-2.0
 * link_transports.c - the transports of this build, and those that an engine has open. */
#include "link/link_private.h"

#include <stdio.h>

vbn_status_t link_engine_open(const link_params_t *params, link_engine_t **engine_p)
{
    static const tl_ops_t *const table[] = {&tl_self_ops, &tl_shm_ops, &tl_rc_ops, &tl_ud_ops, &tl_tcp_ops};
    return link_engine_open_with(params, table, sizeof(table) / sizeof(table[0]), engine_p);
}

size_t link_engine_transports(const link_engine_t *engine, char *text, size_t capacity)
{
    const char *before = NULL;
    size_t length = 0;
    for (unsigned i = 0; i < engine->transport_count; i++) {
        const char *name = engine->transports[i].ops->name;
        if (name == before)
            continue; /* another device: those of a transport stand together */
        size_t left = length < capacity ? capacity - length : 0;
        length += (size_t)snprintf(left > 0 ? text + length : NULL, left, "%s%s", before == NULL ? "" : ",", name);
        before = name;
    }
    return length;
}
