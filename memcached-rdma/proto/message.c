/* SPDX-License-Identifier: Apache-2.0
 * message.c - encoding and decoding of message headers, lists of keys and entries. */
#include "proto/message.h"

#include <string.h>

#include "base/endian.h"

/* ---------------------------------------------------------------------------------------- requests */

size_t message_request_encode(const message_request_t *request, const char *key, uint8_t *header)
{
    header[0] = request->op;
    header[1] = request->flags;
    header[2] = request->mode;
    header[3] = request->key_bytes;
    le_put_u32(header + 4, request->id);
    le_put_u32(header + 8, request->client_flags);
    le_put_u32(header + 12, (uint32_t)request->exptime);
    le_put_u64(header + 16, request->number);
    le_put_u64(header + 24, request->initial);
    if (key == NULL)
        return MESSAGE_HEAD;
    memcpy(header + MESSAGE_HEAD, key, request->key_bytes);
    return MESSAGE_HEAD + (size_t)request->key_bytes;
}

/* Which flags an op may have. */
static unsigned flags_of(uint8_t op)
{
    static const uint8_t flags[MESSAGE_OPS] = {
        [MESSAGE_GET] = MESSAGE_HAS_TTL | MESSAGE_KEY_IN_DATA,
        [MESSAGE_GET_LIST] = MESSAGE_HAS_TTL,
        [MESSAGE_PUT] = MESSAGE_HAS_COMPARE | MESSAGE_KEY_IN_DATA | MESSAGE_PINNED,
        [MESSAGE_DELETE] = MESSAGE_HAS_COMPARE | MESSAGE_KEY_IN_DATA | MESSAGE_PINNED,
        [MESSAGE_DELTA] = MESSAGE_HAS_INITIAL | MESSAGE_DECREMENT | MESSAGE_KEY_IN_DATA,
        [MESSAGE_TOUCH] = MESSAGE_KEY_IN_DATA,
    };
    return flags[op];
}

bool message_request_decode(const void *header, size_t length, message_request_t *request, const char **key_p)
{
    const uint8_t *at = header;
    if (length < MESSAGE_HEAD)
        return false;
    *request = (message_request_t){.op = at[0],
                                   .flags = at[1],
                                   .mode = at[2],
                                   .key_bytes = at[3],
                                   .id = le_get_u32(at + 4),
                                   .client_flags = le_get_u32(at + 8),
                                   .exptime = (int32_t)le_get_u32(at + 12),
                                   .number = le_get_u64(at + 16),
                                   .initial = le_get_u64(at + 24)};
    *key_p = NULL;
    if (request->op == 0 || request->op >= MESSAGE_OPS || (request->flags & ~flags_of(request->op)) != 0 ||
        request->mode > PUT_CAS || request->key_bytes > KEY_MAX)
        return false;
    if (request->op == MESSAGE_GET_LIST)
        return length == MESSAGE_HEAD && request->key_bytes == 0 && request->number > 0 &&
               request->number <= MESSAGE_KEYS_MAX;
    if (request->op == MESSAGE_NOOP)
        return length == MESSAGE_HEAD && request->key_bytes == 0;
    if (request->key_bytes == 0)
        return false;
    if ((request->flags & MESSAGE_KEY_IN_DATA) != 0)
        return length == MESSAGE_HEAD;
    *key_p = (const char *)at + MESSAGE_HEAD;
    return request->key_bytes <= MESSAGE_KEY_INLINE && length == MESSAGE_HEAD + (size_t)request->key_bytes;
}

bool message_key_valid(const char *key, size_t length)
{
    if (length == 0 || length > KEY_MAX)
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)key[i] <= ' ' || key[i] == 127)
            return false;
    return true;
}

static const request_kind_t kinds[MESSAGE_OPS] = {
    [MESSAGE_GET] = REQUEST_META_GET,       [MESSAGE_GET_LIST] = REQUEST_META_GET, [MESSAGE_PUT] = REQUEST_META_PUT,
    [MESSAGE_DELETE] = REQUEST_META_DELETE, [MESSAGE_DELTA] = REQUEST_META_DELTA,  [MESSAGE_TOUCH] = REQUEST_TOUCH,
    [MESSAGE_NOOP] = REQUEST_META_NOOP};

bool message_to_request(const message_request_t *message, const char *key, size_t bytes, request_t *request)
{
    meta_t *meta = &request->meta;
    bool list = message->op == MESSAGE_GET_LIST;
    memset(request, 0, offsetof(request_t, meta));
    meta->count = 0;
    memset(&meta->shown_key, 0, sizeof(*meta) - offsetof(meta_t, shown_key));
    request->kind = kinds[message->op];
    request->key = (text_t){.at = key, .length = message->key_bytes};
    request->client_flags = message->client_flags;
    request->exptime = message->exptime;
    request->decrement = (message->flags & MESSAGE_DECREMENT) != 0;
    request->mode = (put_mode_t)message->mode;
    request->value_bytes = message->op == MESSAGE_PUT ? bytes : 0;
    meta->value = true;
    meta->pinned = (message->flags & MESSAGE_PINNED) != 0;
    meta->ttl = (meta_seconds_t){message->exptime, (message->flags & MESSAGE_HAS_TTL) != 0};
    meta->vivify = (meta_seconds_t){message->exptime, (message->flags & MESSAGE_HAS_INITIAL) != 0};
    meta->compare.given = (message->flags & MESSAGE_HAS_COMPARE) != 0;
    meta->compare.value = meta->compare.given ? message->number : 0;
    meta->delta.value = message->number;
    meta->initial.value = message->initial;
    if (request->mode == PUT_CAS && !meta->compare.given)
        return false;
    bool takes_data = message->op == MESSAGE_PUT || list;
    bool has_key = !list && message->op != MESSAGE_NOOP;
    meta->binary = has_key && !message_key_valid(key, message->key_bytes);
    return (bytes == 0 || takes_data) && bytes <= VALUE_MAX && message->key_bytes <= KEY_MAX;
}

bool message_next_key(text_t *rest, text_t *key_p)
{
    if (rest->length == 0)
        return false;
    size_t length = (unsigned char)*rest->at;
    if (length == 0 || length > KEY_MAX || length >= rest->length)
        return false;
    *key_p = (text_t){.at = rest->at + 1, .length = length};
    rest->at += 1 + length;
    rest->length -= 1 + length;
    return true;
}

/* ----------------------------------------------------------------------------------------- answers */

void message_answer_encode(const message_answer_t *answer, uint8_t header[MESSAGE_HEAD])
{
    le_put_u32(header, answer->id);
    le_put_u32(header + 4, answer->code);
    le_put_u32(header + 8, answer->client_flags);
    le_put_u32(header + 12, answer->ttl);
    le_put_u64(header + 16, answer->cas);
    le_put_u64(header + 24, answer->number);
}

bool message_answer_decode(const void *header, size_t length, message_answer_t *answer)
{
    const uint8_t *at = header;
    if (length != MESSAGE_HEAD || le_get_u32(at + 4) >= MESSAGE_CODES)
        return false;
    *answer = (message_answer_t){.id = le_get_u32(at),
                                 .code = at[4],
                                 .client_flags = le_get_u32(at + 8),
                                 .ttl = le_get_u32(at + 12),
                                 .cas = le_get_u64(at + 16),
                                 .number = le_get_u64(at + 24)};
    return true;
}

void message_entry_encode(const message_entry_t *entry, uint8_t head[MESSAGE_ENTRY])
{
    le_put_u32(head, entry->index);
    le_put_u32(head + 4, entry->client_flags);
    le_put_u64(head + 8, entry->cas);
    le_put_u32(head + 16, entry->value_bytes);
    le_put_u32(head + 20, entry->ttl);
}

bool message_next_entry(text_t *rest, message_entry_t *entry, const char **value_p)
{
    const char *at = rest->at;
    if (rest->length < MESSAGE_ENTRY)
        return false;
    *entry = (message_entry_t){.index = le_get_u32(at),
                               .client_flags = le_get_u32(at + 4),
                               .cas = le_get_u64(at + 8),
                               .value_bytes = le_get_u32(at + 16),
                               .ttl = le_get_u32(at + 20)};
    if (entry->value_bytes > rest->length - MESSAGE_ENTRY)
        return false;
    *value_p = at + MESSAGE_ENTRY;
    rest->at += MESSAGE_ENTRY + entry->value_bytes;
    rest->length -= MESSAGE_ENTRY + entry->value_bytes;
    return true;
}
