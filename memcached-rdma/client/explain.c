/* SPDX-License-Identifier: Apache-2.0
 * explain.c - names of statuses; which server a key has, how it is reached, and why. */
#include <stdio.h>

#include "client/mc.h"

const char *vmc_status_name(vmc_status_t status)
{
    switch (status) {
    case VMC_OK: return "VMC_OK";
    case VMC_INPROGRESS: return "VMC_INPROGRESS";
    case VMC_NOT_FOUND: return "VMC_NOT_FOUND";
    case VMC_EXISTS: return "VMC_EXISTS";
    case VMC_NOT_STORED: return "VMC_NOT_STORED";
    case VMC_ERR_INVALID: return "VMC_ERR_INVALID";
    case VMC_ERR_NO_MEMORY: return "VMC_ERR_NO_MEMORY";
    case VMC_ERR_TIMEOUT: return "VMC_ERR_TIMEOUT";
    case VMC_ERR_SERVER_DEAD: return "VMC_ERR_SERVER_DEAD";
    case VMC_ERR_TOO_LARGE: return "VMC_ERR_TOO_LARGE";
    case VMC_ERR_SERVER_MEMORY: return "VMC_ERR_SERVER_MEMORY";
    case VMC_ERR_NON_NUMERIC: return "VMC_ERR_NON_NUMERIC";
    case VMC_ERR_TRUNCATED: return "VMC_ERR_TRUNCATED";
    case VMC_ERR_CANCELLED: return "VMC_ERR_CANCELLED";
    case VMC_ERR_PROTOCOL: return "VMC_ERR_PROTOCOL";
    default: return "unknown status";
    }
}

int vmc_server_of(const vmc_t *mc, const char *key, size_t key_length)
{
    if (!message_key_valid(key, key_length))
        return VMC_ERR_INVALID;
    return (int)(ring_find(mc, key, key_length) - mc->servers);
}

static void describe(const mc_server_t *server, char *text, size_t capacity)
{
    char core[512];
    switch (server->state) {
    case SERVER_MESSAGES:
        (void)vbn_explain(server->peer, core, sizeof(core));
        (void)snprintf(text, capacity, "%smessages through the core (%s); %s",
                       onesided_reads(server) ? "one-sided gets, else " : "", server->why, core);
        break;
    case SERVER_SOCKET:
        (void)snprintf(text, capacity, "%s socket; no messages: %s", server->port == 0 ? "Unix" : "TCP", server->why);
        break;
    case SERVER_NONE:
        (void)snprintf(text, capacity, "not connected%s%s", server->why[0] != '\0' ? ": " : "", server->why);
        break;
    default: (void)snprintf(text, capacity, "connecting");
    }
}

size_t vmc_explain(vmc_t *mc, const char *key, size_t key_length, char *text, size_t capacity)
{
    char how[1024];
    handle_check(mc);
    int number = vmc_server_of(mc, key, key_length);
    if (number < 0)
        return (size_t)snprintf(text, capacity, "no valid key");
    const mc_server_t *server = &mc->servers[number];
    describe(server, how, sizeof(how));
    int length = server->port == 0 ? snprintf(text, capacity, "%s: %s", server->host, how)
                                   : snprintf(text, capacity, "%s:%d: %s", server->host, server->port, how);
    return length < 0 ? 0 : (size_t)length;
}

void vmc_get_counts(const vmc_t *mc, vmc_counts_t *counts)
{
    *counts = mc->counts;
}
