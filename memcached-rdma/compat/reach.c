/* SPDX-License-Identifier: Apache-2.0
 * reach.c - the client library under a handle (P1), and which servers are left alone after failures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "compat/compat.h"

#define FOREVER_MS 86400000 /* what the client library takes at most */
#define STANDARD_MS 4000
#define SERVER_TEXT (MEMCACHED_NI_MAXHOST + 32u)

/* ----------------------------------------------------------------------------------------------- opening */

/* The server as vmc_open takes it. */
static size_t write_server(const memcached_instance_st *server, char *text)
{
    bool is_v6 = server->hostname[0] != '[' && strchr(server->hostname, ':') != NULL;
    if (server->hostname[0] == '/')
        return (size_t)snprintf(text, SERVER_TEXT, "%s", server->hostname);
    return (size_t)snprintf(text, SERVER_TEXT, is_v6 ? "[%s]:%u" : "%s:%u", server->hostname, (unsigned)server->port);
}

static vmc_t *open_client(memcached_st *ptr)
{
    const char *error = "no memory";
    char *text = malloc((size_t)ptr->number_of_hosts * SERVER_TEXT + 1);
    size_t used = 0;
    vmc_t *mc = NULL;
    if (text != NULL) {
        for (uint32_t i = 0; i < ptr->number_of_hosts; i++) {
            if (i > 0)
                text[used++] = ',';
            used += write_server(&ptr->servers[i], text + used);
        }
        mc = vmc_open(text, &error);
    }
    free(text);
    if (mc == NULL)
        (void)fail(ptr, MEMCACHED_INVALID_ARGUMENTS, error);
    return mc;
}

static uint64_t connect_ms(const memcached_st *ptr)
{
    if (ptr->connect_timeout < 0)
        return FOREVER_MS;
    return ptr->connect_timeout == 0 ? STANDARD_MS : (uint64_t)ptr->connect_timeout;
}

vmc_t *reach_open(memcached_st *ptr)
{
    handle_t *handle = ptr->error_messages;
    if (handle->mc == NULL)
        handle->mc = open_client(ptr);
    if (handle->mc != NULL)
        handle->mc->connect_ns = connect_ms(ptr) * NS_PER_MS; /* the program may have changed it */
    return handle->mc;
}

mc_server_t *reach_server(const memcached_instance_st *server)
{
    const memcached_st *ptr = server->root;
    return &ptr->error_messages->mc->servers[server - ptr->servers];
}

static bool is_up(const memcached_instance_st *server)
{
    const mc_server_t *link = reach_server(server);
    return link->state == SERVER_MESSAGES || link->state == SERVER_SOCKET;
}

uint64_t reach_limit(const memcached_instance_st *server)
{
    const memcached_st *ptr = server->root;
    if (ptr->poll_timeout < 0)
        return UINT64_MAX;
    uint64_t ms = (uint64_t)ptr->poll_timeout + (is_up(server) ? 0 : connect_ms(ptr));
    return ms * NS_PER_MS;
}

/* ---------------------------------------------------------------------------------------------- failures */

static void note_disconnect(memcached_instance_st *server)
{
    memcached_st *ptr = server->root;
    if (ptr->last_disconnected_server == NULL)
        ptr->last_disconnected_server = malloc(sizeof(*server));
    if (ptr->last_disconnected_server == NULL)
        return;
    *ptr->last_disconnected_server = *server;
    ptr->last_disconnected_server->line = NULL;
}

void reach_not(memcached_instance_st *server)
{
    memcached_st *ptr = server->root;
    if (server->state != MEMCACHED_SERVER_STATE_IN_TIMEOUT) {
        server->next_retry = time(NULL) + ptr->retry_timeout;
        server->state = MEMCACHED_SERVER_STATE_IN_TIMEOUT;
        if (server->failure_query_id != ptr->query_id) {
            server->failures++;
            server->failure_query_id = ptr->query_id;
        }
    }
    note_disconnect(server);
}

/* The server has failed too often: its keys go to others from now on. */
static rc_t eject(memcached_instance_st *server)
{
    memcached_st *ptr = server->root;
    note_disconnect(server);
    if (ptr->dead_timeout > 0) {
        server->next_retry = time(NULL) + ptr->dead_timeout;
        server->failures = ptr->server_failure_limit - 1; /* one more failure after that ejects it again */
    }
    rc_t rc = place_servers(ptr);
    return rc != MEMCACHED_SUCCESS ? rc : fail_server(server, MEMCACHED_SERVER_MARKED_DEAD, 0, "it failed too often");
}

rc_t reach_ready(memcached_instance_st *server)
{
    memcached_st *ptr = server->root;
    if (server->failures >= ptr->server_failure_limit) {
        if (ptr->flags.auto_eject_hosts)
            return eject(server);
        server->state = MEMCACHED_SERVER_STATE_IN_TIMEOUT;
    }
    if (server->state != MEMCACHED_SERVER_STATE_IN_TIMEOUT)
        return MEMCACHED_SUCCESS;
    if (server->next_retry >= time(NULL)) {
        note_disconnect(server);
        return fail_server(server, MEMCACHED_SERVER_TEMPORARILY_DISABLED, 0, "it failed");
    }
    server->state = MEMCACHED_SERVER_STATE_NEW;
    server->timeouts = 0;
    return MEMCACHED_SUCCESS;
}

/* ----------------------------------------------------------------------------------------------- results */

static rc_t note_answer(memcached_instance_st *server, rc_t rc)
{
    if (server->state != MEMCACHED_SERVER_STATE_CONNECTED) {
        server->state = MEMCACHED_SERVER_STATE_CONNECTED;
        server->failures = 0;
        server->next_retry = 0;
    }
    server->timeouts = 0;
    return rc;
}

static rc_t note_timeout(memcached_instance_st *server)
{
    const memcached_st *ptr = server->root;
    const mc_server_t *link = reach_server(server);
    bool connects = link->state == SERVER_RESOLVING || link->state == SERVER_CONNECTING;
    server->timeouts++;
    if (connects || (ptr->server_timeout_limit > 0 && server->timeouts >= ptr->server_timeout_limit))
        reach_not(server);
    return fail_server(server, MEMCACHED_TIMEOUT, 0, connects ? "no connection in time" : "no answer in time");
}

static rc_t note_lost(memcached_instance_st *server)
{
    static const rc_t results[] = {[FAULT_OTHER] = MEMCACHED_CONNECTION_FAILURE,
                                   [FAULT_NAME] = MEMCACHED_HOST_LOOKUP_FAILURE,
                                   [FAULT_SILENT] = MEMCACHED_TIMEOUT,
                                   [FAULT_OLD] = MEMCACHED_PROTOCOL_ERROR};
    const mc_server_t *link = reach_server(server);
    if (link->fault == FAULT_SILENT)
        return note_timeout(server);
    if (link->retry_ns >
        os_now_ns()) /* the attempt to connect has failed; else a connection broke, and may come again */
        reach_not(server);
    return fail_server(server, results[link->fault], 0, link->why);
}

rc_t reach_result(memcached_instance_st *server, vmc_status_t status)
{
    switch (status) {
    case VMC_OK:
    case VMC_ERR_TRUNCATED: return note_answer(server, MEMCACHED_SUCCESS);
    case VMC_NOT_FOUND: return note_answer(server, MEMCACHED_NOTFOUND);
    case VMC_EXISTS: return note_answer(server, MEMCACHED_DATA_EXISTS);
    case VMC_NOT_STORED: return note_answer(server, MEMCACHED_NOTSTORED);
    case VMC_ERR_TOO_LARGE:
        return note_answer(server, fail_server(server, MEMCACHED_E2BIG, 0, "object too large for cache"));
    case VMC_ERR_SERVER_MEMORY:
        return note_answer(
            server, fail_server(server, MEMCACHED_SERVER_MEMORY_ALLOCATION_FAILURE, 0, "out of memory storing object"));
    case VMC_ERR_NON_NUMERIC:
        return note_answer(
            server, fail_server(server, MEMCACHED_CLIENT_ERROR, 0, "cannot increment or decrement non-numeric value"));
    case VMC_ERR_SERVER_DEAD: return note_lost(server);
    case VMC_ERR_TIMEOUT: return note_timeout(server);
    case VMC_ERR_NO_MEMORY: return fail(server->root, MEMCACHED_MEMORY_ALLOCATION_FAILURE, NULL);
    case VMC_ERR_INVALID: return fail(server->root, MEMCACHED_INVALID_ARGUMENTS, NULL);
    case VMC_ERR_CANCELLED: return fail_server(server, MEMCACHED_CONNECTION_FAILURE, 0, "the request was cancelled");
    default: return fail_server(server, MEMCACHED_PROTOCOL_ERROR, 0, "the server knows no meta commands");
    }
}
