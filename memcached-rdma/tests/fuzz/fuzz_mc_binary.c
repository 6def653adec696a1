/* SPDX-License-Identifier: Apache-2.0
 * fuzz_mc_binary.c - packets of the binary protocol. The input is a stream: packet follows packet, and values are passed over. What
 * a request refers to lies in its packet, the same packet gives the same request again, and a packet that is cut off waits. */
#include "fuzz.h"
#include "proto/binary.h"

static void check(const request_t *request, const char *packet, size_t length)
{
    require(request->packet.speaks);
    require(request->kind != REQUEST_ERROR || request->packet.status != BINARY_OK);
    require(!request->packet.ends || request->kind == REQUEST_ERROR);
    require(request->key.length <= KEY_MAX && request->value_bytes <= UINT32_MAX);
    if (request->key.length > 0)
        require(request->key.at >= packet && request->key.at + request->key.length <= packet + length);
    if (request->kind == REQUEST_PUT || request->kind == REQUEST_GET || request->kind == REQUEST_DELETE)
        require(request->key.length > 0);
    (void)fuzz_touch(request->key.at, request->key.length);
}

/* An answer has the length that its head says. */
static void answer(const request_t *request)
{
    reply_t reply = {0};
    const unsigned char *at;
    if (request->kind == REQUEST_ERROR)
        binary_error(&reply, &request->packet, (binary_status_t)request->packet.status);
    else
        binary_miss(&reply, &request->packet, request->key);
    at = (const unsigned char *)reply.bytes;
    require(reply.length >= BINARY_HEAD && at[0] == 0x81 && at[1] == request->packet.opcode);
    require(reply.length - BINARY_HEAD == ((size_t)at[10] << 8 | at[11]));
    reply_free(&reply);
}

/* Returns how many bytes are through; 0: the rest is no whole packet. */
static size_t parse(const char *at, size_t length)
{
    request_t request, again;
    char *copy = malloc(length);
    require(copy != NULL);
    memcpy(copy, at, length);
    size_t parsed = binary_parse(copy, length, &request);
    require(parsed <= length);
    if (parsed > 0) {
        check(&request, copy, parsed);
        answer(&request);
        require(binary_parse(copy, parsed, &again) == parsed && again.kind == request.kind &&
                again.value_bytes == request.value_bytes && again.number == request.number);
        require(request.kind == REQUEST_ERROR || request.kind == REQUEST_QUIT ||
                binary_parse(copy, parsed - 1, &again) == 0);
        parsed += request.value_bytes < length - parsed ? request.value_bytes : length - parsed;
    }
    free(copy);
    return parsed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data;
    for (size_t bytes = 1; size > 0 && bytes > 0; at += bytes, size -= bytes)
        bytes = parse(at, size);
    return 0;
}
