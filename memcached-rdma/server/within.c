/* SPDX-License-Identifier: Apache-2.0
 * within.c - the core listens where -l and -s let the server listen, and nowhere else: by shared memory alone beside a Unix
 * socket, on loopback for -l 127.0.0.1, on the first address of -l otherwise. Settings that somebody has chosen stay. */
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "server/server.h"

#define HERE "self,shm"     /* transports that open no port */
#define HOST "self,shm,tcp" /* and those that loopback has */

typedef enum scope { SCOPE_ANY, SCOPE_LOOPBACK, SCOPE_LINK, SCOPE_ADDRESS } scope_t;

static scope_t scope_of(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        uint32_t ip = ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr);
        return ip == INADDR_ANY ? SCOPE_ANY : ip >> 24 == 127 ? SCOPE_LOOPBACK : SCOPE_ADDRESS;
    }
    const struct in6_addr *ip = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    return IN6_IS_ADDR_UNSPECIFIED(ip) ? SCOPE_ANY
           : IN6_IS_ADDR_LOOPBACK(ip)  ? SCOPE_LOOPBACK
           : IN6_IS_ADDR_LINKLOCAL(ip) ? SCOPE_LINK
                                       : SCOPE_ADDRESS;
}

void listen_split(const char *where, char host[LISTEN_HOST], char port[LISTEN_PORT])
{
    bool bracket = where[0] == '[';
    (void)snprintf(host, LISTEN_HOST, "%s", where + bracket);
    char *end = bracket ? strchr(host, ']') : NULL;
    char *colon = strrchr(end != NULL ? end : host, ':');
    if (colon != NULL && (end != NULL || strchr(host, ':') == colon)) {
        (void)snprintf(port, LISTEN_PORT, "%s", colon + 1);
        *colon = '\0';
    }
    if (end != NULL)
        *end = '\0';
}

/* The first address of a word of -l, as text. False: it has none; listening says why. */
static bool address_of(const char *where, char text[NI_MAXHOST], scope_t *scope_p)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM}, *infos;
    char host[LISTEN_HOST], port[LISTEN_PORT] = "";
    listen_split(where, host, port);
    if (getaddrinfo(host, NULL, &hints, &infos) != 0)
        return false;
    *scope_p = scope_of(infos->ai_addr);
    bool known = getnameinfo(infos->ai_addr, infos->ai_addrlen, text, NI_MAXHOST, NULL, 0, NI_NUMERICHOST) == 0;
    freeaddrinfo(infos);
    return known;
}

/* The widest scope of -l, and its first address there; SCOPE_ANY: no bound. */
static scope_t widest(const settings_t *settings, char chosen[NI_MAXHOST])
{
    scope_t widest = settings->listen_count == 0 ? SCOPE_ANY : SCOPE_LINK;
    bool first = true;
    for (unsigned i = 0; i < settings->listen_count; i++) {
        char text[NI_MAXHOST];
        scope_t scope;
        if (!address_of(settings->listen[i], text, &scope))
            continue;
        if (scope == SCOPE_ANY)
            return SCOPE_ANY;
        if (scope == SCOPE_LINK || (!first && (scope == widest || scope == SCOPE_LOOPBACK)))
            continue;
        memcpy(chosen, text, NI_MAXHOST);
        widest = scope;
        first = false;
    }
    return widest;
}

vbn_status_t within_listeners(const settings_t *settings, vbn_config_t *config)
{
    char address[NI_MAXHOST] = "";
    if (settings->socket_path != NULL)
        return vbn_config_prefer(config, "tl.enable", HERE);
    scope_t scope = widest(settings, address);
    if (scope == SCOPE_ANY)
        return VBN_OK;
    if (scope == SCOPE_LINK)
        return vbn_config_prefer(config, "tl.enable", HERE);
    vbn_status_t status = scope == SCOPE_LOOPBACK ? vbn_config_prefer(config, "tl.enable", HOST) : VBN_OK;
    return status == VBN_OK ? vbn_config_prefer(config, "tl.tcp.interface", address) : status;
}
