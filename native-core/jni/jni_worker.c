/* SPDX-License-Identifier: Apache-2.0
 * jni_worker.c - natives of workers: create, destroy, wake, handlers, poll. */
#include "jni_worker.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "jni_tables.h"

#define OPS_PER_BLOCK 64
#define HANDLES_MAX (1u << 24)
#define NS_PER_S 1000000000LL
#define TURNS_PER_POLL 32 /* progress calls that move something but bring no event */

jni_worker_t *jni_worker_enter(jlong handle)
{
    return (jni_worker_t *)jni_object_own(handle, JNI_WORKER);
}

/* --------------------------------------------------------------------------------------- create, destroy */

static void worker_free(jni_object_t *object)
{
    jni_worker_t *worker = (jni_worker_t *)object;
    mpool_free(&worker->ops);
    handle_table_free(&worker->peers);
    handle_table_free(&worker->keys);
    handle_table_free(&worker->remotes);
    for (int i = 0; i < JNI_SLEEPERS; i++)
        if (worker->calls[i] >= 0)
            close(worker->calls[i]);
    if (worker->context != NULL)
        jni_object_put(&worker->context->object);
    free(worker);
}

static vbn_status_t worker_map_page(JNIEnv *env, jni_worker_t *worker, jobject page, jint slots, jint events,
                                    jint receive_bytes)
{
    jlong capacity = page == NULL ? -1 : (*env)->GetDirectBufferCapacity(env, page);
    jlong needed = PAGE_SLOT + ((jlong)slots + events) * (jlong)PAGE_SLOT + receive_bytes;
    uint8_t *address = capacity < 0 ? NULL : (*env)->GetDirectBufferAddress(env, page);
    if (address == NULL || slots < 1 || events < 1 || receive_bytes < (1 << 17) || capacity < needed ||
        (uintptr_t)address % PAGE_SLOT != 0)
        return err_set(VBN_ERR_INVALID, "bad shared page: %lld bytes for %d slots, %d events, %d bytes to receive",
                       (long long)capacity, slots, events, receive_bytes);
    worker->page = address;
    worker->commands = (page_command_t *)(void *)(address + PAGE_SLOT);
    worker->events = (page_event_t *)(void *)(worker->commands + slots);
    worker->receive = (uint8_t *)(worker->events + events);
    worker->slots = (uint32_t)slots;
    worker->event_capacity = (uint32_t)events;
    worker->receive_bytes = (uint32_t)receive_bytes;
    worker->page_object = (*env)->NewGlobalRef(env, page);
    return worker->page_object == NULL ? err_set(VBN_ERR_NO_MEMORY, "no global reference") : VBN_OK;
}

static jni_worker_t *worker_new(void)
{
    jni_worker_t *worker = calloc(1, sizeof(*worker));
    if (worker == NULL)
        return NULL;
    mpool_init(&worker->ops, sizeof(jni_op_t), OPS_PER_BLOCK, 0);
    handle_table_init(&worker->peers, HANDLES_MAX);
    handle_table_init(&worker->keys, HANDLES_MAX);
    handle_table_init(&worker->remotes, HANDLES_MAX);
    for (unsigned id = 0; id < VBN_AM_IDS; id++)
        worker->handlers[id] = (jni_handler_t){worker, id};
    for (int i = 0; i < JNI_SLEEPERS; i++)
        worker->calls[i] = -1;
    return worker;
}

static void worker_abandon(JNIEnv *env, jni_worker_t *worker)
{
    if (worker->worker != NULL)
        vbn_worker_destroy(worker->worker);
    if (worker->page_object != NULL)
        (*env)->DeleteGlobalRef(env, worker->page_object);
    worker_free(&worker->object);
}

static jlong native_create(JNIEnv *env, jclass cls, jlong context_handle, jobject page, jint slots, jint events,
                           jint receive_bytes)
{
    (void)cls;
    jni_worker_t *worker = worker_new();
    if (worker == NULL)
        return jni_fail(err_set(VBN_ERR_NO_MEMORY, "no memory for a worker"));
    vbn_status_t status = worker_map_page(env, worker, page, slots, events, receive_bytes);
    if (status < 0) {
        worker_abandon(env, worker);
        return jni_fail(status);
    }
    jni_context_t *context = jni_context_enter(context_handle);
    if (context == NULL) {
        worker_abandon(env, worker);
        return 0;
    }
    status = vbn_worker_create(context->context, &worker->worker);
    pthread_rwlock_unlock(&context->lock);
    worker->context = context; /* keeps the reference */
    uint64_t handle = 0;
    if (jni_status(status) >= 0)
        handle = jni_object_add(&worker->object, JNI_WORKER, worker_free);
    if (handle == 0)
        worker_abandon(env, worker);
    else
        vbn_worker_set_peer_lost(worker->worker, jni_on_peer_lost, worker);
    return (jlong)handle;
}

/* Ends what Java has not ended; callbacks of vbn_worker_destroy free the operations. */
static void worker_drop_all(jni_worker_t *worker)
{
    for (uint32_t i = 0; i < worker->remotes.capacity; i++) {
        if (worker->remotes.entries[i].object != NULL)
            vbn_am_drop(worker->remotes.entries[i].object);
    }
    for (uint32_t i = 0; i < worker->keys.capacity; i++) {
        if (worker->keys.entries[i].object != NULL)
            vbn_key_release(worker->keys.entries[i].object);
    }
    while (worker->first != NULL) {
        jni_event_t *event = worker->first;
        worker->first = event->next;
        free(event->payload);
        event->payload = NULL;
        event->delivered(worker, event);
    }
    worker->last = NULL;
}

static jint native_destroy(JNIEnv *env, jclass cls, jlong handle)
{
    (void)cls;
    jni_worker_t *worker = jni_worker_enter(handle);
    if (worker == NULL)
        return jni_last_status();
    jni_object_get(handle, JNI_WORKER); /* so that worker_free runs last */
    jni_object_drop(handle, JNI_WORKER, JNI_WORKER);
    worker->ending = true;
    worker_drop_all(worker);
    vbn_worker_destroy(worker->worker);
    for (uint32_t i = 0; i < worker->peers.capacity; i++)
        free(worker->peers.entries[i].object);
    (*env)->DeleteGlobalRef(env, worker->page_object);
    jni_object_put(&worker->object);
    return VBN_OK;
}

/* ------------------------------------------------------------------------------------------- small calls */

static jbyteArray native_address(JNIEnv *env, jclass cls, jlong handle)
{
    (void)cls;
    uint8_t blob[VBN_ADDRESS_MAX];
    size_t length = sizeof(blob);
    jni_worker_t *worker = jni_worker_enter(handle);
    if (worker == NULL)
        return NULL;
    vbn_status_t status = jni_status(vbn_worker_address(worker->worker, blob, &length));
    return status < 0 ? NULL : jni_bytes(env, blob, length);
}

/* Under the table's lock, so that the worker is not destroyed meanwhile. */
static void wake(jni_object_t *object)
{
    jni_worker_t *worker = (jni_worker_t *)object;
    atomic_store(&worker->woken, true); /* before the descriptor: see sleep_until */
    vbn_worker_wake(worker->worker);
}

static jint native_wake(JNIEnv *env, jclass cls, jlong handle)
{
    (void)env;
    (void)cls;
    return jni_object_with(handle, JNI_WORKER, wake);
}

static jint native_handler(JNIEnv *env, jclass cls, jlong handle, jint id, jboolean enabled)
{
    (void)env;
    (void)cls;
    jni_worker_t *worker = jni_worker_enter(handle);
    if (worker == NULL)
        return jni_last_status();
    if (id < 0 || id >= VBN_AM_IDS)
        return jni_status(err_set(VBN_ERR_INVALID, "message id %d is not in 0..%d", id, VBN_AM_IDS - 1));
    return jni_status(
        vbn_am_handler(worker->worker, (unsigned)id, enabled ? jni_on_message : NULL, &worker->handlers[id]));
}

/* -------------------------------------------------------------------------------------------------- poll */

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * NS_PER_S + time.tv_nsec;
}

/* The worker is armed. A wake that came before `woken` is read is seen there, even when a progress call has emptied
 * the descriptor meanwhile; one that comes later makes the descriptor readable. */
static vbn_status_t sleep_until(jni_worker_t *worker, int64_t deadline)
{
    int64_t left = deadline - now_ns();
    if (left <= 0 || atomic_exchange(&worker->woken, false))
        return VBN_OK;
    struct timespec timeout = {.tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S};
    struct pollfd fd = {.fd = vbn_event_fd(worker->worker), .events = POLLIN};
    if (ppoll(&fd, 1, &timeout, NULL) < 0 && errno != EINTR)
        return err_sys(errno, "cannot wait for events of a worker");
    return VBN_OK;
}

/* Goes on while data moves and no event has come: copies between processes move a piece in each call. */
static void move(jni_worker_t *worker)
{
    for (int turn = 0; turn < TURNS_PER_POLL && vbn_progress(worker->worker) > 0 && worker->event_count == 0;)
        turn++;
}

/* Progresses until there are events; sleeps at most once. */
static vbn_status_t wait_for_events(jni_worker_t *worker, jlong wait_ns)
{
    int64_t deadline = now_ns() + wait_ns;
    while (worker->event_count == 0) {
        vbn_status_t status = vbn_arm(worker->worker);
        if (status < 0)
            return status;
        if (status == VBN_OK) {
            status = sleep_until(worker, deadline);
            vbn_progress(worker->worker);
            return status;
        }
        if (atomic_exchange(&worker->woken, false) || now_ns() >= deadline)
            return VBN_OK;
        vbn_progress(worker->worker);
    }
    return VBN_OK;
}

static void report_log(jni_worker_t *worker)
{
    if (!atomic_load_explicit(&worker->context->log_pending, memory_order_acquire))
        return;
    page_event_t event = {.kind = EVENT_LOG};
    if (jni_event_write(worker, &event, NULL, 0, NULL, 0))
        atomic_store_explicit(&worker->context->log_pending, false, memory_order_relaxed);
}

static jint native_poll(JNIEnv *env, jclass cls, jlong handle, jint max_events, jlong wait_ns)
{
    (void)env;
    (void)cls;
    jni_worker_t *worker = jni_worker_enter(handle);
    if (worker == NULL)
        return jni_last_status();
    if (max_events < 1 || wait_ns < 0 || wait_ns > 3600 * NS_PER_S)
        return jni_status(err_set(VBN_ERR_INVALID, "poll for %d events, %lld ns", max_events, (long long)wait_ns));
    worker->event_count = 0;
    worker->receive_used = 0;
    worker->event_limit = (uint32_t)max_events < worker->event_capacity ? (uint32_t)max_events : worker->event_capacity;
    vbn_status_t status = VBN_OK;
    bool drained = jni_event_drain(worker);
    jni_submit(worker);
    if (drained && worker->first == NULL) {
        move(worker);
        if (worker->event_count == 0 && wait_ns > 0)
            status = wait_for_events(worker, wait_ns);
    }
    report_log(worker);
    worker->event_limit = 0;
    return status < 0 ? jni_status(status) : (jint)worker->event_count;
}

const JNINativeMethod jni_worker_methods[] = {
    {"workerCreate", "(JLjava/nio/ByteBuffer;III)J", (void *)native_create},
    {"workerDestroy", "(J)I", (void *)native_destroy},
    {"workerAddress", "(J)[B", (void *)native_address},
    {"workerWake", "(J)I", (void *)native_wake},
    {"workerHandler", "(JIZ)I", (void *)native_handler},
    {"poll", "(JIJ)I", (void *)native_poll},
};
const jint jni_worker_method_count = sizeof(jni_worker_methods) / sizeof(jni_worker_methods[0]);
