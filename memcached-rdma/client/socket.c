/* SPDX-License-Identifier: Apache-2.0
 * socket.c - requests and answers as meta commands on a socket. Each request carries its number (flag O); answers come in the
 * order of requests, and one with another number ends the connection: what follows could not be trusted (C3). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "client/mc.h"
#include "proto/text.h"
#include "util/number.h"

#define OUT_MOST (1u << 20) /* bytes to send, then requests wait */
#define LINE_BYTES (KEY_MAX + 160u)

/* ----------------------------------------------------------------------------------------- requests */

/* A key as a meta command names it, and the flag behind it: base64 for one that is no text. */
typedef struct name {
    char bytes[KEY_MAX + 4];
    int length;
    const char *flag;
} name_t;

static name_t name_of(const char *key, size_t length)
{
    name_t name = {.length = (int)length, .flag = ""};
    if (message_key_valid(key, length)) {
        memcpy(name.bytes, key, length);
    } else {
        name.length = (int)base64_encode(key, length, true, name.bytes);
        name.flag = " b";
    }
    return name;
}

static int write_put(const call_t *call, const name_t *key, char *line, size_t capacity)
{
    static const char modes[] = {[PUT_SET] = 'S',    [PUT_ADD] = 'E',     [PUT_REPLACE] = 'R',
                                 [PUT_APPEND] = 'A', [PUT_PREPEND] = 'P', [PUT_CAS] = 'S'};
    const ask_t *ask = &call->ask;
    char compare[32] = "";
    if (ask->mode == PUT_CAS)
        (void)snprintf(compare, sizeof(compare), " C%llu", (unsigned long long)ask->number);
    return snprintf(line, capacity, "ms %.*s %zu%s F%u T%d M%c%s%s c O%u\r\n", key->length, key->bytes,
                    ask->value_bytes, key->flag, ask->flags, ask->exptime, modes[ask->mode], compare,
                    ask->pinned ? " K" : "", call->id);
}

static int write_line(const call_t *call, char *line, size_t capacity)
{
    const ask_t *ask = &call->ask;
    name_t key = name_of(ask->key, ask->key_bytes);
    int bytes = key.length;
    switch (ask->kind) {
    case CALL_GET:
        if (ask->touch)
            return snprintf(line, capacity, "mg %.*s%s f c v T%d O%u\r\n", bytes, key.bytes, key.flag, ask->exptime,
                            call->id);
        return snprintf(line, capacity, "mg %.*s%s f c v O%u\r\n", bytes, key.bytes, key.flag, call->id);
    case CALL_PUT: return write_put(call, &key, line, capacity);
    case CALL_DELETE:
        return snprintf(line, capacity, "md %.*s%s%s O%u\r\n", bytes, key.bytes, key.flag, ask->pinned ? " K" : "",
                        call->id);
    case CALL_DELTA:
        return snprintf(line, capacity, "ma %.*s%s v D%llu M%c O%u\r\n", bytes, key.bytes, key.flag,
                        (unsigned long long)ask->number, ask->decrement ? 'D' : 'I', call->id);
    case CALL_TOUCH:
        return snprintf(line, capacity, "mg %.*s%s T%d O%u\r\n", bytes, key.bytes, key.flag, ask->exptime, call->id);
    default: return 0;
    }
}

/* One mg for each key, which answer with its place in the list, and a noop that ends them. */
static bool write_list(mc_server_t *server, const call_t *call)
{
    const key_list_t *list = &call->ask.list;
    char line[LINE_BYTES] = "";
    for (uint32_t i = 0; i < list->count; i++) {
        const vmc_key_t *bytes = &list->keys[list->index[i]];
        name_t key = name_of(bytes->bytes, bytes->length);
        int length = snprintf(line, sizeof(line), "mg %.*s%s f c v q O%u\r\n", key.length, key.bytes, key.flag, i);
        if (!stream_add(&server->out, line, (size_t)length))
            return false;
    }
    return stream_add(&server->out, "mn\r\n", 4);
}

bool socket_write(call_t *call)
{
    mc_server_t *server = call->server;
    char line[LINE_BYTES] = "";
    bool put = call->ask.kind == CALL_PUT, fits;
    if (server->out.end - server->out.at > OUT_MOST)
        return false;
    if (call->ask.kind == CALL_LIST) {
        fits = write_list(server, call);
    } else {
        fits = stream_add(&server->out, line, (size_t)write_line(call, line, sizeof(line)));
        if (put)
            fits = fits && stream_add(&server->out, call->ask.value, call->ask.value_bytes) &&
                   stream_add(&server->out, "\r\n", 2);
    }
    call_sent(call);
    if (!fits)
        server_break(server, "no memory to send a request");
    return fits;
}

/* ------------------------------------------------------------------------------------------ answers */

typedef struct line {
    char code[3];
    bool has_value, has_id;
    uint64_t value_bytes, id;
    message_answer_t answer;
} line_t;

static bool take_flag(line_t *line, text_t flag)
{
    uint64_t number = 0;
    char name = *flag.at;
    bool numeric = name == 'f' || name == 'c' || name == 'O';
    if (numeric && !number_u64(flag.at + 1, flag.length - 1, &number))
        return false;
    if (name == 'f')
        line->answer.client_flags = (uint32_t)number;
    else if (name == 'c')
        line->answer.cas = number;
    else if (name == 'O') {
        line->id = number;
        line->has_id = true;
    }
    return true;
}

static bool parse_line(text_t text, line_t *line)
{
    text_t code = text_word(&text), word;
    *line = (line_t){.has_value = text_is(code, "VA")};
    if (code.length != 2)
        return false;
    memcpy(line->code, code.at, 2);
    if (line->has_value) {
        word = text_word(&text);
        if (!number_u64(word.at, word.length, &line->value_bytes) || line->value_bytes > VALUE_MAX)
            return false;
    }
    for (word = text_word(&text); word.length > 0; word = text_word(&text))
        if (!take_flag(line, word))
            return false;
    return true;
}

static vmc_status_t status_of(const call_t *call, const char *code)
{
    if (strcmp(code, "HD") == 0 || strcmp(code, "VA") == 0)
        return VMC_OK;
    if (strcmp(code, "EN") == 0 || strcmp(code, "NF") == 0)
        return VMC_NOT_FOUND;
    if (strcmp(code, "EX") == 0)
        return VMC_EXISTS;
    if (strcmp(code, "NS") == 0)
        return call->ask.kind == CALL_PUT ? VMC_NOT_STORED : VMC_NOT_FOUND;
    return VMC_ERR_PROTOCOL;
}

static bool text_has(text_t text, const char *words)
{
    return memmem(text.at, text.length, words, strlen(words)) != NULL;
}

static bool starts(text_t text, const char *words)
{
    return text.length >= strlen(words) && memcmp(text.at, words, strlen(words)) == 0;
}

/* An answer without a number: an error. VMC_INPROGRESS: none that is known. */
static vmc_status_t error_of(text_t line)
{
    if (starts(line, "SERVER_ERROR"))
        return text_has(line, "too large") ? VMC_ERR_TOO_LARGE : VMC_ERR_SERVER_MEMORY;
    if (starts(line, "CLIENT_ERROR"))
        return text_has(line, "non-numeric") ? VMC_ERR_NON_NUMERIC : VMC_ERR_PROTOCOL;
    return VMC_INPROGRESS;
}

/* A value of the call is in the stream, whole. */
static void take_value(call_t *call, const line_t *line, const char *bytes)
{
    const key_list_t *list = &call->ask.list;
    size_t length = (size_t)line->value_bytes;
    vmc_value_t value = {.length = length, .flags = line->answer.client_flags, .cas = line->answer.cas};
    if (call->req == NULL)
        return;
    if (call->ask.kind == CALL_LIST)
        list->found(list->arg, list->index[line->id], bytes, &value);
    else if (call->ask.kind == CALL_DELTA)
        call->result = number_u64(bytes, length, &call->answer.number) ? VMC_OK : VMC_ERR_PROTOCOL;
    else if (length > call->ask.capacity)
        call->result = VMC_ERR_TRUNCATED;
    else if (length > 0)
        memcpy(call->ask.buffer, bytes, length);
    call->ask.value_bytes = length;
}

typedef enum taken { TAKEN, PARTIAL, WRONG } taken_t;

/* The line at the front of the stream, and its value. */
static taken_t take_answer(mc_server_t *server, call_t *call, text_t text)
{
    line_t line;
    bool list = call->ask.kind == CALL_LIST;
    vmc_status_t error = error_of(text);
    if (error != VMC_INPROGRESS) {
        if (list)
            call->result = error; /* of one key; the noop still comes */
        else
            call_end(call, error);
        return TAKEN;
    }
    if (!parse_line(text, &line))
        return WRONG;
    if (list && strcmp(line.code, "MN") == 0) {
        call_end(call, call->result);
        return TAKEN;
    }
    if (!line.has_id || (list ? !line.has_value || line.id >= call->ask.list.count : line.id != call->id))
        return WRONG;
    call->answer = line.answer;
    if (line.has_value) {
        stream_t *in = &server->in;
        if (in->end - in->at < line.value_bytes + 2)
            return PARTIAL;
        take_value(call, &line, in->bytes + in->at);
        in->at += (size_t)line.value_bytes + 2;
    }
    if (!list)
        call_end(call, call->result != VMC_OK ? call->result : status_of(call, line.code));
    return TAKEN;
}

bool socket_read(mc_server_t *server)
{
    text_t text;
    stream_t *in = &server->in;
    for (;;) {
        size_t before = in->at;
        if (!stream_line(in, &text))
            break;
        call_t *call = list_empty(&server->flying) ? NULL : container_of(server->flying.next, call_t, link);
        taken_t taken = call == NULL ? WRONG : take_answer(server, call, text);
        if (taken == WRONG)
            return false;
        if (taken == PARTIAL) {
            in->at = before; /* the line again, when its value is complete */
            break;
        }
        server->mc->counts.sockets++;
    }
    return true;
}
