/* SPDX-License-Identifier: Apache-2.0
 * exec_binary.c - commands of the binary protocol on the store, and their answers as packets. */
#include "proto/binary.h"

#include <string.h>

#include "server/exec.h"
#include "server/perform.h"

static uint64_t shown_cas(const exec_t *exec, uint64_t cas)
{
    return exec->server->settings.cas ? cas : 0;
}

/* Success, which a quiet command does not answer. */
static void answer(exec_t *exec, const request_t *request, uint64_t cas)
{
    binary_answer_t good = {.cas = shown_cas(exec, cas)};
    if (!request->packet.quiet)
        binary_answer(exec->reply, &request->packet, &good);
}

static void fail(exec_t *exec, const request_t *request, binary_status_t status)
{
    binary_error(exec->reply, &request->packet, status);
}

/* -------------------------------------------------------------------------------------------- get */

typedef struct packet_visit {
    exec_t *exec;
    const packet_t *packet;
} packet_visit_t;

static void show_item(void *arg, const store_hit_t *hit)
{
    const packet_visit_t *visit = arg;
    const packet_t *packet = visit->packet;
    char flags[4];
    binary_put_u32(flags, hit->client_flags);
    binary_answer_t item = {.cas = shown_cas(visit->exec, hit->cas),
                            .extras = {.at = flags, .length = sizeof(flags)},
                            .key = {.at = hit->key, .length = packet->shows_key ? hit->key_bytes : 0},
                            .value_bytes = packet->shows_value ? hit->value_bytes : 0};
    binary_answer(visit->exec->reply, packet, &item);
    if (packet->shows_value)
        exec_value(visit->exec, hit);
}

static void get(exec_t *exec, const request_t *request)
{
    packet_visit_t visit = {.exec = exec, .packet = &request->packet};
    perform_expiry_t expiry = perform_expiry(exec->server, request);
    exec->budget->taken += TURN_KEY_BYTES;
    store_status_t status = perform_get(exec->server, exec->loads, request, expiry, request->key, show_item, &visit);
    exec->parked = status == STORE_ON_DISK;
    if (status == STORE_OK || exec->parked || request->packet.quiet)
        return;
    if (request->packet.shows_key)
        binary_miss(exec->reply, &request->packet, request->key);
    else
        fail(exec, request, BINARY_NOT_FOUND);
}

/* ----------------------------------------------------------------------------------------- writes */

/* That a condition does not hold is answered by the condition. */
static binary_status_t not_stored(const request_t *request)
{
    switch (request->mode) {
    case PUT_ADD: return BINARY_EXISTS;
    case PUT_REPLACE: return BINARY_NOT_FOUND;
    default: return BINARY_NOT_STORED;
    }
}

static binary_status_t status_of(const request_t *request, store_status_t status)
{
    switch (status) {
    case STORE_OK: return BINARY_OK;
    case STORE_NOT_FOUND: return BINARY_NOT_FOUND;
    case STORE_EXISTS: return BINARY_EXISTS;
    case STORE_TOO_LARGE: return BINARY_TOO_LARGE;
    case STORE_NO_MEMORY: return BINARY_NO_MEMORY;
    case STORE_NON_NUMERIC: return BINARY_NON_NUMERIC;
    default: return not_stored(request);
    }
}

void exec_packet_stored(exec_t *exec, const request_t *request, store_status_t status, uint64_t cas)
{
    if (status == STORE_OK)
        answer(exec, request, cas);
    else
        fail(exec, request, status_of(request, status));
}

static void delta(exec_t *exec, const request_t *request)
{
    store_number_t number;
    char digits[8];
    store_status_t status = perform_delta(exec->server, exec->loads, request, &number);
    exec->parked = status == STORE_ON_DISK;
    if (exec->parked)
        return;
    if (status != STORE_OK) {
        fail(exec, request, status_of(request, status));
        return;
    }
    if (request->packet.quiet)
        return;
    binary_put_u64(digits, number.value);
    binary_answer_t good = {.cas = shown_cas(exec, number.cas), .value_bytes = sizeof(digits)};
    binary_answer(exec->reply, &request->packet, &good);
    reply_bytes(exec->reply, digits, sizeof(digits));
}

/* ------------------------------------------------------------------------------------- statistics */

/* A line of the text protocol, "STAT name value", as a packet. False: it is none. */
static bool show_statistic(exec_t *exec, const request_t *request, const char *line, size_t length)
{
    const char *name = line + strlen("STAT ");
    if (length < strlen("STAT ") || memcmp(line, "STAT ", strlen("STAT ")) != 0)
        return false;
    const char *blank = memchr(name, ' ', (size_t)(line + length - name));
    if (blank == NULL)
        return false;
    binary_answer_t row = {.key = {.at = name, .length = (size_t)(blank - name)},
                           .value_bytes = (size_t)(line + length - blank) - 1};
    binary_answer(exec->reply, &request->packet, &row);
    reply_bytes(exec->reply, blank + 1, row.value_bytes);
    return true;
}

/* As memcached: these are no statistics of the binary protocol, and but for details a name is one word. */
static bool is_absent(text_t name)
{
    const char *details = "detail ";
    bool one = memchr(name.at, ' ', name.length) == NULL ||
               (name.length > strlen(details) && memcmp(name.at, details, strlen(details)) == 0);
    return !one || text_is(name, "conns") || text_is(name, "extstore");
}

/* The lines that the text protocol would show. */
static void show_statistics(exec_t *exec, const request_t *request, const reply_t *lines)
{
    const char *at = lines->bytes, *end = lines->bytes + lines->length;
    const char *error = "CLIENT_ERROR";
    bool found = lines->length > 0 && *at != 'E' &&
                 (lines->length < strlen(error) || memcmp(at, error, strlen(error)) != 0);
    for (const char *next; at < end; at = next + 1) {
        next = memchr(at, '\n', (size_t)(end - at));
        if (next == NULL || next == at || !show_statistic(exec, request, at, (size_t)(next - at) - 1))
            break;
    }
    if (found || (lines->length >= 3 && memcmp(lines->bytes, "END", 3) == 0))
        binary_answer(exec->reply, &request->packet, &(binary_answer_t){0});
    else
        fail(exec, request, BINARY_NOT_FOUND);
}

/* All of stats detail is one value. */
static void show_details(exec_t *exec, const request_t *request, const reply_t *lines)
{
    const char name[] = "detailed";
    binary_answer_t all = {.key = {.at = name, .length = strlen(name)}, .value_bytes = lines->length};
    binary_answer(exec->reply, &request->packet, &all);
    reply_bytes(exec->reply, lines->bytes, lines->length);
    binary_answer(exec->reply, &request->packet, &(binary_answer_t){0});
}

static void stats(exec_t *exec, request_t *request)
{
    reply_t lines = {0};
    exec_t other = *exec;
    other.reply = &lines;
    if (is_absent(request->rest)) {
        fail(exec, request, BINARY_NOT_FOUND);
        return;
    }
    (void)exec_stats(&other, request); /* the groups that come in portions are absent */
    exec->reply->failed |= lines.failed;
    if (text_is(request->key, "detail dump"))
        show_details(exec, request, &lines);
    else
        show_statistics(exec, request, &lines);
    reply_free(&lines);
}

/* ---------------------------------------------------------------------------------------- command */

static void version(exec_t *exec, const request_t *request)
{
    binary_answer_t text = {.value_bytes = strlen(MC_VERSION)};
    binary_answer(exec->reply, &request->packet, &text);
    reply_string(exec->reply, MC_VERSION);
}

static void error(exec_t *exec, const request_t *request)
{
    fail(exec, request, (binary_status_t)request->packet.status);
    exec->close = request->packet.ends;
}

void exec_packet(exec_t *exec, request_t *request)
{
    switch (request->kind) {
    case REQUEST_GET: get(exec, request); break;
    case REQUEST_DELETE: exec_packet_stored(exec, request, perform_delete(exec->server, request), 0); break;
    case REQUEST_META_DELTA: delta(exec, request); break;
    case REQUEST_STATS: stats(exec, request); break;
    case REQUEST_VERSION: version(exec, request); break;
    case REQUEST_FLUSH:
        if (perform_flush(exec->server, exec->counters, request))
            answer(exec, request, 0);
        else
            fail(exec, request, BINARY_FORBIDDEN);
        break;
    case REQUEST_QUIT:
        exec->close = true;
        answer(exec, request, 0);
        break;
    case REQUEST_META_NOOP: answer(exec, request, 0); break;
    default: error(exec, request);
    }
}
