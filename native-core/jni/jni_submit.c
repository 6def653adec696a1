/* SPDX-License-Identifier: Apache-2.0
 * jni_submit.c - takes the commands that Java has written and hands them to the core. */
#include <stdlib.h>
#include <string.h>

#include "jni_worker.h"

/* One command in the ring with what follows it; all lengths checked. */
typedef struct command {
    const page_command_t *slot;
    const uint8_t *header;
    const page_part_t *parts; /* NULL when at most one */
    uint32_t slots;
} command_t;

static vbn_status_t stale(const char *what, uint64_t handle)
{
    return err_set(VBN_ERR_STALE, "the %s (handle %llx) is closed or gone", what, (unsigned long long)handle);
}

/* available: slots until the end of the ring or of what was written. */
static vbn_status_t command_read(const page_command_t *slot, uint32_t available, command_t *command)
{
    uint64_t header_slots = (slot->header_bytes + PAGE_SLOT - 1) / PAGE_SLOT;
    uint64_t list_slots = slot->parts > 1 ? ((uint64_t)slot->parts * sizeof(page_part_t) + PAGE_SLOT - 1) / PAGE_SLOT
                                          : 0;
    if (slot->header_bytes > VBN_AM_HEADER_MAX || 1 + header_slots + list_slots > available)
        return err_set(VBN_ERR_INVALID, "a command with %u header bytes and %u parts does not fit the ring",
                       slot->header_bytes, slot->parts);
    *command = (command_t){
        .slot = slot, .header = (const uint8_t *)(slot + 1), .slots = (uint32_t)(1 + header_slots + list_slots)};
    if (list_slots > 0)
        command->parts = (const page_part_t *)(const void *)(slot + 1 + header_slots);
    return VBN_OK;
}

static vbn_status_t op_fill_iov(jni_op_t *op, const command_t *command)
{
    uint32_t parts = command->slot->parts;
    if (parts > JNI_INLINE_PARTS) {
        struct iovec *iov = malloc(parts * sizeof(*iov));
        if (iov == NULL)
            return err_set(VBN_ERR_NO_MEMORY, "no memory for a list of %u buffers", parts);
        op->iov = iov;
    }
    if (command->parts == NULL && parts == 1)
        op->iov[0] = (struct iovec){(void *)(uintptr_t)command->slot->address, command->slot->length};
    for (uint32_t i = 0; i < parts && command->parts != NULL; i++)
        op->iov[i] = (struct iovec){(void *)(uintptr_t)command->parts[i].address, command->parts[i].length};
    return VBN_OK;
}

static vbn_peer_t *find_peer(jni_worker_t *worker, uint64_t handle)
{
    jni_peer_t *peer = handle_get(&worker->peers, handle);
    return peer == NULL ? NULL : peer->peer;
}

static vbn_status_t issue_pull(jni_worker_t *worker, const page_command_t *slot, jni_op_t *op)
{
    vbn_am_remote_t *remote = handle_get(&worker->remotes, slot->handle);
    if (remote == NULL)
        return stale("remote data", slot->handle);
    vbn_status_t status = vbn_am_pull(remote, op->iov, slot->parts, &op->op);
    if (status >= 0)
        handle_drop(&worker->remotes, slot->handle);
    return status;
}

static vbn_status_t issue(jni_worker_t *worker, const command_t *command, jni_op_t *op)
{
    const page_command_t *slot = command->slot;
    vbn_peer_t *peer = NULL;
    vbn_key_t *key = NULL;
    if (slot->kind == PAGE_SEND || slot->kind == PAGE_SEND_RENDEZVOUS || slot->kind == PAGE_FLUSH) {
        peer = find_peer(worker, slot->handle);
        if (peer == NULL)
            return stale("peer", slot->handle);
    } else if (slot->kind == PAGE_GET || slot->kind == PAGE_PUT) {
        key = handle_get(&worker->keys, slot->handle);
        if (key == NULL)
            return stale("key", slot->handle);
    }
    switch (slot->kind) {
    case PAGE_SEND:
    case PAGE_SEND_RENDEZVOUS:
        return vbn_am_send(peer, slot->id, command->header, slot->header_bytes, op->iov, slot->parts,
                           slot->kind == PAGE_SEND ? 0 : VBN_AM_PULL, &op->op);
    case PAGE_FLUSH: return vbn_flush(peer, &op->op);
    case PAGE_GET: return vbn_get(key, slot->offset, op->iov, slot->parts, &op->op);
    case PAGE_PUT: return vbn_put(key, slot->offset, op->iov, slot->parts, &op->op);
    case PAGE_PULL: return issue_pull(worker, slot, op);
    default: return err_set(VBN_ERR_INVALID, "there is no command %u", slot->kind);
    }
}

static void failed_delivered(jni_worker_t *worker, jni_event_t *event)
{
    (void)worker;
    free(event);
}

/* Reports a command that failed at once, with the text of the error. */
static void report_failure(jni_worker_t *worker, uint64_t token, vbn_status_t status)
{
    const char *text = vbn_error_text();
    page_event_t event = {.kind = EVENT_OP, .status = status, .token = token, .header_bytes = (uint32_t)strlen(text)};
    if (worker->first == NULL && jni_event_write(worker, &event, text, event.header_bytes, NULL, 0))
        return;
    jni_event_t *waiting = calloc(1, sizeof(*waiting));
    if (waiting == NULL)
        return; /* the operation then ends when the engine closes */
    *waiting = (jni_event_t){.data = event, .payload = strdup(text), .delivered = failed_delivered};
    waiting->payload_bytes = waiting->payload == NULL ? 0 : event.header_bytes;
    waiting->data.header_bytes = waiting->payload_bytes;
    jni_event_queue(worker, waiting);
}

static void run_operation(jni_worker_t *worker, const command_t *command)
{
    const page_command_t *slot = command->slot;
    jni_op_t *op = mpool_get(&worker->ops);
    if (op == NULL) {
        report_failure(worker, slot->token, VBN_ERR_NO_MEMORY);
        return;
    }
    memset(&op->op, 0, sizeof(op->op));
    op->op.done = jni_on_done;
    op->worker = worker;
    op->token = slot->token;
    op->iov = op->inline_iov;
    vbn_status_t status = op_fill_iov(op, command);
    if (status >= 0)
        status = issue(worker, command, op);
    if (status == VBN_OK)
        jni_on_done(&op->op, VBN_OK, op->op.length);
    if (status < 0) {
        report_failure(worker, slot->token, status);
        jni_op_free(op);
    }
}

/* A get or put of one part on memory that is mapped here ends within the call, since Java issues no fence (vbn.h): no
 * operation object is needed, only its event. False when the command has to go the general way. */
static bool run_mapped(jni_worker_t *worker, const page_command_t *slot)
{
    if ((slot->kind != PAGE_GET && slot->kind != PAGE_PUT) || slot->parts != 1 || !jni_event_room(worker))
        return false;
    vbn_key_t *key = handle_get(&worker->keys, slot->handle);
    if (vbn_key_pointer(key) == NULL)
        return false;
    const struct iovec iov = {(void *)(uintptr_t)slot->address, slot->length};
    vbn_status_t status = slot->kind == PAGE_GET ? vbn_get(key, slot->offset, &iov, 1, &worker->at_once)
                                                 : vbn_put(key, slot->offset, &iov, 1, &worker->at_once);
    if (status < 0)
        report_failure(worker, slot->token, status);
    else
        jni_event_done(worker, slot->token, worker->at_once.length);
    return true;
}

static void release_key(jni_worker_t *worker, uint64_t handle)
{
    vbn_key_t *key = handle_drop(&worker->keys, handle);
    if (key != NULL)
        vbn_key_release(key);
}

static void run_command(jni_worker_t *worker, const command_t *command)
{
    uint64_t handle = command->slot->handle;
    switch (command->slot->kind) {
    case PAGE_DROP: {
        vbn_am_remote_t *remote = handle_drop(&worker->remotes, handle);
        if (remote != NULL)
            vbn_am_drop(remote);
        break;
    }
    case PAGE_PEER_CLOSE: {
        jni_peer_t *peer = handle_get(&worker->peers, handle);
        if (peer != NULL)
            jni_peer_close(worker, peer);
        break;
    }
    case PAGE_KEY_RELEASE: release_key(worker, handle); break;
    default:
        if (!run_mapped(worker, command->slot))
            run_operation(worker, command);
    }
}

void jni_submit(jni_worker_t *worker)
{
    page_control_t *control = (page_control_t *)(void *)worker->page;
    uint32_t tail = control->tail;
    while (control->head != tail) {
        uint32_t index = control->head % worker->slots;
        uint32_t to_end = worker->slots - index;
        uint32_t written = tail - control->head;
        const page_command_t *slot = &worker->commands[index];
        command_t command = {.slot = slot};
        if (slot->kind == PAGE_NOP) {
            control->head += to_end < written ? to_end : written;
            continue;
        }
        vbn_status_t status = command_read(slot, to_end < written ? to_end : written, &command);
        if (status < 0) {
            report_failure(worker, slot->token, status);
            control->head = tail; /* what follows cannot be trusted */
            return;
        }
        run_command(worker, &command);
        control->head += command.slots;
    }
}
