/* SPDX-License-Identifier: Apache-2.0
 * exec.c - the commands of the text protocol. */
#include "server/exec.h"

#include <sys/eventfd.h>

#include "proto/text.h"
#include "server/native.h"
#include "server/perform.h"
#include "server/tls.h"

#define MEMORY_LEAST_MB 8u

static void answer(exec_t *exec, const request_t *request, const char *line)
{
    if (!request->noreply)
        reply_line(exec->reply, line);
}

/* -------------------------------------------------------------------------------------------- get */

typedef struct get_visit {
    exec_t *exec;
    bool cas;
} get_visit_t;

static void show_value(void *arg, const store_hit_t *hit)
{
    const get_visit_t *visit = arg;
    reply_t *reply = visit->exec->reply;
    reply_bytes(reply, "VALUE ", 6);
    reply_bytes(reply, hit->key, hit->key_bytes);
    reply_bytes(reply, " ", 1);
    reply_number(reply, hit->client_flags);
    reply_bytes(reply, " ", 1);
    reply_number(reply, hit->value_bytes);
    if (visit->cas) {
        reply_bytes(reply, " ", 1);
        reply_number(reply, visit->exec->server->settings.cas ? hit->cas : 0);
    }
    reply_bytes(reply, "\r\n", 2);
    exec_value(visit->exec, hit);
    reply_bytes(reply, "\r\n", 2);
}

/* All keys are looked at before the first is answered. False: one is too long. `checked` moves on as far as the budget goes,
 * and stands at the end of the list when all are right. */
static bool keys_fit(exec_t *exec, request_t *request)
{
    const char *end = request->rest.at + request->rest.length;
    text_t keys = {.at = request->checked == NULL ? request->rest.at : request->checked};
    keys.length = (size_t)(end - keys.at);
    while (keys.length > 0 && budget_allows(exec->budget)) {
        text_t key = text_word(&keys);
        if (key.length > KEY_MAX)
            return false;
        exec->budget->taken += key.length + 1;
    }
    request->checked = keys.at;
    return true;
}

/* A key whose value is on disk: those behind it are read with it, as far as there is place. */
static void look_ahead(exec_t *exec, text_t keys)
{
    exec->parked = true;
    for (text_t key = text_word(&keys); key.length > 0 && loads_have_place(exec->loads); key = text_word(&keys)) {
        perform_look(exec->server, exec->loads, key);
        exec->budget->taken += TURN_KEY_BYTES;
    }
}

static bool exec_get(exec_t *exec, request_t *request)
{
    get_visit_t visit = {.exec = exec, .cas = request->cas};
    perform_expiry_t expiry = perform_expiry(exec->server, request);
    if (!keys_fit(exec, request)) {
        reply_line(exec->reply, "CLIENT_ERROR bad command line format");
        return true;
    }
    if (request->checked != request->rest.at + request->rest.length)
        return false;
    while (budget_allows(exec->budget) && exec->reply->pending <= REPLY_PENDING_MAX) {
        text_t rest = request->rest, key = text_word(&request->rest);
        if (key.length == 0) {
            reply_line(exec->reply, "END");
            return true;
        }
        if (perform_get(exec->server, exec->loads, request, expiry, key, show_value, &visit) == STORE_ON_DISK) {
            look_ahead(exec, request->rest);
            request->rest = rest;
            return false;
        }
        exec->budget->taken += TURN_KEY_BYTES;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------ values */

bool exec_begin(exec_t *exec, const request_t *request, store_draft_t *draft)
{
    store_status_t status = perform_begin(exec->server, request, draft);
    if (status != STORE_OK && request->packet.speaks)
        exec_packet_stored(exec, request, status, 0);
    else if (status != STORE_OK)
        answer(exec, request,
               status == STORE_TOO_LARGE   ? "SERVER_ERROR object too large for cache"
               : status == STORE_PINS_FULL ? EXEC_PINS_FULL
                                           : "SERVER_ERROR out of memory storing object");
    return status == STORE_OK;
}

void exec_lost(exec_t *exec, const request_t *request)
{
    perform_lost(exec->server, request);
    if (request->packet.speaks)
        exec_packet_stored(exec, request, STORE_NO_MEMORY, 0);
    else
        answer(exec, request, "SERVER_ERROR out of memory storing object");
}

static const char *stored_line(store_status_t status)
{
    switch (status) {
    case STORE_OK: return "STORED";
    case STORE_EXISTS: return "EXISTS";
    case STORE_NOT_FOUND: return "NOT_FOUND";
    case STORE_NO_MEMORY: return "SERVER_ERROR out of memory storing object";
    case STORE_PINS_FULL: return EXEC_PINS_FULL;
    default: return "NOT_STORED"; /* what an append made too large, too */
    }
}

void exec_commit(exec_t *exec, const request_t *request, store_draft_t *draft)
{
    uint64_t cas;
    store_status_t status = perform_commit(exec->server, exec->loads, request, draft, &cas);
    exec->parked = status == STORE_ON_DISK;
    if (exec->parked)
        return;
    if (request->packet.speaks) /* what an append made too large is not stored */
        exec_packet_stored(exec, request, status == STORE_TOO_LARGE ? STORE_NOT_STORED : status, cas);
    else if (request->kind == REQUEST_META_PUT)
        exec_meta_stored(exec, request, status, cas, draft->value_bytes);
    else
        answer(exec, request, stored_line(status));
}

void exec_bad_value(exec_t *exec, const request_t *request, store_draft_t *draft)
{
    store_abandon(draft);
    answer(exec, request, "CLIENT_ERROR bad data chunk");
}

/* ------------------------------------------------------------------------------------------ others */

static void exec_delta(exec_t *exec, const request_t *request)
{
    store_number_t number;
    switch (perform_delta(exec->server, exec->loads, request, &number)) {
    case STORE_ON_DISK: exec->parked = true; break;
    case STORE_OK:
        if (!request->noreply) {
            reply_number(exec->reply, number.value);
            reply_bytes(exec->reply, "\r\n", 2);
        }
        break;
    case STORE_NON_NUMERIC:
        answer(exec, request, "CLIENT_ERROR cannot increment or decrement non-numeric value");
        break;
    case STORE_NO_MEMORY: answer(exec, request, "SERVER_ERROR out of memory"); break;
    case STORE_PINS_FULL: answer(exec, request, EXEC_PINS_FULL); break;
    default: answer(exec, request, "NOT_FOUND");
    }
}

static void exec_memory(exec_t *exec, const request_t *request)
{
    server_t *server = exec->server;
    uint64_t bytes = request->number << 20;
    if (request->number < MEMORY_LEAST_MB) {
        answer(exec, request, "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m");
    } else if (bytes >> 20 != request->number || !store_limit(server->store, bytes)) {
        answer(exec, request, "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust");
    } else {
        atomic_set_relaxed(&server->memory_limit, bytes);
        answer(exec, request, "OK");
    }
}

static void exec_shutdown(exec_t *exec, const request_t *request)
{
    server_t *server = exec->server;
    text_t rest = request->rest, mode = text_word(&rest);
    if (!server->settings.shutdown_enabled) {
        reply_line(exec->reply, "ERROR: shutdown not enabled");
        return;
    }
    if (mode.length > 0 && !text_is(mode, "graceful")) {
        reply_line(exec->reply, "CLIENT_ERROR invalid shutdown mode");
        return;
    }
    atomic_set_relaxed(&server->graceful, mode.length > 0);
    exec->close = true;
    (void)eventfd_write(server->stop, 1);
}

static void exec_certificates(exec_t *exec)
{
    char error[TLS_ERROR];
    if (exec->server->tls == NULL)
        reply_line(exec->reply, "Error TLS not enabled");
    else
        reply_line(exec->reply, tls_refresh(exec->server, error) ? "OK" : error);
}

static void exec_absent(exec_t *exec, const request_t *request)
{
    reply_string(exec->reply, "CLIENT_ERROR "); /* not SERVER_ERROR, at which clients leave a server for a while */
    reply_bytes(exec->reply, request->command.at, request->command.length);
    reply_line(exec->reply, " is not there yet: see docs/memcached.md of Verbena");
}

static bool is_meta(request_kind_t kind)
{
    return kind >= REQUEST_META_GET && kind <= REQUEST_META_DEBUG;
}

bool exec_request(exec_t *exec, request_t *request)
{
    if (request->packet.speaks) {
        exec_packet(exec, request);
        return !exec->parked;
    }
    if (is_meta(request->kind)) {
        exec_meta(exec, request);
        count(&exec->counters->cmd_meta, !exec->parked);
        return !exec->parked;
    }
    switch (request->kind) {
    case REQUEST_GET: return exec_get(exec, request);
    case REQUEST_ERROR: answer(exec, request, request->error); break;
    case REQUEST_DELETE:
        answer(exec, request, perform_delete(exec->server, request) == STORE_OK ? "DELETED" : "NOT_FOUND");
        break;
    case REQUEST_DELTA: exec_delta(exec, request); break;
    case REQUEST_TOUCH:
        answer(exec, request, perform_touch(exec->server, request) == STORE_OK ? "TOUCHED" : "NOT_FOUND");
        break;
    case REQUEST_FLUSH:
        answer(exec, request,
               perform_flush(exec->server, exec->counters, request) ? "OK" : "CLIENT_ERROR flush_all not allowed");
        break;
    case REQUEST_STATS: return exec_stats(exec, request);
    case REQUEST_VERSION: reply_line(exec->reply, "VERSION " MC_VERSION); break;
    case REQUEST_VERBOSITY:
        atomic_set_relaxed(&exec->server->verbosity, request->number > 2 ? 2 : (int)request->number);
        answer(exec, request, "OK");
        break;
    case REQUEST_MEMORY: exec_memory(exec, request); break;
    case REQUEST_SHUTDOWN: exec_shutdown(exec, request); break;
    case REQUEST_CRAWLER: return exec_crawler(exec, request);
    case REQUEST_LRU: exec_lru(exec, request); break;
    case REQUEST_SLABS: exec_slabs(exec, request); break;
    case REQUEST_CERTIFICATES: exec_certificates(exec); break;
    case REQUEST_HELLO: native_hello(exec, request); break;
    case REQUEST_QUIT: exec->close = true; break;
    default: exec_absent(exec, request);
    }
    return !exec->parked;
}
