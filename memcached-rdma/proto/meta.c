/* SPDX-License-Identifier: Apache-2.0
 * meta.c - keys, flags and tokens of the meta commands. */
#include "proto/meta.h"

#include <string.h>

#include "base/base64.h"
#include "proto/text.h"
#include "util/number.h"

#define BAD_FORMAT "CLIENT_ERROR bad command line format"
#define WORDS_ALLOWED 19u /* of a line, as memcached counts them */

static void fail(request_t *request, const char *error)
{
    request->kind = REQUEST_ERROR;
    request->error = error;
}

/* ------------------------------------------------------------------------------------------ flags */

/* How a token is kept, for each kind of flags.def. NULL, or the error. */

static const char *take_seconds(text_t token, meta_seconds_t *seconds, const char *wrong)
{
    int64_t value;
    if (!number_i64(token.at, token.length, &value))
        return wrong;
    *seconds = (meta_seconds_t){.value = (int32_t)value, .given = true}; /* as memcached: the low 32 bits */
    return NULL;
}

static const char *take_number(text_t token, meta_number_t *number, const char *wrong)
{
    number->given = number_u64(token.at, token.length, &number->value);
    return number->given ? NULL : wrong;
}

static const char *take_mode(text_t token, char *mode, const char *wrong)
{
    if (token.length != 1)
        return wrong;
    *mode = *token.at;
    return NULL;
}

static const char *take_key(request_t *request, bool *binary, const char *wrong)
{
    meta_t *meta = &request->meta;
    size_t length;
    if (!base64_decode(request->key.at, request->key.length, true, meta->key, sizeof(meta->key), &length) ||
        length == 0)
        return wrong;
    request->key = (text_t){.at = meta->key, .length = length};
    *binary = true;
    return NULL;
}

/* As memcached, which looks at it behind all other flags. */
static const char *take_opaque(request_t *request, text_t token, const char *wrong)
{
    if (token.length > OPAQUE_MAX)
        request->error = wrong;
    return NULL;
}

#define TAKE_KEY(member, wrong) take_key(request, &meta->member, wrong)
#define TAKE_SWITCH(member, wrong) (meta->member = true, NULL)
#define TAKE_ASKS(member, wrong) NULL
#define TAKE_UNUSED(member, wrong) NULL
#define TAKE_SECONDS(member, wrong) take_seconds(token, &meta->member, wrong)
#define TAKE_NUMBER(member, wrong) take_number(token, &meta->member, wrong)
#define TAKE_MODE(member, wrong) take_mode(token, &meta->member, wrong)
#define TAKE_OPAQUE(member, wrong) take_opaque(request, token, wrong)

static const char *take_flag(request_t *request, char letter, text_t token)
{
    meta_t *meta = &request->meta;
    switch (letter) {
#define META_FLAG(letter, commands, kind, member, wrong, field, meaning)                                               \
    case letter: return TAKE_##kind(member, "CLIENT_ERROR " wrong);
#include "proto/flags.def"
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
    if (request->kind == REQUEST_META_PUT && meta->compare.given &&
        (request->mode == PUT_SET || request->mode == PUT_REPLACE))
        request->mode = PUT_CAS;
}

/* me key [b] */
static void parse_debug(request_t *request, text_t rest)
{
    text_t flag = text_word(&rest);
    if (request->key.length == 0 || request->key.length > KEY_MAX ||
        (text_is(flag, "b") && take_key(request, &request->meta.binary, "") != NULL))
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
    meta->delta.value = 1;
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
    if (request->error != NULL) { /* of take_opaque */
        request->swallow = puts;
        request->kind = REQUEST_ERROR;
        return;
    }
    request->client_flags = (uint32_t)meta->client_flags.value;
    check_mode(request);
}
