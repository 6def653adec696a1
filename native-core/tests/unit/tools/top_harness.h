/* SPDX-License-Identifier: Apache-2.0
 * top_harness.h - the part of vbn-top that finds pages, with its system calls counted. */
#ifndef VBN_TESTS_TOP_HARNESS_H
#define VBN_TESTS_TOP_HARNESS_H

#include <stddef.h>

typedef struct look {
    unsigned calls; /* of the functions that make system calls */
    size_t pages;
    int first_pid; /* of the first page, 0 = there is none */
    unsigned denied, left_out;
    int failed;
} look_t;

/* One more look at the process, or at all for 0. */
look_t top_harness_look(int pid);
void top_harness_end(void);

#endif
