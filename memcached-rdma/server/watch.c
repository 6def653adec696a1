/* SPDX-License-Identifier: Apache-2.0
 * watch.c - the command watch: logs of watchers, and the lines of events, which are memcached's. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto/text.h"
#include "server/server.h"
#include "util/uri.h"

#define WATCHERS_MOST 20u      /* as in memcached */
#define LOG_BYTES (256u << 10) /* of one watcher: memcached's watcher_logbuf_size */
#define LINE_BYTES 1024u       /* of the longest line: a key takes 3 times its bytes */

struct watcher {
    list_link_t link;
    worker_t *worker;
    unsigned kinds;
    size_t used;
    char text[LOG_BYTES];
};

watch_t *watch_open(void)
{
    watch_t *watch = calloc(1, sizeof(*watch));
    if (watch == NULL)
        return NULL;
    pthread_mutex_init(&watch->lock, NULL);
    list_init(&watch->watchers);
    return watch;
}

/* The lock is held. */
static void look_at_logs(watch_t *watch)
{
    unsigned kinds = 0, open = 0;
    list_for_each(link, &watch->watchers) {
        const watcher_t *watcher = container_of(link, watcher_t, link);
        kinds |= watcher->kinds;
        open |= watcher->used + LINE_BYTES <= LOG_BYTES ? watcher->kinds : 0;
    }
    atomic_set_relaxed(&watch->kinds, kinds);
    atomic_set_relaxed(&watch->open, open);
}

/* -------------------------------------------------------------------------------------------- watchers */

/* Kinds by the words of the command; false: one is unknown. Some that memcached knows never happen here. */
static bool kinds_of(text_t words, unsigned *kinds_p)
{
    static const struct {
        const char *name;
        unsigned kind;
    } kinds[] = {{"fetchers", WATCH_FETCHERS},
                 {"mutations", WATCH_MUTATIONS},
                 {"evictions", WATCH_EVICTIONS},
                 {"connevents", WATCH_CONNECTIONS},
                 {"rawcmds", 0},
                 {"sysevents", 0},
                 {"proxyreqs", 0},
                 {"proxyevents", 0},
                 {"proxyuser", 0}};
    text_t word = text_word(&words);
    *kinds_p = word.length == 0 ? WATCH_FETCHERS : 0;
    for (; word.length > 0; word = text_word(&words)) {
        bool known = false;
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !known; i++) {
            known = text_is(word, kinds[i].name);
            *kinds_p |= known ? kinds[i].kind : 0;
        }
        if (!known)
            return false;
    }
    return true;
}

const char *watch_add(worker_t *worker, const request_t *request, watcher_t **watcher_p)
{
    watch_t *watch = worker->server->watch;
    unsigned kinds;
    if (!worker->server->settings.watch_enabled)
        return "CLIENT_ERROR watch commands not allowed";
    if (!kinds_of(request->rest, &kinds))
        return "ERROR";
    watcher_t *watcher = malloc(sizeof(*watcher));
    if (watcher == NULL)
        return "WATCHER_FAILED failed to add log watcher";
    watcher->worker = worker;
    watcher->kinds = kinds;
    watcher->used = 0;
    pthread_mutex_lock(&watch->lock);
    bool fits = atomic_get_relaxed(&watch->count) < WATCHERS_MOST;
    if (fits) {
        atomic_set_relaxed(&watch->count, atomic_get_relaxed(&watch->count) + 1);
        list_append(&watch->watchers, &watcher->link);
        look_at_logs(watch);
    }
    pthread_mutex_unlock(&watch->lock);
    if (!fits) {
        free(watcher);
        return "WATCHER_TOO_MANY log watcher limit reached";
    }
    *watcher_p = watcher;
    return NULL;
}

void watch_remove(const server_t *server, watcher_t *watcher)
{
    watch_t *watch = server->watch;
    pthread_mutex_lock(&watch->lock);
    list_remove(&watcher->link);
    atomic_set_relaxed(&watch->count, atomic_get_relaxed(&watch->count) - 1);
    look_at_logs(watch);
    pthread_mutex_unlock(&watch->lock);
    free(watcher);
}

void watch_take(const server_t *server, watcher_t *watcher, reply_t *reply)
{
    watch_t *watch = server->watch;
    pthread_mutex_lock(&watch->lock);
    reply_bytes(reply, watcher->text, watcher->used);
    watcher->used = 0;
    look_at_logs(watch);
    pthread_mutex_unlock(&watch->lock);
}

/* ---------------------------------------------------------------------------------------------- events */

/* Adds a line to each log that wants it. */
static void add_line(watch_t *watch, unsigned kind, const char *line, size_t length)
{
    bool full = false;
    pthread_mutex_lock(&watch->lock);
    list_for_each(link, &watch->watchers) {
        watcher_t *watcher = container_of(link, watcher_t, link);
        if ((watcher->kinds & kind) == 0)
            continue;
        if (watcher->used + LINE_BYTES > LOG_BYTES) {
            (void)atomic_fetch_add_explicit(&watch->skipped, 1, memory_order_relaxed);
            continue;
        }
        memcpy(watcher->text + watcher->used, line, length);
        if (watcher->used == 0)
            worker_tell(watcher->worker);
        watcher->used += length;
        full = full || watcher->used + LINE_BYTES > LOG_BYTES;
        (void)atomic_fetch_add_explicit(&watch->sent, 1, memory_order_relaxed);
    }
    if (full)
        look_at_logs(watch);
    pthread_mutex_unlock(&watch->lock);
}

/* An event that somebody watches. */
static __attribute__((format(printf, 3, 4))) void report(const server_t *server, unsigned kind, const char *format, ...)
{
    watch_t *watch = server->watch;
    char line[LINE_BYTES];
    struct timespec now;
    va_list arguments;
    uint64_t number = 1 + atomic_fetch_add_explicit(&watch->number, 1, memory_order_relaxed);
    if ((atomic_get_relaxed(&watch->open) & kind) == 0) { /* nobody takes lines: not worth one */
        (void)atomic_fetch_add_explicit(&watch->skipped, 1, memory_order_relaxed);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    int head = snprintf(line, sizeof(line), "ts=%lld.%06ld gid=%llu ", (long long)now.tv_sec, now.tv_nsec / 1000,
                        (unsigned long long)number);
    va_start(arguments, format);
    int rest = vsnprintf(line + head, sizeof(line) - (size_t)head, format, arguments);
    va_end(arguments);
    (void)atomic_fetch_add_explicit(&watch->written, 1, memory_order_relaxed);
    if (head + rest < (int)sizeof(line))
        add_line(watch, kind, line, (size_t)(head + rest));
}

void watch_get(const server_t *server, text_t key, const store_hit_t *hit, int fd)
{
    char name[URI_BYTES(STORE_KEY_MAX)];
    if (!watch_wants(server->watch, WATCH_FETCHERS))
        return;
    uri_encode(key.at, key.length, name);
    report(server, WATCH_FETCHERS, "type=item_get key=%s status=%s clsid=%u cfd=%d size=%u\n", name,
           hit != NULL ? "found" : "not_found", hit != NULL ? hit->ttl + 1 : 0, fd, hit != NULL ? hit->value_bytes : 0);
}

static const char *mode_name(const request_t *request)
{
    static const char *const names[] = {"set", "add", "replace", "append", "prepend", "cas"};
    return names[request->mode];
}

static const char *status_name(store_status_t status)
{
    switch (status) {
    case STORE_OK: return "stored";
    case STORE_EXISTS: return "exists";
    case STORE_NOT_FOUND: return "not_found";
    case STORE_TOO_LARGE: return "too_large";
    case STORE_PINS_FULL:
    case STORE_NO_MEMORY: return "no_memory";
    default: return "not_stored";
    }
}

/* Of the item that is there now. */
typedef struct present {
    uint32_t ttl, size;
    unsigned bucket;
} present_t;

static void note_present(void *arg, const store_hit_t *hit)
{
    *(present_t *)arg = (present_t){
        .ttl = hit->expiry > hit->now ? hit->expiry - hit->now : 0, .size = hit->value_bytes, .bucket = hit->ttl + 1};
}

void watch_put(const server_t *server, const request_t *request, store_status_t status)
{
    static const store_get_t quietly = {.quiet = true, .uncounted = true};
    char name[URI_BYTES(STORE_KEY_MAX)];
    present_t present = {.size = (uint32_t)request->value_bytes};
    if (!watch_wants(server->watch, WATCH_MUTATIONS))
        return;
    uri_encode(request->key.at, request->key.length, name);
    if (status == STORE_OK)
        (void)store_get(server->store, (store_key_t){request->key.at, request->key.length}, &quietly, note_present,
                        &present);
    report(server, WATCH_MUTATIONS, "type=item_store key=%s status=%s cmd=%s ttl=%u clsid=%u cfd=%d size=%u\n", name,
           status_name(status), mode_name(request), present.ttl, present.bucket, request->client, present.size);
}

void watch_eviction(const server_t *server, const store_hit_t *hit)
{
    char name[URI_BYTES(STORE_KEY_MAX)];
    if (!watch_wants(server->watch, WATCH_EVICTIONS))
        return;
    long long ttl = hit->expiry == 0 ? -1 : (long long)hit->expiry - hit->now;
    uri_encode(hit->key, hit->key_bytes, name);
    report(server, WATCH_EVICTIONS, "type=eviction key=%s fetch=%s ttl=%lld la=%u clsid=%u size=%u\n", name,
           hit->fetched ? "yes" : "no", ttl, hit->now - hit->access, hit->ttl + 1, hit->value_bytes);
}

void watch_conn(const server_t *server, const char *address, int fd, const char *reason)
{
    const char *host = strchr(address, ':'), *port = strrchr(address, ':');
    bool local = strncmp(address, "tcp", 3) != 0 || host == NULL || host == port;
    bool bracket = !local && host[1] == '[';
    if (!watch_wants(server->watch, WATCH_CONNECTIONS))
        return;
    int length = local ? 4 : (int)(port - host) - 1 - 2 * bracket;
    report(server, WATCH_CONNECTIONS, "type=conn_%s rip=%.*s rport=%s transport=%s%s%s cfd=%d\n",
           reason == NULL ? "new" : "close", length, local ? "unix" : host + 1 + bracket, local ? "0" : port + 1,
           local ? "local" : "tcp", reason == NULL ? "" : " reason=", reason == NULL ? "" : reason, fd);
}
