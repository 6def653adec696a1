/* SPDX-License-Identifier: Apache-2.0
 * say.c - lines for the user, and the text of a failure. A rank may be ended at any moment by what another one did, so a line is
 * one write: all of it or nothing.
 */
#include "rt/rt.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void rt_say(const char *format, ...)
{
    char line[PIPE_BUF]; /* so much goes into a pipe as a whole */
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof(line) - 1, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    if (length > (int)sizeof(line) - 2)
        length = (int)sizeof(line) - 2;
    line[length] = '\n';
    while (write(STDERR_FILENO, line, (size_t)length + 1) < 0 && errno == EINTR)
        ;
}

int rt_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(rt.error, sizeof(rt.error), format, arguments);
    va_end(arguments);
    return -1;
}
