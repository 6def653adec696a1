/* SPDX-License-Identifier: Apache-2.0
 * key.c - keys of other workers' memory. Where the transport can map (same host), the memory is mapped once in the
 * background and operations issued meanwhile wait; when mapping fails they go by packets, logged once per key. An operation
 * may wait for the decision (OP_IMPORT): it is listed with its peer, whose end completes it, and with its key. */
#include "proto/rma.h"
#include "proto/ways/way.h"

#include <stdlib.h>

/* What the operation that waits for the decision is told. Memory that is not mapped is reached by packets, which is no error
 * unless the peer ends (then it is not ready, or its transport says so) or has freed the memory. */
static vbn_status_t decided(const vbn_key_t *key, vbn_status_t status)
{
    bool error = status == VBN_ERR_STALE || status == VBN_ERR_PEER_LOST || status == VBN_ERR_CLOSED;
    return error || !link_ready(key->peer) ? status : VBN_OK;
}

static uint64_t mapped_bytes(const vbn_key_t *key)
{
    return key->address != NULL ? key->info.length : 0;
}

/* The import's answer: at once from link_import, later from progress, or never when the peer is lost before. */
static void import_done(void *arg, vbn_status_t status, mem_import_t *import)
{
    key_request_t *request = arg;
    vbn_key_t *key = request->key;
    list_remove(&request->link);
    free(request);
    if (key == NULL) {
        if (status == VBN_OK && import != NULL)
            mem_import_release(import);
        return;
    }
    key->request = NULL;
    if (status == VBN_OK) {
        key->import = import;
        key->address = (uint8_t *)mem_import_address(import) + key->info.offset;
    } else {
        LOG_PEER(key->engine->log, VBN_LOG_INFO, key->info.owner_id,
                 "memory of peer %016llx is not mapped here, operations on it fall back to packets: %s",
                 (unsigned long long)key->info.owner_id, err_text());
    }
    /* A callback may release the key: then its other waiting ops are ended already. */
    bool released = false;
    key->released_p = &released;
    proto_op_t *waits = key->decision;
    key->decision = NULL;
    if (waits != NULL)
        op_complete(waits, decided(key, status), mapped_bytes(key));
    while (!released && !list_empty(&key->waiting))
        rma_start(key, container_of(list_pop(&key->waiting), proto_op_t, stream.active));
    if (!released)
        key->released_p = NULL;
}

static vbn_status_t start_import(vbn_key_t *key)
{
    key_request_t *request = calloc(1, sizeof(*request));
    if (request == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a key import");
    request->key = key;
    list_append(&key->engine->requests, &request->link);
    key->request = request;
    vbn_status_t status = link_import(key->peer, &key->info, import_done, request);
    if (status >= 0)
        return VBN_OK; /* import_done has run or will */
    list_remove(&request->link);
    free(request);
    key->request = NULL;
    /* The transport that was chosen in the end cannot map: packets do it. */
    return status == VBN_ERR_UNSUPPORTED ? VBN_OK : status;
}

/* The key as far as it is decided: VBN_OK, or VBN_INPROGRESS when user_op (not NULL) has to wait. */
static vbn_status_t wait_for_decision(vbn_key_t *key, vbn_op_t *user_op)
{
    if (user_op == NULL)
        return VBN_OK;
    if (key->request == NULL)
        return op_set_done(user_op, VBN_OK, mapped_bytes(key));
    key->decision = op_prepare(user_op, key->engine, OP_IMPORT, NULL, 0, 0);
    key->decision->stream.peer = key->peer;
    list_append(&proto_peer_of(key->peer)->ops, &key->decision->link);
    return VBN_INPROGRESS;
}

vbn_status_t proto_key_import(vbn_peer_t *peer, const void *blob, size_t length, vbn_key_t **key_p, vbn_op_t *user_op)
{
    mem_key_info_t info;
    vbn_status_t status = proto_check_peer(peer);
    if (status == VBN_OK && (blob == NULL || key_p == NULL))
        status = err_set(VBN_ERR_INVALID, "a key import needs a blob and a place for the key");
    if (status == VBN_OK)
        status = mem_key_decode(blob, length, &info);
    if (status != VBN_OK)
        return status;
    vbn_key_t *key = calloc(1, sizeof(*key));
    if (key == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a key");
    key->engine = proto_engine_of(peer);
    key->peer = peer;
    key->info = info;
    list_init(&key->waiting);
    list_init(&key->link);
    if (!info.by_packets && (link_caps(peer)->flags & TL_CAP_MAP) != 0 && (status = start_import(key)) != VBN_OK) {
        free(key);
        return status;
    }
    list_append(&proto_peer_of(peer)->keys, &key->link);
    *key_p = key;
    return wait_for_decision(key, user_op);
}

void proto_key_release(vbn_key_t *key)
{
    if (key == NULL)
        return;
    list_remove(&key->link);
    if (key->released_p != NULL)
        *key->released_p = true;
    if (key->request != NULL)
        key->request->key = NULL;
    device_forget(key);
    list_link_t todo;
    list_init(&todo);
    if (key->decision != NULL)
        list_append(&todo, &key->decision->stream.active);
    while (!list_empty(&key->waiting))
        list_append(&todo, list_pop(&key->waiting));
    if (key->import != NULL)
        mem_import_release(key->import);
    free(key);
    list_link_t *link;
    while ((link = list_pop(&todo)) != NULL)
        op_complete(container_of(link, proto_op_t, stream.active), VBN_ERR_CLOSED, 0);
}

mem_import_t *proto_key_map(const vbn_key_t *key, void **address_p, size_t *length_p)
{
    if (key->import == NULL)
        return NULL;
    mem_import_hold(key->import);
    *address_p = key->address;
    *length_p = (size_t)key->info.length;
    return key->import;
}

vbn_status_t proto_key_join(const vbn_key_t *key, vbn_mem_t **mem_p)
{
    if (key->import == NULL && key->request != NULL)
        return err_set(
            VBN_ERR_INVALID,
            "it is not decided yet whether the key's memory is mapped here: wait for the operation of vbn_key_import_op");
    if (key->import == NULL)
        return err_set(VBN_ERR_UNSUPPORTED,
                       "the key's memory is not mapped here: only memory of a peer of this host that is "
                       "reached by shm, and that vbn_mem_alloc or vbn_mem_reserve has made, can be joined");
    return mem_join(key->engine->memory, &key->info, key->import, mem_p);
}

void *proto_key_pointer(const vbn_key_t *key)
{
    return key == NULL ? NULL : key->address;
}

/* Ops that waited are ended with the peer's other ops. */
void key_peer_down(vbn_key_t *key)
{
    key->peer = NULL;
    if (key->request != NULL)
        key->request->key = NULL;
    key->request = NULL;
    key->decision = NULL;
    device_forget(key);
    list_remove(&key->waiting);
}
