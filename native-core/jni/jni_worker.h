/* SPDX-License-Identifier: Apache-2.0
 * jni_worker.h - a worker that a Java engine drives: shared page, operation slots, and the peers, keys and remote data
 * that Java holds.
 *
 * Everything belongs to the thread that created the worker, or took it over (checked on each call), except `woken`, which any
 * thread sets under the object table's lock, and `calls`, which stand while the worker does. Events go straight to the
 * page while a poll runs and there is room; otherwise they wait, in order, in a list, and the core is not progressed
 * until that is empty (back-pressure). */
#ifndef VBN_JNI_WORKER_H
#define VBN_JNI_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/handle.h"
#include "base/mpool.h"
#include "jni_context.h"
#include "jni_page.h"

#define JNI_INLINE_PARTS 4u
#define JNI_SLEEPERS 2 /* threads that may wait for a shared worker at the same time */

typedef struct jni_worker jni_worker_t;
typedef struct jni_event jni_event_t;

/* An event that waits for the page; embedded in what it is about, or allocated for a message. */
struct jni_event {
    jni_event_t *next;
    page_event_t data;
    void *payload; /* malloc'ed header and data, or error text; NULL when none */
    uint32_t payload_bytes;
    void (*delivered)(jni_worker_t *worker, jni_event_t *event);
};

typedef struct jni_op {
    vbn_op_t op;
    jni_event_t event;
    jni_worker_t *worker;
    uint64_t token;
    struct iovec *iov; /* inline_iov, or malloc'ed */
    struct iovec inline_iov[JNI_INLINE_PARTS];
} jni_op_t;

typedef struct jni_peer {
    jni_event_t lost_event;
    vbn_peer_t *peer; /* NULL when the handle is gone (a lost peer that was never connected) */
    uint64_t handle;
    uint32_t connects;
    bool lost;    /* told, or waiting to be told */
    bool in_list; /* lost_event waits */
    bool closed;  /* to be freed when lost_event is delivered */
} jni_peer_t;

typedef struct jni_handler {
    jni_worker_t *worker;
    unsigned id;
} jni_handler_t;

struct jni_worker {
    jni_object_t object;
    vbn_worker_t *worker;
    jni_context_t *context; /* a reference */
    jobject page_object;    /* global reference: keeps the page */
    uint8_t *page;
    page_command_t *commands;
    page_event_t *events;
    uint8_t *receive;
    uint32_t slots;
    uint32_t event_capacity;
    uint32_t receive_bytes;
    uint32_t event_limit; /* of the running poll; 0 outside polls */
    uint32_t event_count;
    uint32_t receive_used;
    jni_event_t *first; /* waiting events */
    jni_event_t *last;
    mpool_t ops;
    vbn_op_t at_once;       /* of operations that end within their call */
    handle_table_t peers;   /* -> jni_peer_t */
    handle_table_t keys;    /* -> vbn_key_t */
    handle_table_t remotes; /* -> vbn_am_remote_t */
    jni_handler_t handlers[VBN_AM_IDS];
    bool ending;             /* callbacks write no events any more */
    atomic_bool woken;       /* set by workerWake, taken by poll before it sleeps */
    int calls[JNI_SLEEPERS]; /* event descriptors, each ends one sleeper's wait; -1 unless the worker is shared */
};

/* Checks handle and calling thread; NULL recorded. No reference: only this thread can end the worker. */
jni_worker_t *jni_worker_enter(jlong handle);

/* ---- jni_event.c */
/* Writes the event with its payload (two pieces) to the page; false when it has to wait. */
bool jni_event_write(jni_worker_t *worker, page_event_t *event, const void *first, size_t first_bytes,
                     const void *second, size_t second_bytes);
/* True when an event without payload can be written at once, in order. */
static inline bool jni_event_room(const jni_worker_t *worker)
{
    return worker->first == NULL && worker->event_count < worker->event_limit;
}
/* Writes the event of a successful operation; there is room. */
static inline void jni_event_done(jni_worker_t *worker, uint64_t token, uint64_t length)
{
    page_event_t *event = &worker->events[worker->event_count++];
    event->kind = EVENT_OP;
    event->status = VBN_OK;
    event->token = token;
    event->length = length;
}
/* Lets an event wait. */
void jni_event_queue(jni_worker_t *worker, jni_event_t *event);
/* Writes waiting events while there is room; true when none is left. */
bool jni_event_drain(jni_worker_t *worker);

/* ---- jni_callback.c */
void jni_on_message(void *arg, const vbn_am_message_t *message);
void jni_on_peer_lost(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text);
void jni_on_done(vbn_op_t *op, vbn_status_t status, size_t length);
/* Gives Java's object of a core peer, made when there is none; NULL recorded. */
jni_peer_t *jni_peer_of(jni_worker_t *worker, vbn_peer_t *peer);
void jni_peer_close(jni_worker_t *worker, jni_peer_t *peer);
void jni_op_free(jni_op_t *op);

/* ---- jni_submit.c */
/* Takes all commands of the ring. */
void jni_submit(jni_worker_t *worker);

#endif
