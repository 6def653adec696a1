/* SPDX-License-Identifier: Apache-2.0
 * stats_general.c - `stats` and `stats settings`: memcached's names in memcached's order. */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "server/native.h"
#include "server/stats.h"
#include "server/tls.h"

typedef struct sums {
#define SUM(name) uint64_t name;
    WORKER_COUNTERS(SUM)
    WORKER_PEAKS(SUM)
#undef SUM
} sums_t;

static sums_t sum_workers(server_t *server)
{
    sums_t sums = {0};
    for (unsigned i = 0; i < server->worker_count; i++) {
        worker_counters_t *counters = &server->workers[i].counters;
#define ADD(name) sums.name += atomic_get_relaxed(&counters->name);
        WORKER_COUNTERS(ADD)
#undef ADD
#define LARGER(name)                                                                                                   \
    if (atomic_get_relaxed(&counters->name) > sums.name)                                                               \
        sums.name = atomic_get_relaxed(&counters->name);
        WORKER_PEAKS(LARGER)
#undef LARGER
    }
    return sums;
}

static void show_time(reply_t *reply, const char *name, const struct timeval *time)
{
    reply_format(reply, "STAT %s %ld.%06ld\r\n", name, (long)time->tv_sec, (long)time->tv_usec);
}

static void show_buffers(exec_t *exec)
{
    uint64_t number = 0, bytes = 0, spare = 0, oom = 0;
    for (unsigned i = 0; i < exec->server->worker_count; i++) {
        worker_t *worker = &exec->server->workers[i];
        number += atomic_get_relaxed(&worker->read_count);
        bytes += atomic_get_relaxed(&worker->read_bytes);
        spare += atomic_get_relaxed(&worker->read_spare);
        oom += atomic_get_relaxed(&worker->counters.read_buf_oom);
    }
    stats_u64(exec->reply, "read_buf_count", number);
    stats_u64(exec->reply, "read_buf_bytes", bytes);
    stats_u64(exec->reply, "read_buf_bytes_free", spare);
    stats_u64(exec->reply, "read_buf_oom", oom);
}

static void show_process(exec_t *exec)
{
    static const char *const zeros[] = {"response_obj_oom", "response_obj_count", "response_obj_bytes", NULL};
    server_t *server = exec->server;
    reply_t *reply = exec->reply;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    stats_u64(reply, "pid", (uint64_t)getpid());
    stats_u64(reply, "uptime", clock_uptime(server));
    stats_u64(reply, "time", (uint64_t)time(NULL));
    stats_text(reply, "version", MC_VERSION);
    stats_text(reply, "libevent", "none");
    stats_u64(reply, "pointer_size", 8 * sizeof(void *));
    show_time(reply, "rusage_user", &usage.ru_utime);
    show_time(reply, "rusage_system", &usage.ru_stime);
    stats_u64(reply, "max_connections", server->settings.connections_max);
    stats_u64(reply, "curr_connections", atomic_get_relaxed(&server->connections));
    stats_u64(reply, "total_connections", atomic_get_relaxed(&server->connections_total));
    stats_u64(reply, "rejected_connections", atomic_get_relaxed(&server->connections_rejected));
    stats_u64(reply, "connection_structures", atomic_get_relaxed(&server->connections));
    stats_zero(reply, zeros);
    show_buffers(exec);
    stats_u64(reply, "reserved_fds", 5 * server->worker_count);
}

static void show_commands(exec_t *exec, const store_counters_t *c, const sums_t *sums)
{
    reply_t *reply = exec->reply;
    stats_u64(reply, "cmd_get", c->cmd_get);
    stats_u64(reply, "cmd_set", c->cmd_set);
    stats_u64(reply, "cmd_flush", sums->cmd_flush);
    stats_u64(reply, "cmd_touch", c->cmd_touch);
    stats_u64(reply, "cmd_meta", sums->cmd_meta);
    stats_u64(reply, "get_hits", c->get_hits);
    stats_u64(reply, "get_misses", c->get_misses);
    stats_u64(reply, "get_expired", c->get_expired);
    stats_u64(reply, "get_flushed", c->get_flushed);
    stats_disk_gets(exec, c);
    stats_u64(reply, "delete_misses", c->delete_misses);
    stats_u64(reply, "delete_hits", c->delete_hits);
    stats_u64(reply, "incr_misses", c->incr_misses);
    stats_u64(reply, "incr_hits", c->incr_hits);
    stats_u64(reply, "decr_misses", c->decr_misses);
    stats_u64(reply, "decr_hits", c->decr_hits);
    stats_u64(reply, "cas_misses", c->cas_misses);
    stats_u64(reply, "cas_hits", c->cas_hits);
    stats_u64(reply, "cas_badval", c->cas_badval);
    stats_u64(reply, "touch_hits", c->touch_hits);
    stats_u64(reply, "touch_misses", c->touch_misses);
    stats_u64(reply, "store_too_large", c->store_too_large);
    stats_u64(reply, "store_no_memory", c->store_no_memory);
}

static unsigned log2_of(uint64_t value)
{
    unsigned bits = 0;
    while (value > 1) {
        value >>= 1;
        bits++;
    }
    return bits;
}

static void show_watch(exec_t *exec)
{
    watch_t *watch = exec->server->watch;
    stats_u64(exec->reply, "log_worker_dropped", 0);
    stats_u64(exec->reply, "log_worker_written", atomic_get_relaxed(&watch->written));
    stats_u64(exec->reply, "log_watcher_skipped", atomic_get_relaxed(&watch->skipped));
    stats_u64(exec->reply, "log_watcher_sent", atomic_get_relaxed(&watch->sent));
    stats_u64(exec->reply, "log_watchers", atomic_get_relaxed(&watch->count));
}

static void show_server(exec_t *exec, const store_stats_t *stats, const sums_t *sums)
{
    static const char *const zeros[] = {"hash_is_expanding",
                                        "slab_reassign_rescues",
                                        "slab_reassign_chunk_rescues",
                                        "slab_reassign_evictions_nomem",
                                        "slab_reassign_inline_reclaim",
                                        "slab_reassign_busy_items",
                                        "slab_reassign_busy_deletes",
                                        "slab_reassign_running",
                                        "slabs_moved",
                                        "lru_crawler_running",
                                        "lru_crawler_starts",
                                        "lru_maintainer_juggles",
                                        NULL};
    static const char *const napi[] = {"unexpected_napi_ids", "round_robin_fallback", NULL};
    reply_t *reply = exec->reply;
    stats_u64(reply, "auth_cmds", sums->auth_cmds);
    stats_u64(reply, "auth_errors", sums->auth_errors);
    if (exec->server->settings.idle_s > 0) /* as memcached */
        stats_u64(reply, "idle_kicks", sums->idle_kicks);
    stats_u64(reply, "bytes_read", sums->bytes_read);
    stats_u64(reply, "bytes_written", sums->bytes_written);
    stats_u64(reply, "limit_maxbytes", atomic_get_relaxed(&exec->server->memory_limit));
    stats_u64(reply, "accepting_conns", 1);
    stats_u64(reply, "listen_disabled_num", 0);
    stats_u64(reply, "time_in_listen_disabled_us", 0);
    stats_u64(reply, "threads", exec->server->worker_count);
    stats_u64(reply, "conn_yields", sums->conn_yields);
    stats_u64(reply, "hash_power_level", log2_of(stats->buckets));
    stats_u64(reply, "hash_bytes", stats->index_bytes);
    stats_zero(reply, zeros);
    stats_u64(reply, "malloc_fails", sums->oom);
    show_watch(exec);
    if (exec->server->tls != NULL) { /* as memcached */
        if (exec->server->settings.tls_sessions)
            stats_u64(reply, "ssl_new_sessions", sums->ssl_new_sessions);
        stats_u64(reply, "ssl_handshake_errors", sums->ssl_handshake_errors);
        stats_u64(reply, "time_since_server_cert_refresh", tls_age(exec->server));
    }
    stats_zero(reply, napi);
}

void stats_general(exec_t *exec)
{
    static const char *const ends[] = {"crawler_reclaimed", "crawler_items_checked", "lrutail_reflocked",
                                       "moves_to_cold",     "moves_to_warm",         "moves_within_lru",
                                       "direct_reclaims",   "lru_bumps_dropped",     NULL};
    reply_t *reply = exec->reply;
    store_stats_t stats;
    sums_t sums = sum_workers(exec->server);
    store_stats(exec->server->store, &stats);
    show_process(exec);
    show_commands(exec, &stats.counters, &sums);
    show_server(exec, &stats, &sums);
    stats_u64(reply, "bytes", stats.bytes);
    stats_u64(reply, "curr_items", stats.items);
    stats_u64(reply, "total_items", stats.counters.total_items);
    stats_u64(reply, "slab_global_page_pool", stats.segments_free);
    stats_u64(reply, "expired_unfetched", stats.counters.expired_unfetched);
    stats_u64(reply, "evicted_unfetched", stats.counters.evicted_unfetched);
    stats_u64(reply, "evicted_active", 0);
    stats_u64(reply, "evictions", stats.counters.evictions);
    stats_u64(reply, "reclaimed", stats.counters.reclaimed);
    stats_zero(reply, ends);
    stats_disk(exec);
}

/* ---------------------------------------------------------------------------------------- messages */

void stats_messages(exec_t *exec)
{
    const server_t *server = exec->server;
    reply_t *reply = exec->reply;
    sums_t sums = sum_workers(exec->server);
    stats_text(reply, "messages", server->messages ? "on" : "off");
    if (!server->messages)
        stats_text(reply, "messages_off_because", server->no_messages);
    if (exec->native != NULL)
        stats_text(reply, "messages_transports", exec->native->transports);
    stats_u64(reply, "messages_hellos", sums.hellos);
    stats_u64(reply, "messages_clients_shm", sums.clients_shm);
    stats_u64(reply, "messages_clients_tcp", sums.clients_tcp);
    stats_u64(reply, "messages_clients_rdma", sums.clients_rdma);
    stats_u64(reply, "messages_requests", sums.messages);
    stats_u64(reply, "messages_readers", sums.readers);
    stats_u64(reply, "messages_bad", sums.messages_bad);
    stats_u64(reply, "messages_leases_ended", sums.leases_ended);
}

/* Values on their way to the server. The most of each thread's is what it has had at once, by sockets and by messages. */
static void show_drafts(exec_t *exec)
{
    uint64_t bytes = 0, most = 0;
    for (unsigned i = 0; i < exec->server->worker_count; i++) {
        worker_t *worker = &exec->server->workers[i];
        bytes += holds_bytes(&worker->drafts) + holds_bytes(&worker->drafts_called);
        most += atomic_get_relaxed(&worker->drafts.most) + atomic_get_relaxed(&worker->drafts_called.most);
    }
    stats_u64(exec->reply, "drafts_bytes", bytes);
    stats_u64(exec->reply, "drafts_bytes_most", most);
}

static void show_pinned(exec_t *exec)
{
    store_stats_t stats;
    store_stats(exec->server->store, &stats);
    stats_u64(exec->reply, "pinned_items", stats.pinned_items);
    stats_u64(exec->reply, "pinned_bytes", stats.pinned_bytes);
    stats_u64(exec->reply, "pinned_limit", stats.pinned_limit);
    stats_u64(exec->reply, "pinned_refused", stats.counters.store_pins_full);
}

/* What clients hold, and what was taken from them. */
void stats_clients(exec_t *exec)
{
    sums_t sums = sum_workers(exec->server);
    show_pinned(exec);
    stats_u64(exec->reply, "held_bytes", store_held(exec->server->store));
    show_drafts(exec);
    stats_u64(exec->reply, "drafts_lost", sums.drafts_lost);
    stats_u64(exec->reply, "slow_closed", sums.slow_closed);
#define SHOW(name) stats_u64(exec->reply, #name "_most", sums.name);
    WORKER_PEAKS(SHOW)
#undef SHOW
}

/* --------------------------------------------------------------------------------------- settings */

static void show_limits(reply_t *reply, const settings_t *s, const server_t *server)
{
    stats_u64(reply, "maxbytes", atomic_get_relaxed(&server->memory_limit));
    stats_u64(reply, "maxconns", s->connections_max);
    reply_format(reply, "STAT tcpport %d\r\n", s->port);
    stats_u64(reply, "udpport", 0);
    stats_text(reply, "inter", s->listen_count == 0 ? "NULL" : s->listen[0]);
    stats_u64(reply, "verbosity", (uint64_t)atomic_get_relaxed(&server->verbosity));
    stats_u64(reply, "oldest", 0);
    stats_text(reply, "evictions", s->evict ? "on" : "off");
    stats_text(reply, "domain_socket", s->socket_path == NULL ? "NULL" : s->socket_path);
    reply_format(reply, "STAT umask %o\r\n", s->socket_mask);
    stats_text(reply, "shutdown_command", s->shutdown_enabled ? "yes" : "no");
    reply_format(reply, "STAT growth_factor %.2f\r\n", s->growth_factor);
    stats_u64(reply, "chunk_size", s->chunk_bytes);
    stats_u64(reply, "num_threads", s->threads);
    stats_u64(reply, "num_threads_per_udp", s->threads);
    reply_format(reply, "STAT stat_key_prefix %c\r\n", s->delimiter);
    stats_text(reply, "detail_enabled", detail_is_on(server->detail) ? "yes" : "no");
    stats_u64(reply, "reqs_per_event", s->requests_per_event);
    stats_text(reply, "cas_enabled", s->cas ? "yes" : "no");
    stats_u64(reply, "tcp_backlog", s->backlog);
    stats_text(reply, "binding_protocol",
               s->protocol == PROTOCOL_TEXT || s->login_file != NULL ? "ascii"
               : s->protocol == PROTOCOL_BINARY                      ? "binary"
                                                                     : "auto-negotiate");
    stats_text(reply, "auth_enabled_sasl", "no");
    stats_text(reply, "auth_enabled_ascii", s->login_file == NULL ? "no" : s->login_file);
    stats_u64(reply, "item_size_max", s->item_max);
    stats_text(reply, "maxconns_fast", "yes");
}

typedef struct fixed {
    const char *name, *value;
} fixed_t;

static void show_fixed(reply_t *reply, const fixed_t *fixed, size_t count)
{
    for (size_t i = 0; i < count; i++)
        stats_text(reply, fixed[i].name, fixed[i].value);
}

static void show_tls(reply_t *reply, const settings_t *s)
{
    stats_text(reply, "ssl_enabled", s->tls ? "yes" : "no");
    stats_text(reply, "ssl_chain_cert", s->tls_chain == NULL ? "(null)" : s->tls_chain);
    stats_text(reply, "ssl_key", s->tls_key == NULL ? "(null)" : s->tls_key);
    stats_u64(reply, "ssl_verify_mode", s->tls_verify);
    stats_u64(reply, "ssl_keyformat", s->tls_key_format);
    stats_text(reply, "ssl_ciphers", s->tls_ciphers == NULL ? "NULL" : s->tls_ciphers);
    stats_text(reply, "ssl_ca_cert", s->tls_ca == NULL ? "NULL" : s->tls_ca);
    stats_u64(reply, "ssl_wbuf_size", (uint64_t)s->tls_write_kb << 10);
    stats_text(reply, "ssl_session_cache", s->tls_sessions ? "yes" : "no");
    stats_text(reply, "ssl_kernel_tls", s->tls_kernel ? "yes" : "no");
    reply_format(reply, "STAT ssl_min_version tlsv1.%u\r\n", s->tls_version);
}

static void show_disk(reply_t *reply, const settings_t *s)
{
    stats_text(reply, "inline_ascii_response", "no");
    stats_u64(reply, "ext_item_size", s->ext_item_bytes);
    stats_u64(reply, "ext_item_age", s->ext_item_age == 0 ? UINT32_MAX : s->ext_item_age); /* as memcached: no limit */
    stats_u64(reply, "ext_low_ttl", 0);
    stats_u64(reply, "ext_recache_rate", 2000);
    stats_u64(reply, "ext_wbuf_size", (uint64_t)s->ext_wbuf_mb << 20);
}

void stats_settings(exec_t *exec)
{
    /* clang-format off */
    static const fixed_t before[] = {
        {"hashpower_init", "0"}, {"slab_reassign", "no"}, {"slab_automove", "0"}, {"slab_automove_ratio", "0.80"},
        {"slab_automove_window", "30"}, {"slab_chunk_max", "524288"}};
    static const fixed_t crawler[] = {{"lru_crawler_sleep", "100"},
        {"lru_crawler_tocrawl", "0"}, {"tail_repair_time", "0"}};
    static const fixed_t after[] = {
        {"hash_algorithm", "verbena"}, {"lru_maintainer_thread", "no"}, {"lru_segmented", "no"}, {"hot_lru_pct", "20"},
        {"warm_lru_pct", "40"}, {"hot_max_factor", "0.20"}, {"warm_max_factor", "2.00"}, {"temp_lru", "no"},
        {"temporary_ttl", "61"}};
    static const fixed_t logs[] = {{"watcher_logbuf_size", "262144"}, {"worker_logbuf_size", "65536"}};
    static const fixed_t rest[] = {
        {"ext_compact_under", "0"}, {"ext_drop_under", "0"},
        {"ext_max_sleep", "1000000"}, {"ext_max_frag", "0.80"}, {"slab_automove_freeratio", "0.010"},
        {"ext_drop_unread", "no"},};
    static const fixed_t last[] = {
        {"num_napi_ids", "(null)"}};
    /* clang-format on */
    const settings_t *settings = &exec->server->settings;
    show_limits(exec->reply, settings, exec->server);
    show_fixed(exec->reply, before, sizeof(before) / sizeof(before[0]));
    stats_text(exec->reply, "lru_crawler", atomic_get_relaxed(&exec->server->crawler_off) ? "no" : "yes");
    show_fixed(exec->reply, crawler, sizeof(crawler) / sizeof(crawler[0]));
    stats_text(exec->reply, "flush_enabled", settings->flush_enabled ? "yes" : "no");
    stats_text(exec->reply, "dump_enabled", settings->dump_enabled ? "yes" : "no");
    show_fixed(exec->reply, after, sizeof(after) / sizeof(after[0]));
    stats_u64(exec->reply, "idle_timeout", settings->idle_s);
    show_fixed(exec->reply, logs, sizeof(logs) / sizeof(logs[0]));
    stats_u64(exec->reply, "read_buf_mem_limit", (uint64_t)settings->read_buffers_mb << 20);
    stats_text(exec->reply, "track_sizes", atomic_get_relaxed(&exec->server->sizes_enabled) ? "yes" : "no");
    show_disk(exec->reply, settings);
    show_fixed(exec->reply, rest, sizeof(rest) / sizeof(rest[0]));
    show_tls(exec->reply, settings);
    show_fixed(exec->reply, last, sizeof(last) / sizeof(last[0]));
    stats_text(exec->reply, "memory_file", settings->memory_file == NULL ? "(null)" : settings->memory_file);
}
