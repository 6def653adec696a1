/* SPDX-License-Identifier: Apache-2.0
 * fail.c - the time; how a benchmark ends its job, in the name of its library, and the content that it ends for.
 */
#include "cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const library_t *running;

void bench_names(const library_t *library)
{
    running = library;
}

double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void bench_fail(const char *what, const char *cause)
{
    fprintf(stderr, "%s: %s: %s\n", running->name, what, cause);
    running->abort_all();
    exit(1);
}

void expect_bytes(const char *what, const char *from, size_t bytes, int value)
{
    for (size_t i = 0; i < bytes; i++)
        if (from[i] != value) {
            fprintf(stderr, "%s: %s: byte %zu of %zu is %d and not %d\n", running->name, what, i, bytes, from[i],
                    value);
            bench_fail(what, "the library delivered wrong content");
        }
}
