/* SPDX-License-Identifier: Apache-2.0
 * config.c - "SERVER,SERVER;OPTION;OPTION". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/mc.h"

#define PORT_USUAL 11211
#define WEIGHT_MAX 65535u
#define MS_MAX 86400000u
#define SERVERS_MAX 1024u
#define SHOWN_MAX 100u /* bytes of a wrong value, so that the cure has space */

static _Thread_local char error_text[256];

static bool fail(const char **error_p, const char *what, const char *value, const char *cure)
{
    bool cut = strlen(value) > SHOWN_MAX;
    (void)snprintf(error_text, sizeof(error_text), "%s '%.*s%s': %s", what, (int)SHOWN_MAX, value, cut ? "..." : "",
                   cure);
    *error_p = error_text;
    return false;
}

static bool read_number(const char *text, unsigned least, unsigned most, unsigned *value_p)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value < least || value > most)
        return false;
    *value_p = (unsigned)value;
    return true;
}

/* The port behind host; host ends there afterwards. */
static bool read_port(char *host, char **host_p, unsigned *port_p)
{
    char *colon = strrchr(host, ':');
    *host_p = host;
    *port_p = PORT_USUAL;
    if (*host == '[') {
        char *end = strchr(host, ']');
        if (end == NULL || (end[1] != '\0' && end[1] != ':'))
            return false;
        *end = '\0';
        *host_p = host + 1;
        return end[1] == '\0' || read_number(end + 2, 1, 65535, port_p);
    }
    if (colon == NULL || strchr(host, ':') != colon)
        return true; /* no port, or an IPv6 address without brackets */
    if (!read_number(colon + 1, 1, 65535, port_p))
        return false; /* the word stays whole, for the error */
    *colon = '\0';
    return true;
}

static bool add_server(vmc_t *mc, char *word, const char **error_p)
{
    mc_server_t *server = &mc->servers[mc->server_count];
    char *weight = strstr(word, "/?"), *host;
    unsigned port = 0;
    *server = (mc_server_t){.mc = mc, .weight = 1, .fd = -1};
    list_init(&server->queue);
    list_init(&server->flying);
    if (weight != NULL) {
        *weight = '\0';
        if (!read_number(weight + 2, 1, WEIGHT_MAX, &server->weight))
            return fail(error_p, "weight", weight + 2, "give a number from 1 to 65535");
    }
    if (*word == '\0')
        return fail(error_p, "server", word, "give host:port, or the path of a socket");
    if (*word == '/')
        host = word;
    else if (!read_port(word, &host, &port) || *host == '\0')
        return fail(error_p, "server", word,
                    "give host:port, [v6]:port, or the path of a socket; a port is a number from 1 to 65535");
    server->port = (int)port;
    server->host = strdup(host);
    if (server->host == NULL)
        return fail(error_p, "server", word, "no memory");
    mc->server_count++;
    return true;
}

static bool add_servers(vmc_t *mc, char *list, const char **error_p)
{
    unsigned count = 1;
    for (const char *at = list; *at != '\0'; at++)
        count += *at == ',';
    if (count > SERVERS_MAX)
        return fail(error_p, "servers", list, "at most 1,024");
    mc->servers = calloc(count, sizeof(*mc->servers));
    if (mc->servers == NULL)
        return fail(error_p, "servers", list, "no memory");
    for (char *word = list; word != NULL;) {
        char *comma = strchr(word, ',');
        if (comma != NULL)
            *comma++ = '\0';
        if (!add_server(mc, word, error_p))
            return false;
        word = comma;
    }
    return true;
}

/* ------------------------------------------------------------------- how options.def takes the values */

static bool take_ms(const char *name, const char *value, uint64_t *ns_p, const char **error_p)
{
    unsigned ms;
    if (!read_number(value, 1, MS_MAX, &ms))
        return fail(error_p, name, value, "give milliseconds, from 1 to 86400000");
    *ns_p = ms * NS_PER_MS;
    return true;
}

static bool take_timeout(vmc_t *mc, const char *value, const char **error_p)
{
    return take_ms("timeout", value, &mc->timeout_ns, error_p);
}

static bool take_connect(vmc_t *mc, const char *value, const char **error_p)
{
    return take_ms("connect", value, &mc->connect_ns, error_p);
}

static bool take_key(vmc_t *mc, const char *value, const char **error_p)
{
    free(mc->key_file);
    mc->key_file = strdup(value);
    return mc->key_file != NULL || fail(error_p, "key", value, "no memory");
}

static bool take_carrier(vmc_t *mc, const char *value, const char **error_p)
{
    static const char *const names[] = {"auto", "messages", "sockets"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(value, names[i]) == 0) {
            mc->carrier = (carrier_t)i;
            return true;
        }
    return fail(error_p, "carrier", value, "give auto, messages or sockets");
}

static bool take_onesided(vmc_t *mc, const char *value, const char **error_p)
{
    mc->onesided_off = strcmp(value, "off") == 0;
    return mc->onesided_off || strcmp(value, "on") == 0 || fail(error_p, "onesided", value, "give on or off");
}

typedef struct option {
    const char *name, *standard;
    bool (*take)(vmc_t *mc, const char *value, const char **error_p);
} option_t;

static const option_t options[] = {
#define CLIENT_OPTION(name, value, standard, take, help) {name, standard, take},
#include "client/options.def"
};
#define OPTIONS (sizeof(options) / sizeof(options[0]))

static bool unknown(const char *word, const char **error_p)
{
    char names[128] = "there are";
    for (size_t i = 0; i < OPTIONS; i++) {
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof(names) - used, "%s %s", i == 0 ? "" : ",", options[i].name);
    }
    return fail(error_p, "option", word, names);
}

static bool set_option(vmc_t *mc, char *word, const char **error_p)
{
    char *value = strchr(word, '=');
    if (value == NULL)
        return fail(error_p, "option", word, "give NAME=VALUE");
    *value++ = '\0';
    for (size_t i = 0; i < OPTIONS; i++)
        if (strcmp(options[i].name, word) == 0)
            return options[i].take(mc, value, error_p);
    return unknown(word, error_p);
}

static bool set_standards(vmc_t *mc, const char **error_p)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (*options[i].standard != '\0' && !options[i].take(mc, options[i].standard, error_p))
            return false;
    return true;
}

bool config_read(vmc_t *mc, const char *text, const char **error_p)
{
    char *copy = strdup(text == NULL ? "" : text), *rest = NULL;
    if (copy == NULL)
        return fail(error_p, "config", "", "no memory");
    char *words = strchr(copy, ';');
    if (words != NULL)
        *words++ = '\0';
    bool right = set_standards(mc, error_p) && add_servers(mc, copy, error_p);
    for (char *word = words == NULL ? NULL : strtok_r(words, ";", &rest); right && word != NULL;
         word = strtok_r(NULL, ";", &rest))
        right = set_option(mc, word, error_p);
    free(copy);
    return right;
}
