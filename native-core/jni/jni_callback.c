/* SPDX-License-Identifier: Apache-2.0
 * jni_callback.c - what the core calls: messages, completions, lost peers. Runs within vbn_ calls of the worker's
 * thread; never enters Java. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jni_worker.h"

#define CONTAINER(type, member, pointer) ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

/* ------------------------------------------------------------------------------------------- operations */

void jni_op_free(jni_op_t *op)
{
    if (op->iov != op->inline_iov)
        free(op->iov);
    mpool_put(&op->worker->ops, op);
}

static void op_delivered(jni_worker_t *worker, jni_event_t *event)
{
    (void)worker;
    jni_op_free(CONTAINER(jni_op_t, event, event));
}

void jni_on_done(vbn_op_t *core_op, vbn_status_t status, size_t length)
{
    jni_op_t *op = CONTAINER(jni_op_t, op, core_op);
    jni_worker_t *worker = op->worker;
    if (status == VBN_OK && !worker->ending && jni_event_room(worker)) {
        jni_event_done(worker, op->token, length);
        jni_op_free(op);
        return;
    }
    page_event_t event = {.kind = EVENT_OP, .status = status, .token = op->token, .length = length};
    if (worker->ending || (worker->first == NULL && jni_event_write(worker, &event, NULL, 0, NULL, 0))) {
        jni_op_free(op);
        return;
    }
    op->event = (jni_event_t){.data = event, .delivered = op_delivered};
    jni_event_queue(worker, &op->event);
}

/* ------------------------------------------------------------------------------------------------ peers */

jni_peer_t *jni_peer_of(jni_worker_t *worker, vbn_peer_t *peer)
{
    jni_peer_t *known = vbn_peer_user(peer);
    if (known != NULL)
        return known;
    known = calloc(1, sizeof(*known));
    if (known == NULL) {
        jni_status(err_set(VBN_ERR_NO_MEMORY, "no memory for a peer"));
        return NULL;
    }
    known->peer = peer;
    vbn_status_t status = handle_new(&worker->peers, known, &known->handle);
    if (status < 0) {
        free(known);
        jni_status(status);
        return NULL;
    }
    vbn_peer_set_user(peer, known);
    return known;
}

/* Makes the handle stale; the object goes when no event refers to it. */
static void peer_forget(jni_worker_t *worker, jni_peer_t *peer)
{
    handle_drop(&worker->peers, peer->handle);
    if (peer->peer != NULL)
        vbn_peer_set_user(peer->peer, NULL);
    peer->peer = NULL;
    peer->closed = true;
    if (!peer->in_list)
        free(peer);
}

void jni_peer_close(jni_worker_t *worker, jni_peer_t *peer)
{
    vbn_peer_t *core_peer = peer->peer;
    if (peer->connects == 0 || core_peer == NULL)
        return;
    if (--peer->connects == 0)
        peer_forget(worker, peer);
    vbn_disconnect(core_peer, VBN_CLOSE_FLUSH);
}

static void lost_delivered(jni_worker_t *worker, jni_event_t *event)
{
    jni_peer_t *peer = CONTAINER(jni_peer_t, lost_event, event);
    peer->in_list = false;
    if (peer->closed)
        free(peer);
    else if (peer->connects == 0)
        peer_forget(worker, peer);
}

void jni_on_peer_lost(void *arg, vbn_peer_t *core_peer, vbn_status_t status, const char *text)
{
    jni_worker_t *worker = arg;
    jni_peer_t *peer = vbn_peer_user(core_peer);
    if (peer == NULL || peer->lost || worker->ending)
        return;
    peer->lost = true;
    page_event_t event = {.kind = EVENT_PEER_LOST,
                          .status = status,
                          .peer = peer->handle,
                          .uid = vbn_peer_uid(core_peer),
                          .header_bytes = (uint32_t)strlen(text)};
    if (peer->connects == 0) {
        vbn_peer_set_user(core_peer, NULL);
        peer->peer = NULL; /* the core's handle is invalid after this call */
    }
    peer->lost_event = (jni_event_t){.data = event, .delivered = lost_delivered};
    if (worker->first == NULL && jni_event_write(worker, &event, text, event.header_bytes, NULL, 0)) {
        lost_delivered(worker, &peer->lost_event);
        return;
    }
    peer->lost_event.payload = strdup(text);
    peer->lost_event.payload_bytes = peer->lost_event.payload == NULL ? 0 : event.header_bytes;
    peer->lost_event.data.header_bytes = peer->lost_event.payload_bytes;
    peer->in_list = true;
    jni_event_queue(worker, &peer->lost_event);
}

/* --------------------------------------------------------------------------------------------- messages */

static void message_delivered(jni_worker_t *worker, jni_event_t *event)
{
    (void)worker;
    free(event);
}

/* The page is full: keeps a copy until the next poll. */
static bool message_wait(jni_worker_t *worker, const page_event_t *data, const vbn_am_message_t *message,
                         size_t data_bytes)
{
    size_t bytes = message->header_length + data_bytes;
    jni_event_t *event = calloc(1, sizeof(*event));
    uint8_t *payload = malloc(bytes + 1);
    if (event == NULL || payload == NULL) {
        free(event);
        free(payload);
        return false;
    }
    if (message->header_length > 0)
        memcpy(payload, message->header, message->header_length);
    if (data_bytes > 0)
        memcpy(payload + message->header_length, message->data, data_bytes);
    *event = (jni_event_t){
        .data = *data, .payload = payload, .payload_bytes = (uint32_t)bytes, .delivered = message_delivered};
    jni_event_queue(worker, event);
    return true;
}

static vbn_status_t message_take(jni_handler_t *handler, const vbn_am_message_t *message)
{
    jni_worker_t *worker = handler->worker;
    jni_peer_t *peer = jni_peer_of(worker, message->peer);
    if (peer == NULL)
        return VBN_ERR_NO_MEMORY;
    page_event_t event = {.kind = EVENT_MESSAGE,
                          .token = handler->id,
                          .length = message->length,
                          .peer = peer->handle,
                          .uid = vbn_peer_uid(message->peer),
                          .header_bytes = (uint32_t)message->header_length};
    if (message->remote != NULL) {
        vbn_status_t status = handle_new(&worker->remotes, message->remote, &event.remote);
        if (status < 0)
            return status;
    }
    size_t data_bytes = message->remote == NULL ? message->length : 0;
    bool written = worker->first == NULL &&
                   jni_event_write(worker, &event, message->header, message->header_length, message->data, data_bytes);
    if (written || message_wait(worker, &event, message, data_bytes))
        return VBN_OK;
    if (message->remote != NULL)
        handle_drop(&worker->remotes, event.remote);
    return err_set(VBN_ERR_NO_MEMORY, "no memory to keep a message of %zu bytes", message->header_length + data_bytes);
}

static void log_dropped(const jni_handler_t *handler, const vbn_am_message_t *message)
{
    char line[512];
    snprintf(line, sizeof(line), "message %u of peer %016llx dropped: %s", handler->id,
             (unsigned long long)vbn_peer_uid(message->peer), vbn_error_text());
    jni_context_log(handler->worker->context,
                    &(vbn_log_record_t){VBN_LOG_ERROR, VBN_LOG_PEER, vbn_peer_uid(message->peer), line});
}

void jni_on_message(void *arg, const vbn_am_message_t *message)
{
    jni_handler_t *handler = arg;
    jni_worker_t *worker = handler->worker;
    if (!worker->ending && message_take(handler, message) >= 0)
        return;
    if (!worker->ending)
        log_dropped(handler, message);
    if (message->remote != NULL)
        vbn_am_drop(message->remote);
}
