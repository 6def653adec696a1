/* SPDX-License-Identifier: Apache-2.0
 * command.c - commands by text (line.c) to servers, of which those that fail are left alone for a time (reach.c). */
#include "compat/compat.h"

rc_t command_ask(memcached_instance_st *server, const char *command, line_take_t take, void *arg)
{
    bool is_new = server->line == NULL;
    rc_t rc = reach_ready(server);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    rc = line_ask(server, command, take, arg);
    if (is_new && server->line == NULL && rc != MEMCACHED_TIMEOUT) /* a server that is there and busy is asked again */
        reach_not(server);
    return rc;
}
