/* SPDX-License-Identifier: Apache-2.0
 * hello.c - the hello line's content. */
#include "proto/hello.h"

#include <string.h>

#include "base/base64.h"
#include "base/endian.h"

#define CLIENT_BYTES 16u
#define SERVER_HEAD 32u
#define SERVER_MAX (SERVER_HEAD + HELLO_ADDRESS_MAX + HELLO_KEY_MAX)

_Static_assert(BASE64_PADDED(SERVER_MAX) <= HELLO_TEXT_MAX, "the largest answer fits its text");

size_t hello_client_encode(const hello_client_t *hello, char text[HELLO_TEXT_MAX])
{
    char bytes[CLIENT_BYTES] = {HELLO_VERSION};
    le_put_u32(bytes + 4, hello->user);
    le_put_u32(bytes + 8, hello->process);
    return base64_encode(bytes, sizeof(bytes), true, text);
}

bool hello_client_decode(const char *text, size_t length, hello_client_t *hello)
{
    char bytes[CLIENT_BYTES];
    size_t got;
    if (!base64_decode(text, length, true, bytes, sizeof(bytes), &got) || got != sizeof(bytes) ||
        le_get_u32(bytes) != HELLO_VERSION)
        return false;
    *hello = (hello_client_t){.user = le_get_u32(bytes + 4), .process = le_get_u32(bytes + 8)};
    return true;
}

size_t hello_server_encode(const hello_server_t *hello, char text[HELLO_TEXT_MAX])
{
    char bytes[SERVER_MAX] = {HELLO_VERSION, (char)hello->flags};
    le_put_u16(bytes + 2, (uint16_t)hello->address_bytes);
    bytes[4] = (char)hello->key_bytes;
    le_put_u64(bytes + 8, hello->instance);
    le_put_u32(bytes + 16, hello->user);
    le_put_u32(bytes + 20, hello->lease_ms);
    le_put_u64(bytes + 24, hello->item_max);
    memcpy(bytes + SERVER_HEAD, hello->address, hello->address_bytes);
    memcpy(bytes + SERVER_HEAD + hello->address_bytes, hello->key, hello->key_bytes);
    return base64_encode(bytes, SERVER_HEAD + hello->address_bytes + hello->key_bytes, true, text);
}

bool hello_server_decode(const char *text, size_t length, hello_server_t *hello)
{
    char bytes[SERVER_MAX];
    size_t got;
    if (!base64_decode(text, length, true, bytes, sizeof(bytes), &got) || got < SERVER_HEAD ||
        bytes[0] != (char)HELLO_VERSION)
        return false;
    *hello = (hello_server_t){.flags = (uint8_t)bytes[1],
                              .address_bytes = le_get_u16(bytes + 2),
                              .key_bytes = (uint8_t)bytes[4],
                              .instance = le_get_u64(bytes + 8),
                              .user = le_get_u32(bytes + 16),
                              .lease_ms = le_get_u32(bytes + 20),
                              .item_max = le_get_u64(bytes + 24)};
    if (hello->address_bytes == 0 || hello->address_bytes > HELLO_ADDRESS_MAX || hello->key_bytes > HELLO_KEY_MAX ||
        got != SERVER_HEAD + hello->address_bytes + hello->key_bytes)
        return false;
    memcpy(hello->address, bytes + SERVER_HEAD, hello->address_bytes);
    memcpy(hello->key, bytes + SERVER_HEAD + hello->address_bytes, hello->key_bytes);
    return true;
}
