/* SPDX-License-Identifier: Apache-2.0
 * analyze.c - statistics of all servers compared. */
#include "compat/compat.h"

/* Number i is that of the most `value` so far. */
static void note_most(uint64_t value, uint32_t i, uint64_t *most, uint32_t *index)
{
    if (i > 0 && value <= *most)
        return;
    *most = value;
    *index = i;
}

memcached_analysis_st *memcached_analyze(memcached_st *ptr, memcached_stat_st *stat, rc_t *error)
{
    rc_t ignored, *rc = error == NULL ? &ignored : error;
    uint64_t items = 0, bytes = 0, hits = 0, gets = 0, uptime = 0, used = 0;
    *rc = MEMCACHED_INVALID_ARGUMENTS;
    if (ptr == NULL || stat == NULL)
        return NULL;
    memcached_analysis_st *analysis = ptr->allocators.calloc(ptr, 1, sizeof(*analysis), ptr->allocators.context);
    *rc = MEMCACHED_MEMORY_ALLOCATION_FAILURE;
    if (analysis == NULL)
        return NULL;
    analysis->root = ptr;
    for (uint32_t i = 0; i < ptr->number_of_hosts; i++) {
        uint64_t left = stat[i].limit_maxbytes - stat[i].bytes;
        note_most(stat[i].bytes, i, &used, &analysis->most_consumed_server);
        note_most(stat[i].uptime, i, &uptime, &analysis->oldest_server);
        if (i == 0 || left < analysis->least_remaining_bytes) {
            analysis->least_remaining_bytes = left;
            analysis->least_free_server = i;
        }
        items += stat[i].curr_items;
        bytes += stat[i].bytes;
        hits += stat[i].get_hits;
        gets += stat[i].cmd_get;
    }
    analysis->most_used_bytes = used;
    analysis->longest_uptime = (uint32_t)uptime;
    analysis->average_item_size = items == 0 ? 0 : (uint32_t)(bytes / items);
    analysis->pool_hit_ratio = gets == 0 ? 0 : (double)hits / (double)gets * 100;
    *rc = MEMCACHED_SUCCESS;
    return analysis;
}

void memcached_analyze_free(memcached_analysis_st *analysis)
{
    if (analysis != NULL)
        memory_give(analysis->root, analysis);
}
