/* SPDX-License-Identifier: Apache-2.0
 * meta.c - keys, flags and tokens of the meta commands. */
#include "proto/meta.h"

#include <string.h>

#include "proto/text.h"
#include "util/number.h"

#define BAD_FORMAT "CLIENT_ERROR bad command line format"
#define BAD_TOKEN "CLIENT_ERROR bad token in command line format"
#define WORDS_ALLOWED 19u /* of a line, as memcached counts them */

static void fail(request_t *request, const char *error)
{
    request->kind = REQUEST_ERROR;
    request->error = error;
}

/* ----------------------------------------------------------------------------------------- base64 */

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

size_t base64_decode(const char *text, size_t length, char *bytes, size_t capacity)
{
    size_t count = 0;
    if (length == 0 || length % 4 != 0)
        return 0;
    for (size_t at = 0; at < length; at += 4) {
        bool last = at + 4 == length;
        unsigned padding = last && text[at + 3] == '=' ? (text[at + 2] == '=' ? 2 : 1) : 0;
        uint32_t group = 0;
        for (unsigned i = 0; i < 4; i++) {
            int digit = i >= 4 - padding ? 0 : digit_of(text[at + i]);
            if (digit < 0)
                return 0;
            group = group << 6 | (uint32_t)digit;
        }
        for (unsigned i = 0; i < 3 - padding; i++) {
            if (count == capacity)
                return 0;
            bytes[count++] = (char)(group >> (16 - 8 * i));
        }
    }
    return count;
}

size_t base64_encode(const char *bytes, size_t length, char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t count = 0;
    for (size_t at = 0; at < length; at += 3) {
        uint32_t group = 0;
        for (size_t i = 0; i < 3; i++)
            group = group << 8 | (at + i < length ? (unsigned char)bytes[at + i] : 0u);
        for (size_t i = 0; i < 4; i++)
            text[count++] = at + i <= length ? digits[group >> (18 - 6 * i) & 63] : '=';
    }
    return count;
}

/* ------------------------------------------------------------------------------------------ flags */

static const char *take_seconds(text_t token, int32_t *seconds_p, bool *has_p)
{
    int64_t value;
    if (!number_i64(token.at, token.length, &value))
        return BAD_TOKEN;
    *seconds_p = (int32_t)value; /* as memcached: the low 32 bits */
    *has_p = true;
    return NULL;
}

static const char *take_number(text_t token, uint64_t *value_p, const char *error)
{
    return number_u64(token.at, token.length, value_p) ? NULL : error;
}

static const char *decode_key(request_t *request)
{
    meta_t *meta = &request->meta;
    size_t length = base64_decode(request->key.at, request->key.length, meta->key, sizeof(meta->key));
    if (length == 0)
        return "CLIENT_ERROR error decoding key";
    request->key = (text_t){.at = meta->key, .length = length};
    meta->binary = true;
    return NULL;
}

static const char *take_compare(meta_t *meta, text_t token)
{
    meta->has_compare = true;
    return take_number(token, &meta->compare, BAD_TOKEN);
}

static const char *take_client_flags(request_t *request, text_t token)
{
    uint64_t flags = 0;
    const char *error = take_number(token, &flags, BAD_FORMAT);
    request->client_flags = (uint32_t)flags;
    return error;
}

static const char *take_mode(meta_t *meta, text_t token)
{
    if (token.length != 1)
        return "CLIENT_ERROR incorrect length for M token";
    meta->mode = *token.at;
    return NULL;
}

/* What one flag says; NULL, or the error. */
static const char *take_flag(request_t *request, char name, text_t token)
{
    meta_t *meta = &request->meta;
    switch (name) {
    case 'b': return decode_key(request);
    case 'N': return take_seconds(token, &meta->vivify, &meta->has_vivify);
    case 'T': return take_seconds(token, &meta->ttl, &meta->has_ttl);
    case 'R': return take_seconds(token, &meta->recache, &meta->has_recache);
    case 'D': return take_number(token, &meta->delta, "CLIENT_ERROR invalid numeric delta value");
    case 'J': return take_number(token, &meta->initial, "CLIENT_ERROR invalid numeric initial value");
    case 'C': return take_compare(meta, token);
    case 'F': return take_client_flags(request, token);
    case 'M': return take_mode(meta, token);
    case 'I': meta->stale = true; return NULL;
    case 'v': meta->value = true; return NULL;
    case 'q': meta->quiet = true; return NULL;
    case 'u': meta->no_update = true; return NULL;
    case 'O':
    case 'P':
    case 'L':
    case 'k':
    case 's':
    case 't':
    case 'c':
    case 'f':
    case 'h':
    case 'l': return NULL;
    default: return "CLIENT_ERROR invalid flag";
    }
}

static const char *take_flags(request_t *request)
{
    meta_t *meta = &request->meta;
    uint64_t seen[2] = {0};
    for (unsigned i = 0; i < meta->count; i++) {
        unsigned char name = (unsigned char)meta->flags[i].name;
        if (name >= 127 || (seen[name / 64] & (uint64_t)1 << name % 64) != 0)
            return "CLIENT_ERROR duplicate flag";
        seen[name / 64] |= (uint64_t)1 << name % 64;
        const char *error = take_flag(request, meta->flags[i].name, meta->flags[i].token);
        if (error != NULL)
            return error;
    }
    return NULL;
}

/* Splits the flags off the line; false: there are too many. */
static bool split_flags(request_t *request, text_t *rest, unsigned words_before)
{
    meta_t *meta = &request->meta;
    for (;;) {
        text_t word = text_word(rest);
        if (word.length == 0)
            return true;
        if (words_before + meta->count == WORDS_ALLOWED)
            return false;
        meta->flags[meta->count++] = (meta_flag_t){.name = *word.at,
                                                   .token = {.at = word.at + 1, .length = word.length - 1}};
    }
}

static const char *check_opaque(const meta_t *meta)
{
    for (unsigned i = 0; i < meta->count; i++)
        if (meta->flags[i].name == 'O' && meta->flags[i].token.length > OPAQUE_MAX)
            return "CLIENT_ERROR opaque token too long";
    return NULL;
}

/* --------------------------------------------------------------------------------------- commands */

static void fail_flags(request_t *request, const char *error)
{
    bool plain = request->kind == REQUEST_META_GET || request->kind == REQUEST_META_PUT;
    request->swallow = request->kind == REQUEST_META_PUT;
    fail(request, plain ? error : "CLIENT_ERROR invalid or duplicate flag");
}

static void check_mode(request_t *request)
{
    static const char puts[] = "SERAP";
    static const put_mode_t modes[] = {PUT_SET, PUT_ADD, PUT_REPLACE, PUT_APPEND, PUT_PREPEND};
    const meta_t *meta = &request->meta;
    char mode = meta->mode;
    if (request->kind == REQUEST_META_PUT && mode != 0) {
        const char *found = strchr(puts, mode);
        request->mode = found != NULL ? modes[found - puts] : PUT_SET;
        request->swallow = found == NULL;
        if (found == NULL)
            fail(request, "CLIENT_ERROR invalid mode for ms M token");
    } else if (request->kind == REQUEST_META_DELTA && mode != 0) {
        request->decrement = mode == 'D' || mode == '-';
        if (strchr("ID+-", mode) == NULL)
            fail(request, "CLIENT_ERROR invalid mode for ma M token");
    }
    if (request->kind == REQUEST_META_PUT && meta->has_compare &&
        (request->mode == PUT_SET || request->mode == PUT_REPLACE))
        request->mode = PUT_CAS;
}

/* me key [b] */
static void parse_debug(request_t *request, text_t rest)
{
    text_t flag = text_word(&rest);
    if (request->key.length == 0 || request->key.length > KEY_MAX ||
        (text_is(flag, "b") && decode_key(request) != NULL))
        fail(request, BAD_FORMAT);
}

static bool take_value_bytes(request_t *request, text_t *rest)
{
    int64_t bytes;
    text_t word = text_word(rest);
    if (!number_i64(word.at, word.length, &bytes) || bytes < 0 || bytes > (int64_t)VALUE_MAX)
        return false;
    request->value_bytes = (size_t)bytes;
    return true;
}

void meta_parse(request_t *request)
{
    meta_t *meta = &request->meta;
    text_t rest = request->rest;
    bool puts = request->kind == REQUEST_META_PUT;
    memset(meta, 0, sizeof(*meta));
    meta->delta = 1;
    meta->shown_key = request->key = text_word(&rest);
    if (request->kind == REQUEST_META_DEBUG) {
        parse_debug(request, rest);
        return;
    }
    if (request->key.length > KEY_MAX || (puts && !take_value_bytes(request, &rest))) {
        fail(request, BAD_FORMAT);
        return;
    }
    if (!split_flags(request, &rest, puts ? 3 : 2)) {
        fail(request, request->kind == REQUEST_META_GET ? "CLIENT_ERROR options flags are too long"
                                                        : "CLIENT_ERROR options flags too long");
        return;
    }
    const char *error = take_flags(request);
    if (error != NULL) {
        fail_flags(request, error);
        return;
    }
    error = check_opaque(meta);
    if (error != NULL) {
        request->swallow = puts;
        fail(request, error);
        return;
    }
    check_mode(request);
}
