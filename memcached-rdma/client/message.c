/* SPDX-License-Identifier: Apache-2.0
 * message.c - requests as messages of the core. */
#include <string.h>

#include "client/mc.h"

static bool same_key(const call_t *a, const call_t *b)
{
    return a->ask.key_bytes == b->ask.key_bytes && memcmp(a->key, b->key, a->ask.key_bytes) == 0;
}

/* A value that the server fetches is stored later than requests behind it would be carried out. */
bool message_may_send(const call_t *call)
{
    const mc_server_t *server = call->server;
    if (server->flying_count >= FLYING_MAX)
        return false;
    if (server->announced == 0)
        return true;
    list_for_each(link, &server->flying) {
        const call_t *other = container_of(link, call_t, link);
        if (other->announced && (call->ask.kind == CALL_LIST || same_key(call, other)))
            return false;
    }
    return true;
}

/* As many keys of the list, from the first that is not answered on, as a message takes. */
static uint32_t write_keys(call_t *call, size_t *bytes_p)
{
    const key_list_t *list = &call->ask.list;
    uint32_t count = 0;
    size_t used = 0;
    for (uint32_t i = call->list_done; i < list->count && count < MESSAGE_KEYS_MAX; i++, count++) {
        const vmc_key_t *key = &list->keys[list->index[i]];
        if (used + 1 + key->length > MESSAGE_KEYS_BYTES)
            break;
        call->copy[used] = (char)key->length;
        memcpy(call->copy + used + 1, key->bytes, key->length);
        used += 1 + key->length;
    }
    *bytes_p = used;
    return count;
}

static message_request_t describe(const call_t *call)
{
    static const uint8_t ops[] = {
        [CALL_GET] = MESSAGE_GET,       [CALL_LIST] = MESSAGE_GET_LIST, [CALL_PUT] = MESSAGE_PUT,
        [CALL_DELETE] = MESSAGE_DELETE, [CALL_DELTA] = MESSAGE_DELTA,   [CALL_TOUCH] = MESSAGE_TOUCH,
        [CALL_NOOP] = MESSAGE_NOOP};
    const ask_t *ask = &call->ask;
    message_request_t request = {.op = ops[ask->kind],
                                 .id = call->id,
                                 .exptime = ask->exptime,
                                 .number = ask->number,
                                 .key_bytes = (uint8_t)ask->key_bytes};
    if (ask->kind == CALL_PUT) {
        request.mode = (uint8_t)ask->mode;
        request.client_flags = ask->flags;
        request.flags = ask->mode == PUT_CAS ? MESSAGE_HAS_COMPARE : 0;
    }
    if (ask->kind == CALL_GET && ask->touch)
        request.flags |= MESSAGE_HAS_TTL;
    if (ask->pinned)
        request.flags |= MESSAGE_PINNED;
    if (ask->decrement)
        request.flags |= MESSAGE_DECREMENT;
    if (ask->key_bytes > MESSAGE_KEY_INLINE)
        request.flags |= MESSAGE_KEY_IN_DATA;
    return request;
}

static void on_sent(vbn_op_t *op, vbn_status_t status, size_t length)
{
    call_t *call = container_of(op, call_t, send);
    (void)status; /* a failure is that of the peer */
    (void)length;
    call->sending = false;
    call_op_done(call);
}

void message_send(call_t *call)
{
    uint8_t header[MESSAGE_HEAD + MESSAGE_KEY_INLINE];
    message_request_t request = describe(call);
    size_t count = 0, bytes;
    if (call->ask.kind == CALL_LIST) {
        request.number = write_keys(call, &bytes);
        call->iov[count++] = (struct iovec){.iov_base = call->copy, .iov_len = bytes};
    } else if ((request.flags & MESSAGE_KEY_IN_DATA) != 0) {
        call->iov[count++] = (struct iovec){.iov_base = call->key, .iov_len = call->ask.key_bytes};
    }
    bool put = call->ask.kind == CALL_PUT;
    if (put && call->ask.value_bytes > 0)
        call->iov[count++] = (struct iovec){.iov_base = (void *)(uintptr_t)call->ask.value,
                                            .iov_len = call->ask.value_bytes};
    const char *key = (request.flags & MESSAGE_KEY_IN_DATA) != 0 || call->ask.key_bytes == 0 ? NULL : call->key;
    size_t length = message_request_encode(&request, key, header);
    call_sent(call);
    call->send.done = on_sent;
    vbn_status_t status = vbn_am_send(call->server->peer, MESSAGE_REQUEST, header, length, call->iov, count,
                                      VBN_SEND_PRIVATE, &call->send);
    call->sending = status == VBN_INPROGRESS;
    call->announced = call->sending && put && call->ask.value_bytes > 0;
    call->server->announced += call->announced;
    if (status < 0)
        server_break(call->server, "cannot send: %.240s", vbn_error_text());
}

bool message_knock(mc_server_t *server)
{
    call_t *call = call_new(server->mc, server, NULL);
    if (call == NULL)
        return false;
    call->ask = (ask_t){.kind = CALL_NOOP};
    message_send(call);
    return true;
}
