/* SPDX-License-Identifier: Apache-2.0
 * call.c - requests that come as messages: the value is fetched into the new item, the answer is sent from where it lies. */
#include "server/call.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/perform.h"

#define LIST_PENDING_MAX TURN_BYTES /* bytes of one answer to a list of keys; the client asks again for the others */
#define LIST_KEYS_MAX (TURN_BYTES / TURN_KEY_BYTES)
#define LEASE_NS_PER_BYTE 16u  /* longer leases for large values: 64 MB/s */
#define SPARE_MAX 64u          /* calls kept by a worker */
#define REPLY_KEPT (64u << 10) /* bytes of a kept call's buffer */

static void on_loaded(loads_t *loads);

/* ------------------------------------------------------------------------------------- life of calls */

static call_t *call_get(native_t *native, session_t *session)
{
    list_link_t *link = list_pop(&native->spare);
    call_t *call = link != NULL ? container_of(link, call_t, link) : calloc(1, sizeof(*call));
    if (call == NULL)
        return NULL;
    native->spare_count -= link != NULL;
    list_init(&call->link);
    call->native = native;
    call->session = session;
    call->answer = (message_answer_t){.code = MESSAGE_OK};
    call->loads = (loads_t){.worker = native->worker, .ready = on_loaded};
    call->commits = false;
    session->calls++;
    return call;
}

void call_free(call_t *call)
{
    reply_free(&call->reply);
    free(call);
}

/* The end of a call: gives back everything it holds. */
static void call_put(call_t *call)
{
    native_t *native = call->native;
    list_remove(&call->link);
    reply_sent(&call->reply, call->reply.pending, exec_piece_done); /* ends the pins */
    loads_clear(&call->loads);
    free(call->more);
    free(call->data);
    call->more = NULL;
    call->data = NULL;
    session_put_call(call->session);
    if (native->spare_count >= SPARE_MAX || call->reply.capacity > REPLY_KEPT || call->reply.failed) {
        call_free(call);
        return;
    }
    native->spare_count++;
    list_prepend(&native->spare, &call->link);
}

/* The call waits for its operation, at most for the lease (N1). */
static void call_wait(call_t *call, uint64_t bytes)
{
    native_t *native = call->native;
    uint64_t lease = (uint64_t)native->worker->server->settings.lease_ms * 1000000 + bytes * LEASE_NS_PER_BYTE;
    call->deadline_ns = native_clock(native) + lease;
    list_append(&native->waiting, &call->link);
}

/* ---------------------------------------------------------------------------------------- answering */

static void on_sent(vbn_op_t *op, vbn_status_t status, size_t length)
{
    (void)status; /* a failure means that the client is gone */
    (void)length;
    call_put(container_of(op, call_t, op));
}

/* The data of the answer as a list; NULL: no memory. */
static struct iovec *data_of(call_t *call, int *count_p)
{
    unsigned most = 2 * call->reply.piece_count + 1;
    struct iovec *iov = call->iov;
    if (most > CALL_PIECES)
        iov = call->more = malloc(most * sizeof(*iov));
    if (iov != NULL)
        *count_p = reply_iov(&call->reply, iov, (int)most);
    return iov;
}

static void call_answer(call_t *call)
{
    uint8_t header[MESSAGE_HEAD];
    int count = 0;
    const struct iovec *iov = call->reply.failed ? NULL : data_of(call, &count);
    if (iov == NULL)
        call->answer.code = MESSAGE_NO_MEMORY;
    call->answer.id = call->message.id;
    message_answer_encode(&call->answer, header);
    call->op.done = on_sent;
    vbn_status_t status = VBN_ERR_PEER_LOST;
    unsigned flags = call->session->reads ? 0 : VBN_SEND_PRIVATE;
    if (call->session->peer != NULL)
        status = vbn_am_send(call->session->peer, MESSAGE_ANSWER, header, sizeof(header), iov, (size_t)count, flags,
                             &call->op);
    if (status == VBN_INPROGRESS)
        call_wait(call, call->reply.pending);
    else
        call_put(call);
}

static uint8_t code_of(store_status_t status)
{
    switch (status) {
    case STORE_OK: return MESSAGE_OK;
    case STORE_NOT_FOUND: return MESSAGE_NOT_FOUND;
    case STORE_EXISTS: return MESSAGE_EXISTS;
    case STORE_TOO_LARGE: return MESSAGE_TOO_LARGE;
    case STORE_PINS_FULL: /* of a piece for a pinned item */
    case STORE_NO_MEMORY: return MESSAGE_NO_MEMORY;
    case STORE_NON_NUMERIC: return MESSAGE_NON_NUMERIC;
    default: return MESSAGE_NOT_STORED;
    }
}

static void answer_code(call_t *call, uint8_t code)
{
    call->answer.code = code;
    call_answer(call);
}

static uint64_t shown_cas(const call_t *call, uint64_t cas)
{
    return call->native->worker->server->settings.cas ? cas : 0;
}

static uint32_t ttl_of(uint32_t expiry, uint32_t now)
{
    return expiry == 0 ? MESSAGE_FOREVER : expiry > now ? expiry - now : 0;
}

/* --------------------------------------------------------------------------------------------- get */

static void add_value(call_t *call, const store_hit_t *hit)
{
    store_pin_t pin;
    if (hit->value_bytes <= COPIED_VALUE_MAX || hit->on_disk) {
        reply_bytes(&call->reply, hit->value, hit->value_bytes);
        return;
    }
    store_pin(hit, &pin);
    if (!reply_piece(&call->reply, hit->value, hit->value_bytes, pin.shard, pin.extent))
        store_pin_undo(hit); /* no memory: the answer says so */
}

static void show_value(void *arg, const store_hit_t *hit)
{
    call_t *call = arg;
    call->answer.client_flags = hit->client_flags;
    call->answer.cas = shown_cas(call, hit->cas);
    call->answer.ttl = ttl_of(hit->touched, hit->now);
    add_value(call, hit);
}

static bool run_get(call_t *call, const request_t *request)
{
    const server_t *server = call->native->worker->server;
    store_status_t status = perform_get(server, &call->loads, request, perform_expiry(server, request), request->key,
                                        show_value, call);
    if (status != STORE_ON_DISK)
        answer_code(call, code_of(status));
    return status != STORE_ON_DISK;
}

/* An entry of a list's answer; answer.number counts the keys that are done. */
static void show_entry(void *arg, const store_hit_t *hit)
{
    call_t *call = arg;
    uint8_t head[MESSAGE_ENTRY];
    message_entry_t entry = {.index = (uint32_t)call->answer.number,
                             .client_flags = hit->client_flags,
                             .cas = shown_cas(call, hit->cas),
                             .value_bytes = hit->value_bytes,
                             .ttl = ttl_of(hit->touched, hit->now)};
    message_entry_encode(&entry, head);
    reply_bytes(&call->reply, head, sizeof(head));
    add_value(call, hit);
}

static bool list_is_whole(text_t keys, uint64_t count)
{
    text_t key;
    while (message_next_key(&keys, &key))
        count--;
    return count == 0 && keys.length == 0;
}

/* A key whose value is on disk: those behind it are read with it. */
static void look_ahead(call_t *call, text_t keys)
{
    text_t key;
    while (loads_have_place(&call->loads) && message_next_key(&keys, &key))
        perform_look(call->native->worker->server, &call->loads, key);
}

/* When it runs again, answer.number keys are done. */
static bool run_list(call_t *call, const request_t *request, text_t keys)
{
    const server_t *server = call->native->worker->server;
    perform_expiry_t expiry = perform_expiry(server, request);
    text_t key;
    if (!list_is_whole(keys, call->message.number)) {
        answer_code(call, MESSAGE_INVALID);
        return true;
    }
    for (uint64_t i = 0; i < call->answer.number; i++)
        (void)message_next_key(&keys, &key);
    while (call->reply.pending < LIST_PENDING_MAX && call->answer.number < LIST_KEYS_MAX &&
           message_next_key(&keys, &key)) {
        if (perform_get(server, &call->loads, request, expiry, key, show_entry, call) == STORE_ON_DISK) {
            look_ahead(call, keys);
            return false;
        }
        call->answer.number++;
    }
    call_answer(call);
    return true;
}

/* ------------------------------------------------------------------------------------------ others */

static bool commit(call_t *call, const request_t *request)
{
    uint64_t cas;
    store_status_t status = perform_commit(call->native->worker->server, &call->loads, request, &call->draft, &cas);
    call->commits = status == STORE_ON_DISK;
    if (call->commits)
        return false;
    call->answer.cas = shown_cas(call, cas);
    answer_code(call, code_of(status));
    return true;
}

static bool run_put(call_t *call, const request_t *request, const char *value)
{
    if (call->commits)
        return commit(call, request);
    store_status_t status = perform_begin(call->native->worker->server, request, &call->draft);
    if (status != STORE_OK) {
        answer_code(call, code_of(status));
        return true;
    }
    if (request->value_bytes > 0)
        memcpy(call->draft.value, value, request->value_bytes);
    return commit(call, request);
}

static bool run_delta(call_t *call, const request_t *request)
{
    store_number_t number;
    store_status_t status = perform_delta(call->native->worker->server, &call->loads, request, &number);
    if (status == STORE_ON_DISK)
        return false;
    call->answer.number = number.value;
    call->answer.cas = shown_cas(call, number.cas);
    answer_code(call, code_of(status));
    return true;
}

/* The kernel says that the client runs as the server's user. What the client says of itself is no proof, and of one that came
 * by another transport than shared memory nobody knows it. */
static bool is_same_user(const session_t *session)
{
    uint32_t user;
    return session->peer != NULL && vbn_peer_host_user(session->peer, &user) == VBN_OK && user == (uint32_t)geteuid();
}

/* The first request of a client: may it read one-sided? */
static void run_noop(call_t *call)
{
    const server_t *server = call->native->worker->server;
    uint8_t key[VBN_KEY_MAX];
    size_t bytes = server->settings.onesided == ONESIDED_OFF ? 0 : memory_page_key(server, key);
    session_t *session = call->session;
    bool local = session->counter == &call->native->worker->counters.clients_shm;
    bool allowed = bytes > 0 && (server->settings.onesided == ONESIDED_ON || is_same_user(session));
    call->answer.number = bytes == 0 ? MESSAGE_READS_OFF : local ? MESSAGE_READS_USER : MESSAGE_READS_HOST;
    if (allowed && local) {
        call->answer.number = MESSAGE_READS_ALLOWED;
        reply_bytes(&call->reply, key, bytes);
        if (!session->reads)
            count(&call->native->worker->counters.readers, 1);
    }
    session->reads = allowed; /* then its device, too, may fetch large values from where they lie */
    call_answer(call);
}

/* False: it needs what is on disk, and runs again. */
static bool run_op(call_t *call, const request_t *request, const char *data, size_t length)
{
    const server_t *server = call->native->worker->server;
    switch (call->message.op) {
    case MESSAGE_NOOP: run_noop(call); return true;
    case MESSAGE_GET: return run_get(call, request);
    case MESSAGE_GET_LIST: return run_list(call, request, (text_t){.at = data, .length = length});
    case MESSAGE_PUT: return run_put(call, request, data);
    case MESSAGE_DELETE: answer_code(call, code_of(perform_delete(server, request))); return true;
    case MESSAGE_DELTA: return run_delta(call, request);
    default: answer_code(call, code_of(perform_touch(server, request))); return true;
    }
}

/* Key and data are kept until the call runs again. The data of a list are its keys; a value is in its draft. False: no memory. */
static bool keep(call_t *call, const char *key, const char *data, size_t length)
{
    size_t key_bytes = key == NULL ? 0 : call->message.key_bytes, rest = call->commits ? 0 : length;
    if (call->data == NULL) {
        call->data = malloc(key_bytes + rest + 1);
        if (call->data == NULL)
            return false;
        if (key_bytes > 0)
            memcpy(call->data, key, key_bytes);
        if (rest > 0)
            memcpy(call->data + key_bytes, data, rest);
        key = key == NULL ? NULL : call->data;
        data = call->data + key_bytes;
    }
    call->key = key;
    call->rest = data;
    call->rest_bytes = length;
    return true;
}

/* Runs with key and data until it is answered, or waits for the disk. */
static void run_with(call_t *call, const char *key, const char *data, size_t length)
{
    request_t request;
    bool has_key = call->message.op != MESSAGE_GET_LIST && call->message.op != MESSAGE_NOOP;
    if ((key == NULL && has_key) || !message_to_request(&call->message, key, length, &request)) {
        answer_code(call, MESSAGE_INVALID);
        return;
    }
    while (!run_op(call, &request, data, length)) {
        if (call->key == NULL && call->rest == NULL && !keep(call, key, data, length)) {
            if (call->commits)
                store_abandon(&call->draft);
            answer_code(call, MESSAGE_NO_MEMORY);
            return;
        }
        if (!loads_begin(&call->loads))
            return; /* on_loaded goes on */
    }
}

static void on_loaded(loads_t *loads)
{
    call_t *call = container_of(loads, call_t, loads);
    native_wake(call->native); /* the core has work, and its descriptor does not say so */
    run_with(call, call->key, call->rest, call->rest_bytes);
}

/* A request all of whose data is here. */
static void run(call_t *call, const char *key, const char *data, size_t length)
{
    const message_request_t *message = &call->message;
    if ((message->flags & MESSAGE_KEY_IN_DATA) != 0 && length >= message->key_bytes) {
        key = data;
        data += message->key_bytes;
        length -= message->key_bytes;
    }
    call->key = call->rest = NULL;
    run_with(call, key, data, length);
}

/* ---------------------------------------------------------------------------------- announced values */

/* The value is in its item, or the client is gone. */
static void on_value(vbn_op_t *op, vbn_status_t status, size_t length)
{
    call_t *call = container_of(op, call_t, op);
    (void)length;
    list_remove(&call->link);
    hold_set(&call->native->worker->drafts_called, &call->hold, 0);
    if (status == VBN_OK) {
        call->commits = true;
        call->key = call->draft.value - call->message.key_bytes; /* an item has its key in front of its value */
        run_with(call, call->key, NULL, call->draft.value_bytes);
        return;
    }
    store_abandon(&call->draft);
    answer_code(call, MESSAGE_INVALID);
}

/* Key and value are in call->data. */
static void on_data(vbn_op_t *op, vbn_status_t status, size_t length)
{
    call_t *call = container_of(op, call_t, op);
    bool fetched_key = (call->message.flags & MESSAGE_KEY_IN_DATA) != 0;
    (void)length;
    list_remove(&call->link);
    hold_set(&call->native->worker->drafts_called, &call->hold, 0);
    if (status != VBN_OK)
        answer_code(call, MESSAGE_INVALID);
    else if (fetched_key)
        run(call, NULL, call->data, call->data_bytes);
    else
        run(call, call->data, call->data + call->message.key_bytes, call->data_bytes);
}

static void pull(call_t *call, vbn_am_remote_t *remote, void *to, size_t bytes, vbn_op_func_t done)
{
    call->iov[0] = (struct iovec){.iov_base = to, .iov_len = bytes};
    call->op.done = done;
    vbn_status_t status = vbn_am_pull(remote, call->iov, 1, &call->op);
    if (status == VBN_INPROGRESS) {
        call_wait(call, bytes);
        return;
    }
    if (status < 0)
        vbn_am_drop(remote);
    done(&call->op, status, bytes);
}

/* Counts what a value takes until it is here. False: values of other clients, which end by their leases, take all of this
 * thread's share. */
static bool hold_value(call_t *call, size_t bytes)
{
    worker_t *worker = call->native->worker;
    if (holds_bytes(&worker->drafts_called) + bytes > worker_share(worker)) {
        count(&worker->counters.drafts_lost, 1);
        return false;
    }
    hold_set(&worker->drafts_called, &call->hold, bytes);
    return true;
}

static void refuse_value(call_t *call, const vbn_am_message_t *message, uint8_t code)
{
    vbn_am_drop(message->remote);
    answer_code(call, code);
}

/* To the heap first: a small value, which would keep a segment from being used until it is here, or one behind a long key, which
 * says where the value goes. key NULL: it is fetched, too. */
static void fetch_data(call_t *call, const char *key, const vbn_am_message_t *message)
{
    size_t before = key == NULL ? 0 : call->message.key_bytes;
    if (message->length > call->native->worker->server->settings.item_max + KEY_MAX) {
        refuse_value(call, message, MESSAGE_TOO_LARGE);
        return;
    }
    call->data = hold_value(call, before + message->length) ? malloc(before + message->length) : NULL;
    call->data_bytes = message->length;
    if (call->data == NULL) {
        hold_set(&call->native->worker->drafts_called, &call->hold, 0);
        refuse_value(call, message, MESSAGE_NO_MEMORY);
        return;
    }
    if (before > 0)
        memcpy(call->data, key, before);
    pull(call, message->remote, call->data + before, message->length, on_data);
}

/* A large value: into its item. */
static void fetch_large(call_t *call, const request_t *request, const vbn_am_message_t *message)
{
    store_status_t status = STORE_NO_MEMORY;
    if (hold_value(call, message->length))
        status = perform_begin(call->native->worker->server, request, &call->draft);
    if (status == STORE_OK) {
        pull(call, message->remote, call->draft.value, message->length, on_value);
        return;
    }
    hold_set(&call->native->worker->drafts_called, &call->hold, 0);
    refuse_value(call, message, code_of(status));
}

static void fetch(call_t *call, const char *key, const vbn_am_message_t *message)
{
    request_t request;
    const server_t *server = call->native->worker->server;
    if (call->message.op != MESSAGE_PUT)
        refuse_value(call, message, MESSAGE_INVALID);
    else if (key == NULL)
        fetch_data(call, NULL, message);
    else if (!message_to_request(&call->message, key, message->length, &request))
        refuse_value(call, message, MESSAGE_INVALID);
    else if (message->length <= server->settings.item_max &&
             !store_is_large(server->store, request.key.length, message->length))
        fetch_data(call, key, message);
    else
        fetch_large(call, &request, message);
}

/* ------------------------------------------------------------------------------------------ arrival */

static void refuse(native_t *native, const vbn_am_message_t *message)
{
    count(&native->worker->counters.messages_bad, 1);
    if (message->remote != NULL)
        vbn_am_drop(message->remote);
}

void call_on_message(void *arg, const vbn_am_message_t *message)
{
    native_t *native = arg;
    message_request_t request;
    const char *key;
    session_t *session = session_of(native, message->peer);
    native->handled++;
    count(&native->worker->counters.messages, 1);
    if (session == NULL || !message_request_decode(message->header, message->header_length, &request, &key)) {
        refuse(native, message);
        return;
    }
    call_t *call = call_get(native, session);
    if (call == NULL) {
        count(&native->worker->counters.oom, 1);
        refuse(native, message);
        return;
    }
    call->message = request;
    if (message->remote != NULL)
        fetch(call, key, message);
    else
        run(call, key, message->data, message->length);
}
