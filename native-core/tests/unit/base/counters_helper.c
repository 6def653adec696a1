/* SPDX-License-Identifier: Apache-2.0
 * counters_helper.c - see counters_helper.h. */
#include "counters_helper.h"

#include "base/counters.h"

_Static_assert(HELPER_STATS_ROWS == STATS_ROWS, "the tests know the number of rows");

vbn_status_t helper_stats_open(helper_page_t **page_p)
{
    return stats_open((stats_page_t **)(void *)page_p);
}

void helper_stats_close(helper_page_t *page)
{
    stats_close((stats_page_t *)page);
}

helper_row_t *helper_stats_row(helper_page_t *page)
{
    return (helper_row_t *)(void *)stats_row((stats_page_t *)page);
}

void helper_stats_row_release(helper_page_t *page, helper_row_t *row)
{
    stats_row_release((stats_page_t *)page, (counters_t *)(void *)row);
}

void helper_counter_add(helper_row_t *row, unsigned id, uint64_t n)
{
    counter_add((counters_t *)(void *)row, (counter_id_t)id, n);
}

void helper_traffic_add(helper_row_t *row, unsigned way, unsigned class_index, uint64_t bytes, uint64_t ns)
{
    traffic_cell_t *cell = traffic_cell((counters_t *)(void *)row, TRAFFIC_AT(way), (traffic_class_t)class_index,
                                        traffic_bucket(bytes));
    (void)traffic_count(cell, bytes);
    if (ns > 0)
        traffic_time(cell, ns);
}

unsigned helper_traffic_bucket(uint64_t bytes)
{
    return traffic_bucket(bytes);
}

uint64_t helper_stats_sum(helper_page_t *page, unsigned id)
{
    return stats_sum((stats_page_t *)page, (counter_id_t)id);
}

const char *helper_counter_name(unsigned id)
{
    return counter_name((counter_id_t)id);
}

unsigned helper_counter_count(void)
{
    return COUNTER_COUNT;
}
