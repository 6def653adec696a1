/* SPDX-License-Identifier: Apache-2.0
 * log.c - lines on stderr. */
#include <stdarg.h>
#include <stdio.h>

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
