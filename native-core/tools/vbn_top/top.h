/* SPDX-License-Identifier: Apache-2.0
 * top.h - what the parts of vbn-top share. */
#ifndef VBN_TOP_H
#define VBN_TOP_H

#include <stdbool.h>

#include "base/stats_format.h"

#define PAGES_MAX 1024
#define COUNTERS_SHOWN 256
#define LEFT_OUT_MAX 8
#define PATH_BYTES 352 /* a folder, and any name in it */

/* One process's page, and the last two looks at it. */
typedef struct page {
    int pid;
    char command[32];
    char path[PATH_BYTES]; /* /proc/<pid>/fd/<n> */
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

/* A process whose page is not read, because it could end the reader (stats_format.h). */
typedef struct left_out {
    int pid;
    char command[32];
} left_out_t;

typedef struct seen {
    int pid;
    uint64_t numbers; /* a hash of those of its descriptors */
} seen_t;

typedef struct seen_list {
    seen_t *one;
    size_t count, capacity;
} seen_list_t;

typedef struct top {
    page_t *pages[PAGES_MAX];
    size_t count;
    unsigned beyond; /* pages that found no place */
    unsigned denied; /* processes whose descriptors may not be read */
    int failed;      /* errno of another reason for which processes could not be looked at; 0 = none */
    unsigned looks;
    bool all;                /* this look reads the links of all descriptors */
    seen_list_t before, now; /* processes at the last two looks */
    size_t before_at;
    left_out_t left_out[LEFT_OUT_MAX];
    unsigned left_out_count;
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
