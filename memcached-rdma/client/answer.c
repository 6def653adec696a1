/* SPDX-License-Identifier: Apache-2.0
 * answer.c - answers as messages of the core, and the loss of a server that sends them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "client/mc.h"

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
