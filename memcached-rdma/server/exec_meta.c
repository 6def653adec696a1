/* SPDX-License-Identifier: Apache-2.0
 * exec_meta.c - the meta commands on the store. Answers carry their flags in the order of the request. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "proto/meta.h"
#include "server/exec.h"
#include "server/perform.h"

/* What the fields of an answer are filled from. */
typedef struct shown {
    const request_t *request;
    const store_hit_t *hit; /* of mg */
    uint64_t cas;
    uint32_t value_bytes;
    uint32_t expiry, now;
    uint32_t touched, vivified; /* what flags T (of mg) and N (of a new item) set, from where they stand on */
    bool created;
    bool pinned; /* by this ms */
    bool item;   /* there is one, which fields can be filled from */
} shown_t;

static void add_text(reply_t *reply, char letter, text_t text)
{
    char head[2] = {' ', letter};
    reply_bytes(reply, head, 2);
    reply_bytes(reply, text.at, text.length);
}

static void add_number(reply_t *reply, char letter, uint64_t number)
{
    add_text(reply, letter, (text_t){0});
    reply_number(reply, number);
}

/* ----------------------------------------------------------------------- the fields of flags.def */

static void add_nothing(reply_t *reply, shown_t *shown, const meta_flag_t *flag)
{
    (void)reply;
    (void)shown;
    (void)flag;
}

static void add_opaque(reply_t *reply, shown_t *shown, const meta_flag_t *flag)
{
    (void)shown;
    add_text(reply, flag->name, flag->token);
}

/* The key of an item as it was stored. */
static text_t key_of(const store_hit_t *hit, char encoded[BASE64_PADDED(KEY_MAX)])
{
    if (!hit->binary_key)
        return (text_t){.at = hit->key, .length = hit->key_bytes};
    return (text_t){.at = encoded, .length = base64_encode(hit->key, hit->key_bytes, true, encoded)};
}

/* The key as the client gave it, or, of an item, as it was stored. */
static void add_key(reply_t *reply, shown_t *shown, const meta_flag_t *flag)
{
    char encoded[BASE64_PADDED(KEY_MAX)];
    const store_hit_t *hit = shown->hit;
    bool binary = hit == NULL ? shown->request->meta.binary : hit->binary_key;
    add_text(reply, flag->name, hit == NULL ? shown->request->meta.shown_key : key_of(hit, encoded));
    if (binary)
        reply_bytes(reply, " b", 2);
}

static void add_cas(reply_t *reply, shown_t *shown, const meta_flag_t *flag)
{
    if (shown->item)
        add_number(reply, flag->name, shown->cas);
}

static void add_ttl(reply_t *reply, shown_t *shown, const meta_flag_t *flag)
{
    if (shown->item && shown->expiry == 0)
        reply_bytes(reply, " t-1", 4);
    else if (shown->item)
        add_number(reply, flag->name, (uint32_t)(shown->expiry - shown->now));
}

static void add_size(reply_t *reply, shown_t *shown, const meta_flag_t *flag)
{
    if (shown->item)
        add_number(reply, flag->name, shown->value_bytes);
}

static void add_client_flags(reply_t *reply, shown_t *shown, const meta_flag_t *flag)
{
    if (shown->hit != NULL)
        add_number(reply, flag->name, shown->hit->client_flags);
}

static void add_access(reply_t *reply, shown_t *shown, const meta_flag_t *flag)
{
    if (shown->hit != NULL)
        add_number(reply, flag->name, shown->hit->now - shown->hit->access);
}

static void add_fetched(reply_t *reply, shown_t *shown, const meta_flag_t *flag)
{
    if (shown->hit != NULL)
        add_number(reply, flag->name, shown->hit->fetched);
}

static void add_pinned(reply_t *reply, shown_t *shown, const meta_flag_t *flag)
{
    if (shown->hit != NULL || shown->pinned)
        add_number(reply, flag->name, shown->pinned || shown->hit->pinned);
}

/* T and N add nothing; a flag t behind them shows the new expiry. */
static void add_touched(reply_t *reply, shown_t *shown, const meta_flag_t *flag)
{
    (void)reply;
    (void)flag;
    shown->expiry = shown->hit != NULL ? shown->touched : shown->expiry;
}

static void add_vivified(reply_t *reply, shown_t *shown, const meta_flag_t *flag)
{
    (void)reply;
    (void)flag;
    shown->expiry = shown->created ? shown->vivified : shown->expiry;
}

typedef struct field {
    unsigned commands;
    void (*add)(reply_t *reply, shown_t *shown, const meta_flag_t *flag);
} field_t;

/* By the letter of the flag. */
static const field_t fields[UCHAR_MAX + 1] = {
#define META_FLAG(letter, commands, token, member, wrong, field, meaning) [letter] = {commands, add_##field},
#include "proto/flags.def"
};

static void add_fields(reply_t *reply, const request_t *request, shown_t shown)
{
    shown.request = request;
    for (unsigned i = 0; i < request->meta.count; i++) {
        const meta_flag_t *flag = &request->meta.flags[i];
        const field_t *field = &fields[(unsigned char)flag->name];
        if ((field->commands & META_COMMAND(request->kind)) != 0)
            field->add(reply, &shown, flag);
    }
}

static uint64_t shown_cas(const exec_t *exec, uint64_t cas)
{
    return exec->server->settings.cas ? cas : 0;
}

/* An answer of a code and its fields. */
static void answer_code(exec_t *exec, const request_t *request, const char *code, shown_t shown)
{
    reply_string(exec->reply, code);
    add_fields(exec->reply, request, shown);
    reply_bytes(exec->reply, "\r\n", 2);
}

/* --------------------------------------------------------------------------------------------- mg */

typedef struct meta_visit {
    exec_t *exec;
    const request_t *request;
    uint32_t touched, vivified;
} meta_visit_t;

/* A client that names the CAS id of the item has its value. */
static bool wants_value(const meta_t *meta, uint64_t cas)
{
    return meta->value && !(meta->compare.given && meta->compare.value == cas);
}

static void show_hit(void *arg, const store_hit_t *hit)
{
    const meta_visit_t *visit = arg;
    exec_t *exec = visit->exec;
    reply_t *reply = exec->reply;
    shown_t shown = {.hit = hit,
                     .cas = shown_cas(exec, hit->cas),
                     .value_bytes = hit->value_bytes,
                     .now = hit->now,
                     .expiry = hit->created ? 0 : hit->expiry,
                     .touched = visit->touched,
                     .vivified = visit->vivified,
                     .created = hit->created,
                     .item = true};
    const bool value = wants_value(&visit->request->meta, shown.cas);
    reply_string(reply, value ? "VA " : "HD");
    if (value)
        reply_number(reply, hit->value_bytes);
    add_fields(reply, visit->request, shown);
    if (hit->won_before)
        reply_bytes(reply, " Z", 2);
    if (hit->stale)
        reply_bytes(reply, " X", 2);
    if (hit->win)
        reply_bytes(reply, " W", 2);
    reply_bytes(reply, "\r\n", 2);
    if (value) {
        exec_value(exec, hit);
        reply_bytes(reply, "\r\n", 2);
    }
}

static void meta_get(exec_t *exec, const request_t *request)
{
    perform_expiry_t expiry = perform_expiry(exec->server, request);
    meta_visit_t visit = {.exec = exec, .request = request, .touched = expiry.touch, .vivified = expiry.vivify};
    store_status_t status = perform_get(exec->server, exec->loads, request, expiry, request->key, show_hit, &visit);
    if (status == STORE_ON_DISK)
        exec->parked = true;
    else if (status == STORE_NO_MEMORY)
        reply_line(exec->reply, "SERVER_ERROR out of memory writing get response");
    else if (status != STORE_OK && !request->meta.quiet)
        answer_code(exec, request, "EN", (shown_t){0});
}

static void show_debug(void *arg, const store_hit_t *hit)
{
    exec_t *exec = arg;
    reply_t *reply = exec->reply;
    char expiry[16] = "-1", encoded[BASE64_PADDED(KEY_MAX)];
    text_t key = key_of(hit, encoded);
    if (hit->expiry != 0)
        (void)snprintf(expiry, sizeof(expiry), "%d", (int)(hit->expiry - hit->now));
    reply_string(reply, "ME ");
    reply_bytes(reply, key.at, key.length);
    reply_format(reply, " exp=%s la=%u cas=%llu fetch=%s cls=%u size=%zu\r\n", expiry, hit->now - hit->access,
                 (unsigned long long)shown_cas(exec, hit->cas), hit->fetched ? "yes" : "no", hit->ttl + 1, hit->size);
}

static void meta_debug(exec_t *exec, const request_t *request)
{
    store_get_t how = {.quiet = true, .uncounted = true, .without_value = true};
    if (store_get(exec->server->store, perform_key(request->key), &how, show_debug, exec) != STORE_OK)
        reply_line(exec->reply, "EN");
}

/* ------------------------------------------------------------------------------------- ms, md, ma */

static const char *code_of(store_status_t status)
{
    switch (status) {
    case STORE_OK: return "HD";
    case STORE_EXISTS: return "EX";
    case STORE_NOT_FOUND: return "NF";
    default: return "NS";
    }
}

void exec_meta_stored(exec_t *exec, const request_t *request, store_status_t status, uint64_t cas, uint32_t value_bytes)
{
    shown_t shown = {
        .cas = shown_cas(exec, cas), .value_bytes = value_bytes, .item = true, .pinned = status == STORE_OK};
    count(&exec->counters->cmd_meta, 1);
    if (status == STORE_NO_MEMORY)
        reply_line(exec->reply, "SERVER_ERROR out of memory storing object");
    else if (status == STORE_PINS_FULL)
        reply_line(exec->reply, EXEC_PINS_FULL);
    else if (status != STORE_OK || !request->meta.quiet)
        answer_code(exec, request, code_of(status), shown);
}

static void meta_delete(exec_t *exec, const request_t *request)
{
    store_status_t status = perform_delete(exec->server, request);
    if (status != STORE_OK || !request->meta.quiet)
        answer_code(exec, request, code_of(status), (shown_t){0});
}

static void show_number(exec_t *exec, const request_t *request, const store_number_t *number)
{
    char digits[24];
    shown_t shown = {.cas = shown_cas(exec, number->cas),
                     .now = number->now,
                     .item = true,
                     .created = number->created,
                     .vivified = number->expiry,
                     .expiry = number->created ? 0 : number->expiry};
    int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number->value);
    if (!request->meta.value) {
        answer_code(exec, request, "HD", shown);
        return;
    }
    reply_format(exec->reply, "VA %d", length);
    add_fields(exec->reply, request, shown);
    reply_bytes(exec->reply, "\r\n", 2);
    reply_line(exec->reply, digits);
}

static void meta_delta(exec_t *exec, const request_t *request)
{
    store_number_t number;
    store_status_t status = perform_delta(exec->server, exec->loads, request, &number);
    if (status == STORE_ON_DISK)
        exec->parked = true;
    else if (status == STORE_NON_NUMERIC)
        reply_line(exec->reply, "CLIENT_ERROR cannot increment or decrement non-numeric value");
    else if (status == STORE_NO_MEMORY)
        reply_line(exec->reply, "SERVER_ERROR out of memory");
    else if (status == STORE_PINS_FULL)
        reply_line(exec->reply, EXEC_PINS_FULL);
    else if (status != STORE_OK)
        answer_code(exec, request, code_of(status), (shown_t){0});
    else if (!request->meta.quiet || number.created)
        show_number(exec, request, &number);
}

void exec_meta(exec_t *exec, const request_t *request)
{
    switch (request->kind) {
    case REQUEST_META_GET: meta_get(exec, request); break;
    case REQUEST_META_DELETE: meta_delete(exec, request); break;
    case REQUEST_META_DELTA: meta_delta(exec, request); break;
    case REQUEST_META_DEBUG: meta_debug(exec, request); break;
    default: reply_line(exec->reply, "MN");
    }
}
