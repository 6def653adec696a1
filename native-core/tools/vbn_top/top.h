/* SPDX-License-Identifier: Apache-2.0
 * top.h - what the parts of vbn-top share. */
#ifndef VBN_TOP_H
#define VBN_TOP_H

#include <stdbool.h>

#include "base/stats_format.h"

#define PAGES_MAX 1024
#define COUNTERS_SHOWN 256

/* One process's page, and the last two looks at it. */
typedef struct page {
    int pid;
    char command[32];
    stats_view_t view;
    uint64_t seen_ns; /* time of `now` */
    uint64_t before[COUNTERS_SHOWN];
    uint64_t now[COUNTERS_SHOWN];
    size_t cell_count;
    stats_cell_t *cells_before; /* traffic, in the order of the page */
    stats_cell_t *cells;
    double seconds; /* between the two; since the page was opened when it is new */
    bool alive;
} page_t;

typedef struct top {
    page_t *pages[PAGES_MAX];
    size_t count;
    unsigned denied; /* processes whose descriptors may not be read */
    int only_pid;
    bool json;
    bool traffic;
} top_t;

/* ---- pages.c */
void top_scan(top_t *top);   /* adds new processes, forgets those that ended */
void top_sample(top_t *top); /* looks at all of them */
void top_close(top_t *top);

/* ---- show.c */
void show_table(const top_t *top, bool clear);
void show_json(const top_t *top);

#endif
