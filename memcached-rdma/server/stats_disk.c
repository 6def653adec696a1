/* SPDX-License-Identifier: Apache-2.0
 * stats_disk.c - statistics of items on disk: the names of memcached's extstore. */
#include "server/stats.h"

#include <stdio.h>

void stats_disk_gets(exec_t *exec, const store_counters_t *counters)
{
    static const char *const none[] = {"get_aborted_extstore", "get_oom_extstore", NULL};
    disk_stats_t stats;
    if (exec->server->disk == NULL)
        return;
    disk_stats(exec->server->disk, &stats);
    stats_u64(exec->reply, "get_extstore", counters->get_disk);
    stats_zero(exec->reply, none);
    stats_u64(exec->reply, "recache_from_extstore", counters->promoted);
    stats_u64(exec->reply, "miss_from_extstore", counters->lost);
    stats_u64(exec->reply, "badcrc_from_extstore", stats.badcrc);
}

void stats_disk(exec_t *exec)
{
    reply_t *reply = exec->reply;
    disk_stats_t s;
    if (exec->server->disk == NULL)
        return;
    disk_stats(exec->server->disk, &s);
    stats_u64(reply, "extstore_compact_lost", s.lost);
    stats_u64(reply, "extstore_compact_rescues", s.rescues);
    stats_u64(reply, "extstore_compact_skipped", s.skipped);
#define SHOW(name) stats_u64(reply, "extstore_" #name, s.name);
    SHOW(page_allocs)
    SHOW(page_evictions)
    SHOW(page_reclaims)
    SHOW(pages_free)
    SHOW(pages_used)
    SHOW(objects_evicted)
    SHOW(objects_read)
    SHOW(objects_written)
    SHOW(objects_used)
    SHOW(bytes_evicted)
    SHOW(bytes_written)
    SHOW(bytes_read)
    SHOW(bytes_used)
    SHOW(bytes_fragmented)
    SHOW(limit_maxbytes)
    SHOW(io_queue)
#undef SHOW
}

void stats_disk_verbena(exec_t *exec, const store_stats_t *stats)
{
    reply_t *reply = exec->reply;
    disk_stats_t s;
    if (exec->server->disk == NULL)
        return;
    disk_stats(exec->server->disk, &s);
    stats_text(reply, "disk", disk_failed(exec->server->disk) ? "failed" : "on");
    stats_u64(reply, "disk_stubs", stats->stubs);
    stats_u64(reply, "disk_stub_bytes", stats->stub_bytes);
    stats_u64(reply, "disk_stubs_evicted", stats->counters.stubs_evicted);
    stats_u64(reply, "disk_puts", stats->counters.shelved);
    stats_u64(reply, "disk_puts_refused", s.behind);
    stats_u64(reply, "disk_waiting_bytes", s.waiting);
    stats_u64(reply, "disk_read_failures", s.failures);
}

void stats_pages(exec_t *exec)
{
    const disk_t *disk = exec->server->disk;
    char name[32];
    for (uint32_t i = 0; disk != NULL && i < disk_pages(disk); i++) {
        disk_page_state_t state = disk_page_state(exec->server->disk, i);
        (void)snprintf(name, sizeof(name), "%u:version", i);
        stats_u64(exec->reply, name, state.version);
        (void)snprintf(name, sizeof(name), "%u:bytes", i);
        stats_u64(exec->reply, name, state.bytes);
        (void)snprintf(name, sizeof(name), "%u:bucket", i);
        stats_u64(exec->reply, name, 0);
        (void)snprintf(name, sizeof(name), "%u:free_bucket", i);
        stats_u64(exec->reply, name, 0);
    }
}
