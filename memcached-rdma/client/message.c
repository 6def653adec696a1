/* SPDX-License-Identifier: Apache-2.0
 * message.c - requests and answers as messages of the core. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "client/mc.h"

/* ----------------------------------------------------------------------------------------- requests */

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

/* ------------------------------------------------------------------------------------------ answers */

static vmc_status_t status_of(uint8_t code)
{
    static const vmc_status_t statuses[MESSAGE_CODES] = {[MESSAGE_OK] = VMC_OK,
                                                         [MESSAGE_NOT_FOUND] = VMC_NOT_FOUND,
                                                         [MESSAGE_EXISTS] = VMC_EXISTS,
                                                         [MESSAGE_NOT_STORED] = VMC_NOT_STORED,
                                                         [MESSAGE_TOO_LARGE] = VMC_ERR_TOO_LARGE,
                                                         [MESSAGE_NO_MEMORY] = VMC_ERR_SERVER_MEMORY,
                                                         [MESSAGE_NON_NUMERIC] = VMC_ERR_NON_NUMERIC,
                                                         [MESSAGE_INVALID] = VMC_ERR_PROTOCOL};
    return statuses[code];
}

static void drop(const vbn_am_message_t *message)
{
    if (message->remote != NULL)
        vbn_am_drop(message->remote);
}

/* Ends the call; the next ones may go. */
static void finish(call_t *call, vmc_status_t status)
{
    mc_server_t *server = call->server;
    call_end(call, status);
    server_pump(server);
}

static void visit_entries(call_t *call, const char *data, size_t length)
{
    const key_list_t *list = &call->ask.list;
    text_t rest = {.at = data, .length = length};
    message_entry_t entry;
    const char *bytes;
    while (call->req != NULL && message_next_entry(&rest, &entry, &bytes)) {
        uint64_t at = (uint64_t)call->list_done + entry.index;
        vmc_value_t value = {.length = entry.value_bytes, .flags = entry.client_flags, .cas = entry.cas};
        if (at < list->count && entry.index < call->answer.number)
            list->found(list->arg, list->index[at], bytes, &value);
    }
    uint64_t left = list->count - call->list_done;
    call->list_done += (uint32_t)(call->answer.number < left ? call->answer.number : left);
    if (call->answer.number == 0 || call->list_done == list->count) {
        finish(call, call->answer.number == 0 ? VMC_ERR_PROTOCOL : VMC_OK);
        return;
    }
    call_again(call);
    server_pump(call->server);
}

static void on_pulled(vbn_op_t *op, vbn_status_t status, size_t length)
{
    call_t *call = container_of(op, call_t, pull);
    (void)length;
    call->pulling = false;
    if (!call->flying) {
        call_op_done(call); /* it ended early */
    } else if (status != VBN_OK) {
        finish(call, VMC_ERR_SERVER_DEAD);
    } else if (call->ask.kind == CALL_LIST) {
        char *data = call->list_data;
        call->list_data = NULL;
        visit_entries(call, data, call->list_bytes);
        free(data);
    } else {
        finish(call, VMC_OK);
    }
}

static void pull(call_t *call, vbn_am_remote_t *remote, void *to, size_t bytes)
{
    call->iov[0] = (struct iovec){.iov_base = to, .iov_len = bytes};
    call->pull.done = on_pulled;
    call->pulling = true;
    vbn_status_t status = vbn_am_pull(remote, call->iov, 1, &call->pull);
    if (status == VBN_INPROGRESS)
        return;
    if (status < 0)
        vbn_am_drop(remote);
    on_pulled(&call->pull, status, bytes);
}

static void take_value(call_t *call, const vbn_am_message_t *message)
{
    call->ask.value_bytes = message->length;
    if (call->req == NULL || message->length > call->ask.capacity) {
        drop(message);
        finish(call, VMC_ERR_TRUNCATED);
    } else if (message->remote != NULL) {
        pull(call, message->remote, call->ask.buffer, message->length);
    } else {
        if (message->length > 0)
            memcpy(call->ask.buffer, message->data, message->length);
        finish(call, VMC_OK);
    }
}

static void take_entries(call_t *call, const vbn_am_message_t *message)
{
    if (message->remote == NULL) {
        visit_entries(call, message->data, message->length);
        return;
    }
    call->list_data = call->req == NULL ? NULL : malloc(message->length);
    call->list_bytes = message->length;
    if (call->list_data != NULL) {
        pull(call, message->remote, call->list_data, message->length);
        return;
    }
    vbn_am_drop(message->remote);
    finish(call, VMC_ERR_NO_MEMORY);
}

/* The first answer: what the server allows. */
static void take_knock(mc_server_t *server, const message_answer_t *answer, const vbn_am_message_t *message)
{
    static const char *const whys[MESSAGE_READS] = {"", "gets are one-sided", "one-sided reads are off at the server",
                                                    "", "one-sided reads go over shared memory only"};
    static const char user_format[] =
        "one-sided reads are for the server's own user, %u, and this process runs as %u; to allow them "
        "to all with the key, start the server with -o verbena_onesided=on";
    server_say(server, "%s", answer->number < MESSAGE_READS ? whys[answer->number] : "");
    if (answer->number == MESSAGE_READS_USER)
        server_say(server, user_format, server->hello.user, (unsigned)geteuid());
    if (server->mc->onesided_off)
        server_say(server, "onesided=off");
    else if (answer->number == MESSAGE_READS_ALLOWED && message->data != NULL && message->length <= VBN_KEY_MAX)
        onesided_open(server, message->data, message->length);
    server_joined(server);
}

static void on_answer(void *arg, const vbn_am_message_t *message)
{
    net_t *net = arg;
    message_answer_t answer;
    bool right = message_answer_decode(message->header, message->header_length, &answer);
    call_t *call = right ? call_of(net->mc, answer.id) : NULL;
    if (call == NULL || call->pulling || call->server->peer != message->peer) {
        net->mc->counts.late++;
        drop(message);
        return;
    }
    call->answer = answer;
    net->mc->counts.messages++;
    if (answer.code == MESSAGE_OK && call->ask.kind == CALL_GET) {
        take_value(call, message);
    } else if (answer.code == MESSAGE_OK && call->ask.kind == CALL_LIST) {
        take_entries(call, message);
    } else {
        bool knocked = call->ask.kind == CALL_NOOP;
        mc_server_t *server = call->server;
        finish(call, status_of(answer.code));
        if (knocked)
            take_knock(server, &answer, message);
        drop(message);
    }
}

void message_listen(net_t *net)
{
    (void)vbn_am_handler(net->worker, MESSAGE_ANSWER, on_answer, net);
}

void message_lost(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    mc_server_t *server = arg;
    (void)status;
    if (server->peer != peer)
        return;
    if (server->state == SERVER_JOINING) {
        server_say(server, "the core cannot connect: %.220s", text);
        server->plain_ns = os_now_ns() + PLAIN_NS;
        join_end(server);
        join_socket(server);
        return;
    }
    server_break(server, "%.250s", text);
    server_pump(server);
}
