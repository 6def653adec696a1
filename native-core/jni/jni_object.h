/* SPDX-License-Identifier: Apache-2.0
 * jni_object.h - process-wide table of native objects that Java holds by handle, with reference counts, so that a stale
 * handle is an error and an object never goes while a call uses it.
 *
 * Any thread. The table holds one reference until jni_object_drop; a call holds one from get to put; the last one calls
 * `destroy`, outside the lock. */
#ifndef VBN_JNI_OBJECT_H
#define VBN_JNI_OBJECT_H

#include <jni.h>
#include <pthread.h>
#include <stdint.h>

#include "base/status.h"

typedef enum jni_kind { JNI_CONTEXT, JNI_WORKER, JNI_MEMORY, JNI_MAPPING } jni_kind_t;

typedef struct jni_object jni_object_t;
struct jni_object {
    void (*destroy)(jni_object_t *object);
    pthread_t owner; /* the thread of jni_object_add, or of the last jni_object_take */
    uint32_t references;
    jni_kind_t kind;
};

/* Puts the object into the table; 0 when that fails (error recorded, reference stays the caller's). */
uint64_t jni_object_add(jni_object_t *object, jni_kind_t kind, void (*destroy)(jni_object_t *object));
/* NULL, with VBN_ERR_STALE recorded, when the handle is not live or of another kind. */
jni_object_t *jni_object_get(jlong handle, jni_kind_t kind);
/* As jni_object_get, for objects that only the thread which made them may use and end: no reference is taken, another
 * thread gets NULL with VBN_ERR_INVALID. */
jni_object_t *jni_object_own(jlong handle, jni_kind_t kind);
/* The calling thread becomes the owner; the one before must not use the object any more. VBN_ERR_STALE recorded. */
vbn_status_t jni_object_take(jlong handle, jni_kind_t kind);
/* As jni_object_get for either of two kinds. */
jni_object_t *jni_object_get_any(jlong handle, jni_kind_t kind, jni_kind_t other);
void jni_object_put(jni_object_t *object);
/* Makes the handle stale and drops the table's reference; false (recorded) when it was stale already. */
int jni_object_drop(jlong handle, jni_kind_t kind, jni_kind_t other);
/* Runs func on a live object under the table's lock. func must be short. VBN_ERR_STALE recorded. */
vbn_status_t jni_object_with(jlong handle, jni_kind_t kind, void (*func)(jni_object_t *object));

/* ------------------------------------------------------------------------------------------- errors, arrays */

/* Remembers the status for errorStatus(); returns it. The text is the core's error record. */
vbn_status_t jni_status(vbn_status_t status);
vbn_status_t jni_last_status(void);
/* As jni_status, but gives 0, for calls that return a handle. */
static inline jlong jni_fail(vbn_status_t status)
{
    jni_status(status);
    return 0;
}
/* A new byte[]; NULL with a pending OutOfMemoryError. */
jbyteArray jni_bytes(JNIEnv *env, const void *data, size_t length);
/* Copies a byte[] of at most capacity bytes; VBN_ERR_INVALID. */
vbn_status_t jni_copy(JNIEnv *env, jbyteArray array, void *to, size_t capacity, size_t *length_p);
/* Copies a byte[] to a malloc'ed string with a NUL at its end; NULL recorded. Caller frees. */
char *jni_string(JNIEnv *env, jbyteArray array, size_t *length_p);

#endif
