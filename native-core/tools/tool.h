/* SPDX-License-Identifier: Apache-2.0
 * tool.h - what all programs here say alike: wrong use is one line on stderr and exit status 2. */
#ifndef VBN_TOOL_H
#define VBN_TOOL_H

#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vbn/vbn.h"

#define TOOL_ERROR 2 /* exit status of whatever keeps a program from doing its work */

/* Prints "program: text" and ends. */
__attribute__((format(printf, 2, 3))) _Noreturn static inline void tool_fail(const char *program, const char *format,
                                                                             ...)
{
    va_list args;
    va_start(args, format);
    char text[2048];
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "%s: %s\n", program, text);
    exit(TOOL_ERROR);
}

/* What getopt_long did not understand: it said '?' or ':'. The caller has set opterr to 0. */
_Noreturn static inline void tool_bad_option(const char *program, int said, char **argv)
{
    const char short_one[3] = {'-', (char)optopt, '\0'};
    bool is_long = optopt == 0 || strncmp(argv[optind - 1], "--", 2) == 0;
    const char *option = is_long ? argv[optind - 1] : short_one;
    if (said == ':')
        tool_fail(program, "%s needs a value; %s --help lists all options", option, program);
    tool_fail(program, "%s is no option; %s --help lists all", option, program);
}

_Noreturn static inline void tool_version(const char *program)
{
    printf("%s %s\n", program, VBN_VERSION_STRING);
    exit(0);
}

#endif
