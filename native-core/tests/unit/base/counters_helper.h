/* SPDX-License-Identifier: Apache-2.0
 * counters_helper.h - C side of the counter tests: C11 atomics do not compile as C++17. */
#ifndef VBN_TEST_COUNTERS_HELPER_H
#define VBN_TEST_COUNTERS_HELPER_H

#include "base/status.h"

#define HELPER_STATS_ROWS 32

typedef struct helper_page helper_page_t;
typedef struct helper_row helper_row_t;

vbn_status_t helper_stats_open(helper_page_t **page_p);
void helper_stats_close(helper_page_t *page);
helper_row_t *helper_stats_row(helper_page_t *page);
void helper_stats_row_release(helper_page_t *page, helper_row_t *row);
void helper_counter_add(helper_row_t *row, unsigned id, uint64_t n);
/* Counts one operation: way and class_index as traffic_way_t and traffic_class_t; ns > 0: it was timed. */
void helper_traffic_add(helper_row_t *row, unsigned way, unsigned class_index, uint64_t bytes, uint64_t ns);
unsigned helper_traffic_bucket(uint64_t bytes);
uint64_t helper_stats_sum(helper_page_t *page, unsigned id);
const char *helper_counter_name(unsigned id);
unsigned helper_counter_count(void);

#endif
