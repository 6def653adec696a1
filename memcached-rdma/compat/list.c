/* SPDX-License-Identifier: Apache-2.0
 * list.c - lists of servers that a program builds before it gives them to a handle. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compat/compat.h"

memcached_server_list_st memcached_server_list_append_with_weight(memcached_server_list_st list, const char *hostname,
                                                                  in_port_t port, uint32_t weight, rc_t *error)
{
    rc_t ignored, *rc = error == NULL ? &ignored : error;
    uint32_t count = memcached_server_list_count(list);
    if (hostname == NULL || *hostname == '\0')
        hostname = "localhost";
    if (strlen(hostname) >= MEMCACHED_NI_MAXHOST) {
        *rc = MEMCACHED_INVALID_ARGUMENTS;
        return NULL;
    }
    memcached_server_st *grown = realloc(list, (count + 1) * sizeof(*grown));
    if (grown == NULL) {
        *rc = MEMCACHED_MEMORY_ALLOCATION_FAILURE;
        return NULL;
    }
    bool is_path = *hostname == '/';
    memcached_server_st *server = &grown[count];
    memset(server, 0, sizeof(*server));
    server->options.is_initialized = true;
    server->port = is_path || port != 0 ? port : DEFAULT_PORT;
    server->weight = weight == 0 ? 1 : weight;
    server->type = is_path ? MEMCACHED_CONNECTION_UNIX_SOCKET : MEMCACHED_CONNECTION_TCP;
    server->major_version = server->minor_version = server->micro_version = VERSION_UNKNOWN;
    memcpy(server->hostname, hostname, strlen(hostname) + 1);
    grown[0].number_of_hosts = count + 1;
    *rc = MEMCACHED_SUCCESS;
    return grown;
}

memcached_server_list_st memcached_server_list_append(memcached_server_list_st list, const char *hostname,
                                                      in_port_t port, rc_t *error)
{
    return memcached_server_list_append_with_weight(list, hostname, port, 0, error);
}

uint32_t memcached_server_list_count(const memcached_server_list_st list)
{
    return list == NULL ? 0 : list->number_of_hosts;
}

void memcached_server_list_free(memcached_server_list_st list)
{
    free(list);
}

void memcached_server_free(memcached_server_st *server)
{
    free(server);
}

void memcached_server_error_reset(memcached_server_st *server)
{
    (void)server; /* an entry of a list has no errors: it is not connected */
}

/* ------------------------------------------------------------------------------------------------ parse */

/* The number at text, up to what follows it. */
static bool read_number(const char *text, unsigned long *value_p, const char **end_p)
{
    char *end;
    errno = 0;
    *value_p = strtoul(text, &end, 10);
    *end_p = end;
    return errno == 0;
}

/* "host", "host:port", "[v6]:port", then " weight" or ":weight". host ends where the port begins. */
static bool read_server(char *word, in_port_t *port_p, uint32_t *weight_p)
{
    unsigned long port = 0, weight = 0;
    char *end = *word == '[' ? strchr(word, ']') : NULL;
    char *colon = strchr(end == NULL ? word : end, ':');
    if (colon != NULL) {
        const char *rest;
        *colon = '\0';
        if (!read_number(colon + 1, &port, &rest))
            return false;
        if ((*rest == ' ' || *rest == ':') && !read_number(rest + 1, &weight, &rest))
            return false;
    }
    *port_p = (in_port_t)port;
    *weight_p = (uint32_t)weight;
    return true;
}

static memcached_server_list_st append_word(memcached_server_list_st list, char *word)
{
    in_port_t port;
    uint32_t weight;
    rc_t rc;
    memcached_server_list_st grown = NULL;
    if (read_server(word, &port, &weight))
        grown = memcached_server_list_append_with_weight(list, word, port, weight, &rc);
    if (grown == NULL)
        free(list);
    return grown;
}

memcached_server_list_st memcached_servers_parse(const char *server_strings)
{
    memcached_server_list_st list = NULL;
    char *copy = server_strings == NULL ? NULL : strdup(server_strings);
    for (char *word = copy; word != NULL && *word != '\0';) {
        char *comma = strchr(word, ',');
        if (comma != NULL)
            *comma++ = '\0';
        list = append_word(list, word);
        if (list == NULL)
            break;
        while (comma != NULL && isspace((unsigned char)*comma))
            comma++;
        word = comma;
    }
    free(copy);
    return list;
}
