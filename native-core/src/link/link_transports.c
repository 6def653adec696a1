/* SPDX-License-Identifier: Apache-2.0
 * link_transports.c - the transports of this build. */
#include "link/link_private.h"

vbn_status_t link_engine_open(const link_params_t *params, link_engine_t **engine_p)
{
    static const tl_ops_t *const table[] = {&tl_self_ops, &tl_shm_ops, &tl_rc_ops, &tl_ud_ops, &tl_tcp_ops};
    return link_engine_open_with(params, table, sizeof(table) / sizeof(table[0]), engine_p);
}
