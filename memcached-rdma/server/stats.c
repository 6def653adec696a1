/* SPDX-License-Identifier: Apache-2.0
 * stats.c - the stats command: which group, and the groups about items. */
#include "server/stats.h"

#include <stdio.h>
#include <string.h>

#include "proto/text.h"

/* ------------------------------------------------------------------------------- items and slabs */

/* What memcached calls a slab class is a TTL bucket here: number 1 never expires. */
static void class_u64(reply_t *reply, const char *group, unsigned bucket, const char *name, uint64_t value)
{
    reply_format(reply, "STAT %s%u:%s %llu\r\n", group, bucket + 1, name, (unsigned long long)value);
}

/* Notions that do not exist here, in memcached's order. */
static void class_zeros(reply_t *reply, unsigned bucket, const char *const *names)
{
    for (; *names != NULL; names++)
        class_u64(reply, "items:", bucket, *names, 0);
}

static void show_class(reply_t *reply, unsigned b, const store_ttl_stats_t *ttl)
{
    static const char *const parts[] = {"number_hot", "number_warm", "number_cold", "age_hot", "age_warm", NULL};
    static const char *const repairs[] = {"tailrepairs", NULL};
    static const char *const rest[] = {"evicted_active",
                                       "crawler_reclaimed",
                                       "crawler_items_checked",
                                       "lrutail_reflocked",
                                       "moves_to_cold",
                                       "moves_to_warm",
                                       "moves_within_lru",
                                       "direct_reclaims",
                                       "hits_to_hot",
                                       "hits_to_warm",
                                       "hits_to_cold",
                                       "hits_to_temp",
                                       NULL};
    class_u64(reply, "items:", b, "number", ttl->items);
    class_zeros(reply, b, parts);
    class_u64(reply, "items:", b, "age", ttl->age);
    class_u64(reply, "items:", b, "mem_requested", ttl->bytes);
    class_u64(reply, "items:", b, "evicted", ttl->evicted);
    class_u64(reply, "items:", b, "evicted_nonzero", ttl->evicted_nonzero);
    class_u64(reply, "items:", b, "evicted_time", ttl->evicted_time);
    class_u64(reply, "items:", b, "outofmemory", ttl->outofmemory);
    class_zeros(reply, b, repairs);
    class_u64(reply, "items:", b, "reclaimed", ttl->reclaimed);
    class_u64(reply, "items:", b, "expired_unfetched", ttl->expired_unfetched);
    class_u64(reply, "items:", b, "evicted_unfetched", ttl->evicted_unfetched);
    class_zeros(reply, b, rest);
}

static void stats_items(exec_t *exec)
{
    store_stats_t stats;
    store_stats(exec->server->store, &stats);
    for (unsigned b = 0; b < STORE_TTL_BUCKETS; b++)
        if (stats.ttl[b].items > 0)
            show_class(exec->reply, b, &stats.ttl[b]);
}

static void stats_slabs(exec_t *exec)
{
    store_stats_t stats;
    unsigned active = 0;
    store_stats(exec->server->store, &stats);
    uint64_t chunks_per_page = stats.segment_bytes / 32;
    for (unsigned b = 0; b < STORE_TTL_BUCKETS; b++) {
        const store_ttl_stats_t *ttl = &stats.ttl[b];
        if (ttl->segments == 0)
            continue;
        active++;
        uint64_t used = ttl->bytes / 32;
        class_u64(exec->reply, "", b, "chunk_size", 32);
        class_u64(exec->reply, "", b, "chunks_per_page", chunks_per_page);
        class_u64(exec->reply, "", b, "total_pages", ttl->segments);
        class_u64(exec->reply, "", b, "total_chunks", ttl->segments * chunks_per_page);
        class_u64(exec->reply, "", b, "used_chunks", used);
        class_u64(exec->reply, "", b, "free_chunks", ttl->segments * chunks_per_page - used);
        class_u64(exec->reply, "", b, "free_chunks_end", 0);
        class_u64(exec->reply, "", b, "get_hits", ttl->get_hits);
        class_u64(exec->reply, "", b, "cmd_set", ttl->cmd_set);
        class_u64(exec->reply, "", b, "delete_hits", ttl->delete_hits);
        class_u64(exec->reply, "", b, "incr_hits", ttl->incr_hits);
        class_u64(exec->reply, "", b, "decr_hits", ttl->decr_hits);
        class_u64(exec->reply, "", b, "cas_hits", ttl->cas_hits);
        class_u64(exec->reply, "", b, "cas_badval", ttl->cas_badval);
        class_u64(exec->reply, "", b, "touch_hits", ttl->touch_hits);
    }
    stats_u64(exec->reply, "active_slabs", active);
    stats_u64(exec->reply, "total_malloced", stats.memory_bytes);
}

static void stats_sizes(exec_t *exec)
{
    uint64_t sizes[STORE_SIZES];
    char name[16];
    if (!atomic_get_relaxed(&exec->server->sizes_enabled)) {
        stats_text(exec->reply, "sizes_status", "disabled");
        return;
    }
    store_sizes(exec->server->store, sizes);
    for (unsigned i = 0; i < STORE_SIZES; i++)
        if (sizes[i] > 0) {
            (void)snprintf(name, sizeof(name), "%u", (i + 1) * STORE_SIZE_STEP);
            stats_u64(exec->reply, name, sizes[i]);
        }
}

/* ---------------------------------------------------------------------------------------- verbena */

static void stats_verbena(exec_t *exec)
{
    reply_t *reply = exec->reply;
    store_stats_t stats;
    store_stats(exec->server->store, &stats);
    stats_text(reply, "memory", exec->server->context != NULL ? "shareable" : "private");
    stats_messages(exec);
    stats_disk_verbena(exec, &stats);
    stats_u64(reply, "shards", stats.shards);
    stats_u64(reply, "memory_bytes", stats.memory_bytes);
    stats_u64(reply, "segment_bytes", stats.segment_bytes);
    stats_clients(exec);
    stats_u64(reply, "segments_limit", stats.segments_limit);
    stats_u64(reply, "segments_used", stats.segments_used);
    stats_u64(reply, "segments_free", stats.segments_free);
    stats_u64(reply, "segments_dropped", stats.counters.segments_dropped);
    stats_u64(reply, "segments_reclaimed", stats.counters.segments_reclaimed);
    stats_u64(reply, "items_moved", stats.counters.moved);
    stats_u64(reply, "index_bytes", stats.index_bytes);
    stats_u64(reply, "index_buckets", stats.buckets);
    stats_u64(reply, "index_overflow_buckets", stats.overflow_buckets);
    for (unsigned b = 0; b < STORE_TTL_BUCKETS; b++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "ttl_to_%u_segments", store_ttl_range(b));
        stats_u64(reply, b == 0 ? "ttl_never_segments" : name, stats.ttl[b].segments);
    }
}

/* ---------------------------------------------------------------------------------------- command */

static void stats_detail(exec_t *exec, text_t argument)
{
    bool on = text_is(argument, "on");
    if (on || text_is(argument, "off")) {
        detail_switch(exec->server->detail, on);
        reply_line(exec->reply, "OK");
    } else if (text_is(argument, "dump")) {
        detail_dump(exec->server->detail, exec->reply);
        reply_line(exec->reply, "END");
    } else {
        reply_line(exec->reply, "CLIENT_ERROR usage: stats detail on|off|dump");
    }
}

typedef struct group {
    const char *name;
    void (*show)(exec_t *exec);
} group_t;

static bool stats_group(exec_t *exec, text_t name)
{
    static const group_t groups[] = {{"", stats_general},      {"settings", stats_settings}, {"items", stats_items},
                                     {"slabs", stats_slabs},   {"sizes", stats_sizes},       {"verbena", stats_verbena},
                                     {"extstore", stats_pages}};
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        if (text_is(name, groups[i].name)) {
            groups[i].show(exec);
            reply_line(exec->reply, "END");
            return true;
        }
    return false;
}

/* Enables or disables stats sizes. */
static bool stats_switch(exec_t *exec, text_t name)
{
    bool on = text_is(name, "sizes_enable");
    if (!on && !text_is(name, "sizes_disable"))
        return false;
    atomic_set_relaxed(&exec->server->sizes_enabled, on);
    stats_text(exec->reply, "sizes_status", on ? "enabled" : "disabled");
    return true;
}

bool exec_stats(exec_t *exec, request_t *request)
{
    text_t arguments = request->rest, name = text_word(&arguments);
    if (text_is(name, "conns")) {
        if (!stats_conns(exec, &request->resume)) {
            exec->budget->taken = TURN_BYTES; /* the others come first */
            return false;
        }
        reply_line(exec->reply, "END");
        return true;
    }
    if (text_is(name, "cachedump"))
        return exec_cachedump(exec, request);
    if (stats_group(exec, name) || stats_switch(exec, name))
        return true;
    if (text_is(name, "reset")) {
        store_stats_reset(exec->server->store);
        detail_reset(exec->server->detail);
        reply_line(exec->reply, "RESET");
    } else if (text_is(name, "detail")) {
        stats_detail(exec, text_word(&arguments));
    } else {
        reply_line(exec->reply, "ERROR");
    }
    return true;
}
