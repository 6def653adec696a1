/* SPDX-License-Identifier: Apache-2.0
 * dump.c - commands that list the items: lru_crawler metadump and mgdump, stats cachedump. A list is written in the turns of its
 * connection, and goes on when its client has taken what there is; no lock is held between two steps. */
#include <string.h>

#include "base/base64.h"
#include "proto/text.h"
#include "server/exec.h"
#include "util/number.h"
#include "util/uri.h"

#define STEP_ITEMS 128u            /* that are visited under one hold of a lock */
#define STEPS 4u                   /* of a turn */
#define CLASSES_MOST 63u           /* as in memcached */
#define CACHEDUMP_BYTES (2u << 20) /* as in memcached: then the list ends */
#define BASE64_KEY (2 * STORE_KEY_MAX)

typedef struct dump {
    exec_t *exec;
    uint64_t classes;            /* bits of TTL buckets */
    uint64_t most, count, bytes; /* cachedump: items, 0: all; so far */
} dump_t;

static bool is_wanted(const dump_t *dump, const store_hit_t *hit)
{
    return (dump->classes >> hit->ttl & 1) != 0;
}

static void show_meta(void *arg, const store_hit_t *hit)
{
    const dump_t *dump = arg;
    reply_t *reply = dump->exec->reply;
    if (!is_wanted(dump, hit))
        return;
    char key[URI_BYTES(STORE_KEY_MAX)];
    uri_encode(hit->key, hit->key_bytes, key);
    long long expiry = hit->expiry == 0 ? -1 : (long long)clock_unix(hit->expiry, hit->now);
    reply_format(reply, "key=%s exp=%lld la=%lld cas=%llu fetch=%s cls=%u size=%zu\n", key, expiry,
                 (long long)clock_unix(hit->access, hit->now),
                 (unsigned long long)(dump->exec->server->settings.cas ? hit->cas : 0), hit->fetched ? "yes" : "no",
                 hit->ttl + 1, hit->size);
}

/* A line that can be sent as it is. */
static void show_get(void *arg, const store_hit_t *hit)
{
    const dump_t *dump = arg;
    reply_t *reply = dump->exec->reply;
    char text[BASE64_KEY];
    if (!is_wanted(dump, hit))
        return;
    reply_string(reply, "mg ");
    if (hit->binary_key)
        reply_bytes(reply, text, base64_encode(hit->key, hit->key_bytes, true, text));
    else
        reply_bytes(reply, hit->key, hit->key_bytes);
    reply_string(reply, hit->binary_key ? " b\r\n" : "\r\n");
}

static void show_item(void *arg, const store_hit_t *hit)
{
    dump_t *dump = arg;
    reply_t *reply = dump->exec->reply;
    bool full = (dump->most != 0 && dump->count >= dump->most) || dump->bytes >= CACHEDUMP_BYTES;
    if (!is_wanted(dump, hit) || hit->binary_key || full)
        return;
    size_t before = reply->length;
    long long expiry = hit->expiry == 0 ? 0 : (long long)clock_unix(hit->expiry, hit->now);
    reply_string(reply, "ITEM ");
    reply_bytes(reply, hit->key, hit->key_bytes);
    reply_format(reply, " [%u b; %lld s]\r\n", hit->value_bytes, expiry);
    dump->count++;
    dump->bytes += reply->length - before;
}

/* A turn's part of a list. True: that was the last. */
static bool dump_some(dump_t *dump, request_t *request, store_visit_t show)
{
    exec_t *exec = dump->exec;
    for (unsigned i = 0; i < STEPS; i++)
        if (store_walk(exec->server->store, &request->resume, STEP_ITEMS, show, dump))
            return true;
    exec->budget->taken = TURN_BYTES; /* the others come first */
    return false;
}

bool exec_crawler(exec_t *exec, request_t *request)
{
    text_t rest = request->rest, what = text_word(&rest), names = text_word(&rest);
    bool meta = text_is(what, "metadump"), get = text_is(what, "mgdump");
    dump_t dump = {.exec = exec};
    if ((!meta && !get) || names.length == 0 || text_word(&rest).length > 0) {
        exec_tune_crawler(exec, request);
        return true;
    }
    if (!exec->server->settings.dump_enabled) {
        reply_line(exec->reply, meta ? "ERROR metadump not allowed" : "ERROR key dump not allowed");
    } else if (request->resume == 0 && atomic_get_relaxed(&exec->server->crawler_off)) {
        reply_line(exec->reply, "CLIENT_ERROR lru crawler disabled");
    } else if (!exec_classes(names, &dump.classes)) {
        reply_line(exec->reply, "BADCLASS invalid class id");
    } else {
        if (!dump_some(&dump, request, meta ? show_meta : show_get))
            return false;
        reply_line(exec->reply, meta ? "END" : "EN");
    }
    return true;
}

bool exec_cachedump(exec_t *exec, request_t *request)
{
    text_t rest = request->rest;
    (void)text_word(&rest); /* cachedump */
    text_t name = text_word(&rest), most = text_word(&rest);
    uint64_t number;
    dump_t dump = {.exec = exec, .count = request->shown & UINT32_MAX, .bytes = request->shown >> 32};
    if (!exec->server->settings.dump_enabled) {
        reply_line(exec->reply, "CLIENT_ERROR stats cachedump not allowed");
    } else if (most.length == 0) {
        reply_line(exec->reply, "CLIENT_ERROR bad command line");
    } else if (!number_u64(name.at, name.length, &number) || !number_u64(most.at, most.length, &dump.most)) {
        reply_line(exec->reply, "CLIENT_ERROR bad command line format");
    } else if (number > CLASSES_MOST) {
        reply_line(exec->reply, "CLIENT_ERROR Illegal slab id");
    } else {
        bool exists = number > 0 && number <= STORE_TTL_BUCKETS;
        dump.classes = exists ? (uint64_t)1 << (number - 1) : 0;
        bool done = !exists || dump_some(&dump, request, show_item) || dump.bytes >= CACHEDUMP_BYTES ||
                    (dump.most != 0 && dump.count >= dump.most);
        request->shown = dump.bytes << 32 | (dump.count & UINT32_MAX);
        if (!done)
            return false;
        reply_line(exec->reply, "END");
    }
    return true;
}
