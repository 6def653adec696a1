/* SPDX-License-Identifier: Apache-2.0
 * state.c - what a handle has between calls: connections, items that no fetch has taken, the last error. */
#include <stdlib.h>

#include "compat/compat.h"

void connections_close(memcached_st *ptr)
{
    pending_finish(ptr);
    vmc_close(ptr->error_messages->mc);
    ptr->error_messages->mc = NULL;
    for (uint32_t i = 0; i < ptr->number_of_hosts; i++)
        line_close(&ptr->servers[i]);
}

void found_drop(memcached_st *ptr)
{
    handle_t *handle = ptr->error_messages;
    free(handle->found);
    handle->found = NULL;
    handle->found_count = handle->found_next = 0;
    handle->fetch_end = MEMCACHED_NOTFOUND;
    arena_reset(&handle->arena);
}

rc_t call_begin(memcached_st *ptr)
{
    if (ptr == NULL || ptr->error_messages == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    ptr->query_id++;
    failure_clear(ptr);
    if (ptr->number_of_hosts == 0)
        return fail(ptr, MEMCACHED_NO_SERVERS, NULL);
    return MEMCACHED_SUCCESS;
}
