/* SPDX-License-Identifier: Apache-2.0
 * jni_peer.c - natives of peers and keys. The worker's thread. */
#include <stdlib.h>
#include <string.h>

#include "jni_memory.h"
#include "jni_tables.h"
#include "jni_worker.h"

static jlong native_connect(JNIEnv *env, jclass cls, jlong handle, jbyteArray address)
{
    (void)cls;
    uint8_t blob[VBN_ADDRESS_MAX];
    size_t length = 0;
    vbn_peer_t *core_peer;
    jni_worker_t *worker = jni_worker_enter(handle);
    if (worker == NULL)
        return 0;
    vbn_status_t status = jni_copy(env, address, blob, sizeof(blob), &length);
    if (status >= 0)
        status = vbn_connect(worker->worker, blob, length, jni_on_peer_lost, worker, &core_peer);
    if (status < 0)
        return jni_fail(status);
    jni_peer_t *peer = jni_peer_of(worker, core_peer);
    if (peer == NULL) {
        vbn_disconnect(core_peer, VBN_CLOSE_NOW);
        return 0;
    }
    peer->connects++;
    return (jlong)peer->handle;
}

/* NULL (recorded) when stale. */
static jni_peer_t *find_peer(jlong worker_handle, jlong handle)
{
    jni_worker_t *worker = jni_worker_enter(worker_handle);
    if (worker == NULL)
        return NULL;
    jni_peer_t *peer = handle_get(&worker->peers, (uint64_t)handle);
    if (peer != NULL && peer->peer != NULL)
        return peer;
    jni_status(err_set(VBN_ERR_STALE, "the peer (handle %llx) is closed or lost", (unsigned long long)handle));
    return NULL;
}

static jbyteArray native_explain(JNIEnv *env, jclass cls, jlong worker, jlong handle)
{
    (void)cls;
    char text[1024];
    jni_peer_t *peer = find_peer(worker, handle);
    if (peer == NULL)
        return NULL;
    vbn_explain(peer->peer, text, sizeof(text));
    return jni_bytes(env, text, strlen(text));
}

/* NULL with errorStatus() 0 while the peer has no connection. */
static jbyteArray native_transport(JNIEnv *env, jclass cls, jlong worker, jlong handle)
{
    (void)cls;
    jni_peer_t *peer = find_peer(worker, handle);
    const char *name = peer == NULL ? NULL : vbn_peer_transport(peer->peer);
    return name == NULL ? NULL : jni_bytes(env, name, strlen(name));
}

static jlong native_uid(JNIEnv *env, jclass cls, jlong worker, jlong handle)
{
    (void)env;
    (void)cls;
    jni_peer_t *peer = find_peer(worker, handle);
    return peer == NULL ? 0 : (jlong)vbn_peer_uid(peer->peer);
}

static vbn_status_t key_import(jni_worker_t *worker, jni_peer_t *peer, const uint8_t *blob, size_t length,
                               uint64_t *handle_p)
{
    vbn_key_t *key;
    vbn_status_t status = vbn_key_import(peer->peer, blob, length, &key);
    if (status < 0)
        return status;
    status = handle_new(&worker->keys, key, handle_p);
    if (status < 0)
        vbn_key_release(key);
    return status;
}

static jlong native_import(JNIEnv *env, jclass cls, jlong worker_handle, jlong peer_handle, jbyteArray array)
{
    (void)cls;
    uint8_t blob[VBN_KEY_MAX];
    size_t length = 0;
    uint64_t handle = 0;
    jni_peer_t *peer = find_peer(worker_handle, peer_handle);
    if (peer == NULL)
        return 0;
    vbn_status_t status = jni_copy(env, array, blob, sizeof(blob), &length);
    if (status >= 0)
        status = key_import(jni_worker_enter(worker_handle), peer, blob, length, &handle);
    return status < 0 ? jni_fail(status) : (jlong)handle;
}

/* Takes a reference of its own on the mapping, so that Java's buffers outlive key, peer and worker. */
static jlong native_map(JNIEnv *env, jclass cls, jlong worker_handle, jlong handle)
{
    (void)env;
    (void)cls;
    jni_worker_t *worker = jni_worker_enter(worker_handle);
    if (worker == NULL)
        return 0;
    const vbn_key_t *key = handle_get(&worker->keys, (uint64_t)handle);
    if (key == NULL)
        return jni_fail(err_set(VBN_ERR_STALE, "the key is closed"));
    void *address;
    size_t size;
    vbn_mapping_t *mapping = vbn_key_map(key, &address, &size);
    return mapping == NULL ? jni_fail(VBN_OK) : jni_mapping_new(mapping, address, size);
}

const JNINativeMethod jni_peer_methods[] = {
    {"peerConnect", "(J[B)J", (void *)native_connect}, {"peerExplain", "(JJ)[B", (void *)native_explain},
    {"peerUid", "(JJ)J", (void *)native_uid},          {"peerTransport", "(JJ)[B", (void *)native_transport},
    {"keyImport", "(JJ[B)J", (void *)native_import},   {"keyMap", "(JJ)J", (void *)native_map},
};
const jint jni_peer_method_count = sizeof(jni_peer_methods) / sizeof(jni_peer_methods[0]);
