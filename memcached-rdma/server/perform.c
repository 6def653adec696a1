/* SPDX-License-Identifier: Apache-2.0
 * perform.c - requests on the store: which call, with which options. */
#include "server/perform.h"

store_key_t perform_key(text_t key)
{
    return (store_key_t){.bytes = key.at, .length = key.length};
}

/* --------------------------------------------------------------------------------------------- get */

/* Whether a flag stands before T; flags act in their order. */
static bool before_ttl(const meta_t *meta, char name)
{
    bool seen = false;
    for (unsigned i = 0; i < meta->count && meta->flags[i].name != 'T'; i++)
        seen = seen || meta->flags[i].name == name;
    return seen;
}

perform_expiry_t perform_expiry(const server_t *server, const request_t *request)
{
    perform_expiry_t expiry = {0};
    if (request->kind == REQUEST_GET) {
        expiry.touch = request->touch ? clock_expiry(server, request->exptime) : 0;
        return expiry;
    }
    expiry.touch = clock_expiry(server, request->meta.ttl.value);
    expiry.vivify = clock_expiry(server, request->meta.vivify.value);
    return expiry;
}

static store_get_t meta_get(const server_t *server, const meta_t *meta, perform_expiry_t expiry)
{
    return (store_get_t){.touch = meta->ttl.given,
                         .vivify = meta->vivify.given,
                         .recache = meta->recache.given,
                         .quiet = meta->no_update,
                         .without_value = !meta->value,
                         .meta = true,
                         .binary_key = meta->binary,
                         .cas = meta->own_cas.value,
                         .expiry = expiry.touch,
                         .vivify_expiry = meta->ttl.given && before_ttl(meta, 'N') ? expiry.touch : expiry.vivify,
                         .recache_touched = !before_ttl(meta, 'R'),
                         .recache_before = clock_expiry(server, meta->recache.value)};
}

/* A visit that somebody watches. */
typedef struct watched {
    store_visit_t visit;
    void *arg;
    store_hit_t hit;
    bool found;
} watched_t;

static void note_hit(void *arg, const store_hit_t *hit)
{
    watched_t *watched = arg;
    watched->hit = *hit;
    watched->found = !hit->created;
    if (watched->visit != NULL)
        watched->visit(watched->arg, hit);
}

static store_status_t get(const server_t *server, const request_t *request, text_t key, const store_get_t *how,
                          store_visit_t visit, void *arg)
{
    watched_t watched = {.visit = visit, .arg = arg};
    if (!watch_wants(server->watch, WATCH_FETCHERS))
        return store_get(server->store, perform_key(key), how, visit, arg);
    store_status_t status = store_get(server->store, perform_key(key), how, note_hit, &watched);
    if (status != STORE_ON_DISK)
        watch_get(server, key, watched.found ? &watched.hit : NULL, request->client);
    return status;
}

store_status_t perform_get(const server_t *server, loads_t *loads, const request_t *request, perform_expiry_t expiry,
                           text_t key, store_visit_t visit, void *arg)
{
    store_get_t how = {.touch = request->touch,
                       .expiry = expiry.touch,
                       .without_value = request->packet.speaks && !request->packet.shows_value};
    if (request->kind == REQUEST_META_GET)
        how = meta_get(server, &request->meta, expiry);
    how.fetch = loads_fetch;
    how.fetch_arg = loads;
    store_status_t status = get(server, request, key, &how, visit, arg);
    if (request->kind == REQUEST_GET && status != STORE_ON_DISK)
        detail_count(server->detail, key, DETAIL_GET, status == STORE_OK);
    return status;
}

void perform_look(const server_t *server, loads_t *loads, text_t key)
{
    const store_get_t how = {.quiet = true, .uncounted = true, .fetch = loads_fetch, .fetch_arg = loads};
    (void)store_get(server->store, perform_key(key), &how, NULL, NULL);
}

store_status_t perform_touch(const server_t *server, const request_t *request)
{
    store_get_t how = {.touch = true, .without_value = true, .expiry = clock_expiry(server, request->exptime)};
    return get(server, request, request->key, &how, NULL, NULL);
}

/* ------------------------------------------------------------------------------------------ values */

/* append or prepend of a value that becomes an item where there is none */
static bool vivifies(const request_t *request)
{
    return request->kind == REQUEST_META_PUT && request->meta.vivify.given &&
           (request->mode == PUT_APPEND || request->mode == PUT_PREPEND);
}

store_status_t perform_begin(const server_t *server, const request_t *request, store_draft_t *draft)
{
    bool meta = request->kind == REQUEST_META_PUT;
    int32_t exptime = !meta               ? request->exptime
                      : vivifies(request) ? request->meta.vivify.value
                                          : request->meta.ttl.value;
    if (!meta)
        detail_count(server->detail, request->key, DETAIL_SET, false);
    store_status_t status = (meta && request->meta.pinned ? store_begin_pinned : store_begin)(
        server->store, perform_key(request->key), request->value_bytes, clock_expiry(server, exptime), draft);
    if (status != STORE_OK) {
        perform_lost(server, request);
        watch_put(server, request, status);
    }
    return status;
}

void perform_lost(const server_t *server, const request_t *request)
{
    if (request->kind == REQUEST_META_PUT ? !request->meta.pinned : request->mode == PUT_SET || request->packet.sets)
        store_drop(server->store, perform_key(request->key));
}

static store_mode_t store_mode(put_mode_t mode)
{
    switch (mode) {
    case PUT_ADD: return STORE_ADD;
    case PUT_REPLACE: return STORE_REPLACE;
    case PUT_APPEND: return STORE_APPEND;
    case PUT_PREPEND: return STORE_PREPEND;
    case PUT_CAS: return STORE_CAS;
    default: return STORE_SET;
    }
}

store_status_t perform_commit(const server_t *server, loads_t *loads, const request_t *request, store_draft_t *draft,
                              uint64_t *cas_p)
{
    bool meta = request->kind == REQUEST_META_PUT;
    store_put_t put = {.mode = store_mode(request->mode),
                       .client_flags = request->client_flags,
                       .compare = meta ? request->meta.compare.value : request->number,
                       .cas = meta ? request->meta.own_cas.value : 0,
                       .vivify = vivifies(request),
                       .invalidate = meta && request->meta.stale,
                       .binary_key = meta && request->meta.binary};
    store_status_t status = store_commit(draft, &put, cas_p);
    if (status == STORE_ON_DISK) {
        status = loads_promote(loads, perform_key(request->key));
        if (status == STORE_ON_DISK)
            return status;
        store_abandon(draft);
    }
    watch_put(server, request, status);
    return status;
}

/* ------------------------------------------------------------------------------------------ others */

store_status_t perform_delete(const server_t *server, const request_t *request)
{
    const meta_t *meta = &request->meta;
    if (request->kind != REQUEST_META_DELETE) {
        detail_count(server->detail, request->key, DETAIL_DELETE, false);
        store_delete_t plain = {.has_compare = request->number != 0, .compare = request->number};
        return store_delete(server->store, perform_key(request->key), &plain);
    }
    store_delete_t how = {.has_compare = meta->compare.given,
                          .compare = meta->compare.value,
                          .release = meta->pinned,
                          .stale = meta->stale,
                          .empty = meta->empty,
                          .has_cas = meta->own_cas.given,
                          .cas = meta->own_cas.value,
                          .has_expiry = meta->ttl.given,
                          .expiry = clock_expiry(server, meta->ttl.value)};
    return store_delete(server->store, perform_key(request->key), &how);
}

store_status_t perform_delta(const server_t *server, loads_t *loads, const request_t *request, store_number_t *number)
{
    const meta_t *meta = &request->meta;
    store_delta_t how = {.decrement = request->decrement, .delta = request->number};
    if (request->kind == REQUEST_META_DELTA)
        how = (store_delta_t){.decrement = request->decrement,
                              .has_compare = meta->compare.given,
                              .compare = meta->compare.value,
                              .has_cas = meta->own_cas.given,
                              .cas = meta->own_cas.value,
                              .delta = meta->delta.value,
                              .initial = meta->initial.value,
                              .touch = meta->ttl.given,
                              .expiry = clock_expiry(server, meta->ttl.value),
                              .vivify = meta->vivify.given,
                              .vivify_expiry = clock_expiry(server, meta->vivify.value),
                              .binary_key = meta->binary};
    store_status_t status = store_delta(server->store, perform_key(request->key), &how, number);
    return status == STORE_ON_DISK ? loads_promote(loads, perform_key(request->key)) : status;
}

bool perform_flush(server_t *server, worker_counters_t *counters, const request_t *request)
{
    if (!server->settings.flush_enabled)
        return false;
    count(&counters->cmd_flush, 1);
    bool later = request->has_exptime && request->exptime > 0;
    store_flush(server->store, later ? clock_expiry(server, request->exptime) : 0);
    return true;
}
