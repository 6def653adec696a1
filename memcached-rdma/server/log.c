/* SPDX-License-Identifier: Apache-2.0
 * log.c - lines on stderr; the one of the start. */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "server/native.h"
#include "server/server.h"

void log_line(const server_t *server, int verbosity, const char *format, ...)
{
    char text[600];
    va_list arguments;
    if (atomic_get_relaxed(&server->verbosity) < verbosity)
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "verbena-memcached: %s\n", text);
}

/* Why messages are on, or off. */
static void tell_messages(const server_t *server, const native_t *native, char *text, size_t capacity)
{
    if (native == NULL)
        (void)snprintf(text, capacity, "off: %s", server->messages ? vbn_error_text() : server->no_messages);
    else if (server->settings.no_auth)
        (void)snprintf(text, capacity, "on (%s; for everybody, as verbena_auth=none)", native->transports);
    else
        (void)snprintf(text, capacity, "on (%s; key %s)", native->transports, server->key_path);
}

void log_start(server_t *server, const native_t *native)
{
    const settings_t *settings = &server->settings;
    char where[128], messages[700];
    int fd = server->greeting >= 0 ? server->greeting : STDERR_FILENO;
    if (settings->socket_path != NULL)
        (void)snprintf(where, sizeof(where), "socket %s", settings->socket_path);
    else
        (void)snprintf(where, sizeof(where), "port %d", settings->port);
    tell_messages(server, native, messages, sizeof(messages));
    (void)dprintf(fd, "verbena-memcached: %s, %zu MiB, messages %s\n", where, settings->memory_bytes >> 20, messages);
    if (server->greeting >= 0)
        (void)close(server->greeting);
    server->greeting = -1;
}
