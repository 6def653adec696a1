/* SPDX-License-Identifier: Apache-2.0
 * jni_context.h - a context that Java holds, and its queue of log lines. */
#ifndef VBN_JNI_CONTEXT_H
#define VBN_JNI_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "jni_object.h"

#define JNI_LOG_BYTES 65536u /* lines beyond that are counted and dropped until Java drains */

typedef struct jni_context {
    jni_object_t object;
    pthread_rwlock_t lock;    /* read: `context` in use; write: being closed */
    vbn_context_t *context;   /* NULL when closed */
    pthread_mutex_t log_lock; /* guards the log fields; taken last */
    char *log;                /* per line: digits of level and category, 16 hex digits of the peer, text, NUL */
    size_t log_used;
    unsigned log_dropped;
    atomic_bool log_pending; /* Java has not been told of new lines */
} jni_context_t;

/* Takes a reference and the read lock; NULL (recorded) when stale. */
jni_context_t *jni_context_enter(jlong handle);
void jni_context_leave(jni_context_t *context);
/* Queues a line of the binding's own for Java, as the core's lines are. Any thread. */
void jni_context_log(jni_context_t *context, const vbn_log_record_t *record);

#endif
