/* SPDX-License-Identifier: Apache-2.0
 * servers.c - the servers of a handle. A change of the list ends the connections (P1). */
#include <stdlib.h>
#include <string.h>

#include "compat/compat.h"

/* ---------------------------------------------------------------------------------------------- the list */

/* Space for more servers. */
static bool grow(memcached_st *ptr, uint32_t more)
{
    connections_close(ptr);
    memcached_instance_st *grown = realloc(ptr->servers, (ptr->number_of_hosts + more) * sizeof(*grown));
    if (grown == NULL)
        return false;
    ptr->servers = grown;
    return true;
}

static void append(memcached_st *ptr, const char *hostname, in_port_t port, uint32_t weight,
                   memcached_connection_t type)
{
    memcached_instance_st *server = &ptr->servers[ptr->number_of_hosts++];
    *server = (memcached_instance_st){.root = ptr,
                                      .port = port,
                                      .weight = weight == 0 ? 1 : weight,
                                      .type = type,
                                      .major_version = VERSION_UNKNOWN,
                                      .minor_version = VERSION_UNKNOWN,
                                      .micro_version = VERSION_UNKNOWN};
    (void)strncpy(server->hostname, hostname, sizeof(server->hostname) - 1);
}

rc_t servers_add(memcached_st *ptr, const char *hostname, in_port_t port, uint32_t weight, memcached_connection_t type)
{
    if (!grow(ptr, 1))
        return fail(ptr, MEMCACHED_MEMORY_ALLOCATION_FAILURE, NULL);
    append(ptr, hostname, port, weight, type);
    if (weight > 1 && place_is_consistent(ptr))
        ptr->ketama.weighted_ = true;
    return place_servers(ptr);
}

void servers_free(memcached_st *ptr)
{
    free(ptr->servers);
    ptr->servers = NULL;
    ptr->number_of_hosts = 0;
    free(ptr->last_disconnected_server);
    ptr->last_disconnected_server = NULL;
}

void memcached_servers_reset(memcached_st *ptr)
{
    if (ptr == NULL || ptr->error_messages == NULL)
        return;
    connections_close(ptr);
    servers_free(ptr);
}

uint32_t memcached_server_count(const memcached_st *ptr)
{
    return ptr == NULL ? 0 : ptr->number_of_hosts;
}

/* --------------------------------------------------------------------------------------------------- add */

rc_t memcached_server_add_with_weight(memcached_st *ptr, const char *hostname, in_port_t port, uint32_t weight)
{
    if (ptr == NULL || ptr->error_messages == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    if (hostname == NULL || *hostname == '\0')
        hostname = "localhost";
    if (strlen(hostname) >= MEMCACHED_NI_MAXHOST)
        return fail(ptr, MEMCACHED_INVALID_ARGUMENTS, "Invalid hostname provided");
    bool is_path = *hostname == '/';
    return servers_add(ptr, hostname, port == 0 ? DEFAULT_PORT : port, weight,
                       is_path ? MEMCACHED_CONNECTION_UNIX_SOCKET : MEMCACHED_CONNECTION_TCP);
}

rc_t memcached_server_add(memcached_st *ptr, const char *hostname, in_port_t port)
{
    return memcached_server_add_with_weight(ptr, hostname, port, 0);
}

rc_t memcached_server_add_udp_with_weight(memcached_st *ptr, const char *hostname, in_port_t port, uint32_t weight)
{
    (void)hostname;
    (void)port;
    (void)weight;
    return ptr == NULL ? MEMCACHED_INVALID_ARGUMENTS : fail(ptr, MEMCACHED_DEPRECATED, NULL);
}

rc_t memcached_server_add_udp(memcached_st *ptr, const char *hostname, in_port_t port)
{
    return memcached_server_add_udp_with_weight(ptr, hostname, port, 0);
}

rc_t memcached_server_add_unix_socket_with_weight(memcached_st *ptr, const char *filename, uint32_t weight)
{
    if (ptr == NULL || ptr->error_messages == NULL)
        return MEMCACHED_FAILURE;
    if (filename == NULL || *filename == '\0' || strlen(filename) >= MEMCACHED_NI_MAXHOST)
        return fail(ptr, MEMCACHED_INVALID_ARGUMENTS, "Invalid filename for socket provided");
    return servers_add(ptr, filename, 0, weight, MEMCACHED_CONNECTION_UNIX_SOCKET);
}

rc_t memcached_server_add_unix_socket(memcached_st *ptr, const char *filename)
{
    return memcached_server_add_unix_socket_with_weight(ptr, filename, 0);
}

rc_t memcached_server_push(memcached_st *ptr, const memcached_server_list_st list)
{
    if (list == NULL)
        return MEMCACHED_SUCCESS;
    if (ptr == NULL || ptr->error_messages == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    uint32_t count = memcached_server_list_count(list);
    if (!grow(ptr, count))
        return fail(ptr, MEMCACHED_MEMORY_ALLOCATION_FAILURE, NULL);
    for (uint32_t i = 0; i < count; i++) {
        append(ptr, list[i].hostname, list[i].port, list[i].weight, list[i].type);
        if (list[i].weight > 1)
            ptr->ketama.weighted_ = true;
    }
    return place_servers(ptr);
}

rc_t memcached_push(memcached_st *destination, const memcached_st *source)
{
    if (destination == NULL || source == NULL || destination->error_messages == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    if (source->number_of_hosts == 0)
        return MEMCACHED_SUCCESS;
    if (!grow(destination, source->number_of_hosts))
        return fail(destination, MEMCACHED_MEMORY_ALLOCATION_FAILURE, NULL);
    for (uint32_t i = 0; i < source->number_of_hosts; i++) {
        const memcached_instance_st *server = &source->servers[i];
        append(destination, server->hostname, server->port, server->weight, server->type);
        if (server->weight > 1)
            destination->ketama.weighted_ = true;
    }
    return place_servers(destination);
}

/* -------------------------------------------------------------------------------------------------- find */

const memcached_instance_st *memcached_server_by_key(memcached_st *ptr, KEY, rc_t *error)
{
    rc_t ignored, *rc = error == NULL ? &ignored : error;
    if (ptr == NULL || ptr->error_messages == NULL) {
        *rc = MEMCACHED_INVALID_ARGUMENTS;
        return NULL;
    }
    *rc = ptr->number_of_hosts == 0 ? fail(ptr, MEMCACHED_NO_SERVERS, NULL) : keys_check(ptr, &key, &key_length, 1);
    return *rc == MEMCACHED_SUCCESS ? place_of(ptr, key, key_length) : NULL;
}

const memcached_instance_st *memcached_server_get_last_disconnect(const memcached_st *ptr)
{
    return ptr == NULL ? NULL : ptr->last_disconnected_server;
}

void memcached_reset_last_disconnected_server(memcached_st *ptr)
{
    if (ptr == NULL)
        return;
    free(ptr->last_disconnected_server);
    ptr->last_disconnected_server = NULL;
}

rc_t memcached_server_cursor(const memcached_st *ptr, const memcached_server_fn *callback, void *context,
                             uint32_t number_of_callbacks)
{
    bool errors = false;
    if (ptr == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    if (ptr->number_of_hosts == 0)
        return MEMCACHED_NO_SERVERS;
    for (uint32_t i = 0; i < ptr->number_of_hosts; i++)
        for (uint32_t j = 0; j < number_of_callbacks; j++) {
            rc_t rc = callback[j](ptr, &ptr->servers[i], context);
            if (rc == MEMCACHED_INVALID_ARGUMENTS)
                return rc;
            if (rc != MEMCACHED_SUCCESS && rc != MEMCACHED_BUFFERED) {
                errors = true;
                break;
            }
        }
    return errors ? MEMCACHED_SOME_ERRORS : MEMCACHED_SUCCESS;
}
