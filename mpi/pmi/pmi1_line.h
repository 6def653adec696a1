/* SPDX-License-Identifier: Apache-2.0
 * pmi1_line.h - a line of PMI-1, "cmd=... key=value ...": what clients (pmi1.c) and mpiexec (pmi_server.c) read out of it. */
#ifndef VERBENA_PMI1_LINE_H
#define VERBENA_PMI1_LINE_H

#include <stddef.h>
#include <string.h>

/* Copies the text after " key=" up to the next space. -1: there is none, or it is longer than capacity - 1. */
static inline int pmi1_field(const char *line, const char *key, char *value, size_t capacity)
{
    const size_t length = strlen(key);
    for (const char *at = line; at != NULL; at = strchr(at, ' ')) {
        at += strspn(at, " ");
        if (strncmp(at, key, length) == 0 && at[length] == '=') {
            const size_t n = strcspn(at + length + 1, " ");
            if (n >= capacity)
                return -1;
            memcpy(value, at + length + 1, n);
            value[n] = 0;
            return 0;
        }
    }
    return -1;
}

#endif
