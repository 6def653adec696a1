/* SPDX-License-Identifier: Apache-2.0
 * counters_helper.h - C side of the counter tests: C11 atomics do not compile as C++17. */
#ifndef VBN_TEST_COUNTERS_HELPER_H
#define VBN_TEST_COUNTERS_HELPER_H

#include "base/status.h"

#define HELPER_STATS_ROWS 64

typedef struct helper_page helper_page_t;
typedef struct helper_row helper_row_t;

vbn_status_t helper_stats_open(helper_page_t **page_p);
void helper_stats_close(helper_page_t *page);
helper_row_t *helper_stats_row(helper_page_t *page);
void helper_stats_row_release(helper_page_t *page, helper_row_t *row);
void helper_counter_add(helper_row_t *row, unsigned id, uint64_t n);
uint64_t helper_stats_sum(helper_page_t *page, unsigned id);
const char *helper_counter_name(unsigned id);
unsigned helper_counter_count(void);

#endif
