/* SPDX-License-Identifier: Apache-2.0
 * log.c - lines on stderr; the one of the start. */
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "server/native.h"
#include "server/server.h"

#define LINE_MAX_TEXT 600u /* below PIPE_BUF: a pipe that takes some bytes takes them all */

/* A pipe that nobody reads is full at some time. Then lines are lost, and no thread that serves clients waits for its reader. */
static void write_line(const char *text)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static unsigned long lost;
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    pthread_mutex_lock(&lock);
    if (poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) != 0) {
        if (lost > 0)
            (void)dprintf(STDERR_FILENO, "verbena-memcached: %lu lines are lost: nobody read stderr; %s\n", lost, text);
        else
            (void)dprintf(STDERR_FILENO, "verbena-memcached: %s\n", text);
        lost = 0;
    } else {
        lost++;
    }
    pthread_mutex_unlock(&lock);
}

void log_line(const server_t *server, int verbosity, const char *format, ...)
{
    char text[LINE_MAX_TEXT];
    va_list arguments;
    if (atomic_get_relaxed(&server->verbosity) < verbosity)
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    write_line(text);
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
    char where[128], messages[700], disk[64] = "";
    int fd = server->greeting >= 0 ? server->greeting : STDERR_FILENO;
    if (settings->socket_path != NULL)
        (void)snprintf(where, sizeof(where), "socket %s", settings->socket_path);
    else
        (void)snprintf(where, sizeof(where), "port %d", settings->port);
    tell_messages(server, native, messages, sizeof(messages));
    if (server->disk != NULL) {
        disk_stats_t stats;
        disk_stats(server->disk, &stats);
        (void)snprintf(disk, sizeof(disk), "; %llu MiB more on disk", (unsigned long long)stats.limit_maxbytes >> 20);
    }
    (void)dprintf(fd, "verbena-memcached: %s, %zu MiB, messages %s%s\n", where, settings->memory_bytes >> 20, messages,
                  disk);
    if (server->greeting >= 0)
        (void)close(server->greeting);
    server->greeting = -1;
}
