/* SPDX-License-Identifier: Apache-2.0
 * fuzz_mc_message.c - headers of messages, lists of keys, entries, hellos. The first byte says what the rest is. What is
 * accepted lies inside the input, and gives the same bytes when it is encoded again. */
#include "fuzz.h"
#include "proto/hello.h"
#include "proto/message.h"

static void try_request(const uint8_t *data, size_t size)
{
    size_t header = size < MESSAGE_HEAD + MESSAGE_KEY_INLINE ? size : MESSAGE_HEAD + MESSAGE_KEY_INLINE;
    uint8_t again[MESSAGE_HEAD + MESSAGE_KEY_INLINE];
    message_request_t message;
    request_t request;
    const char *key;
    if (!message_request_decode(data, header, &message, &key))
        return;
    require(message.op > 0 && message.op < MESSAGE_OPS && message.key_bytes <= KEY_MAX);
    require(key == NULL || (const uint8_t *)key + message.key_bytes == data + header);
    require(message_request_encode(&message, key, again) == header && memcmp(again, data, header) == 0);
    if (key == NULL || !message_to_request(&message, key, size - header, &request))
        return;
    require(request.key.length > 0 && request.key.length <= KEY_MAX && request.value_bytes <= VALUE_MAX);
    require(request.meta.binary != message_key_valid(request.key.at, request.key.length));
    require(request_has_value(&request) == (message.op == MESSAGE_PUT));
}

static void try_keys(const uint8_t *data, size_t size)
{
    text_t rest = {.at = (const char *)data, .length = size}, key;
    while (message_next_key(&rest, &key)) {
        require(key.length > 0 && key.length <= KEY_MAX && key.at + key.length == rest.at);
        (void)fuzz_touch(key.at, key.length);
    }
    require(rest.at + rest.length == (const char *)data + size);
}

static void try_answer(const uint8_t *data, size_t size)
{
    uint8_t again[MESSAGE_HEAD], head[MESSAGE_ENTRY];
    message_answer_t answer;
    message_entry_t entry;
    const char *value;
    if (message_answer_decode(data, size < MESSAGE_HEAD ? size : MESSAGE_HEAD, &answer)) {
        message_answer_encode(&answer, again);
        require(memcmp(again, data, MESSAGE_HEAD) == 0 && answer.code < MESSAGE_CODES);
    }
    text_t rest = {.at = (const char *)data, .length = size};
    for (const char *before = rest.at; message_next_entry(&rest, &entry, &value); before = rest.at) {
        message_entry_encode(&entry, head);
        require(memcmp(head, before, MESSAGE_ENTRY) == 0 && value + entry.value_bytes == rest.at);
        (void)fuzz_touch(value, entry.value_bytes);
    }
    require(rest.at + rest.length == (const char *)data + size);
}

static void try_hello(const uint8_t *data, size_t size)
{
    static char text[HELLO_TEXT_MAX];
    hello_client_t client, client_again;
    hello_server_t server, server_again;
    if (hello_client_decode((const char *)data, size, &client)) {
        size_t length = hello_client_encode(&client, text);
        require(hello_client_decode(text, length, &client_again) && client_again.user == client.user);
    }
    if (hello_server_decode((const char *)data, size, &server)) {
        require(server.address_bytes > 0 && server.address_bytes <= HELLO_ADDRESS_MAX &&
                server.key_bytes <= HELLO_KEY_MAX);
        size_t length = hello_server_encode(&server, text);
        require(hello_server_decode(text, length, &server_again) &&
                memcmp(server.address, server_again.address, server.address_bytes) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    switch (data[0] % 4) {
    case 0: try_request(data + 1, size - 1); break;
    case 1: try_keys(data + 1, size - 1); break;
    case 2: try_answer(data + 1, size - 1); break;
    default: try_hello(data + 1, size - 1);
    }
    return 0;
}
