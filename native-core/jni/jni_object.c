/* SPDX-License-Identifier: Apache-2.0
 * jni_object.c - the table of native objects, error status per thread, byte arrays. */
#include "jni_object.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/handle.h"
#include "base/os.h"
#include "jni_page.h"
#include "jni_tables.h"

#define OBJECT_LIMIT (1u << 20)

/* The one global of the library: Java's handles carry no pointer. Guards the table and all `references`. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static handle_table_t table = {.first_free = UINT32_MAX, .limit = OBJECT_LIMIT};
static _Thread_local vbn_status_t last_status;

static const char *kind_name(jni_kind_t kind)
{
    static const char *const names[] = {"context", "worker", "memory", "mapping"};
    return names[kind];
}

uint64_t jni_object_add(jni_object_t *object, jni_kind_t kind, void (*destroy)(jni_object_t *object))
{
    uint64_t handle = 0;
    object->kind = kind;
    object->destroy = destroy;
    object->references = 1;
    object->owner = pthread_self();
    pthread_mutex_lock(&table_lock);
    vbn_status_t status = handle_new(&table, object, &handle);
    pthread_mutex_unlock(&table_lock);
    if (status < 0)
        jni_status(status);
    return handle;
}

/* Under the lock. */
static jni_object_t *find(jlong handle, jni_kind_t kind, jni_kind_t other)
{
    jni_object_t *object = handle_get(&table, (uint64_t)handle);
    return object != NULL && (object->kind == kind || object->kind == other) ? object : NULL;
}

static vbn_status_t stale(jlong handle, jni_kind_t kind)
{
    return jni_status(err_set(VBN_ERR_STALE, "handle %llx is of no open %s: it was closed, or is of another kind",
                              (unsigned long long)handle, kind_name(kind)));
}

jni_object_t *jni_object_get_any(jlong handle, jni_kind_t kind, jni_kind_t other)
{
    pthread_mutex_lock(&table_lock);
    jni_object_t *object = find(handle, kind, other);
    if (object != NULL)
        object->references++;
    pthread_mutex_unlock(&table_lock);
    if (object == NULL)
        stale(handle, kind);
    return object;
}

jni_object_t *jni_object_own(jlong handle, jni_kind_t kind)
{
    pthread_mutex_lock(&table_lock);
    jni_object_t *object = find(handle, kind, kind);
    bool own = object != NULL && pthread_equal(object->owner, pthread_self());
    pthread_mutex_unlock(&table_lock);
    if (object == NULL)
        stale(handle, kind);
    else if (!own)
        jni_status(err_set(VBN_ERR_INVALID, "a %s may be used by the thread that owns it only", kind_name(kind)));
    return own ? object : NULL;
}

jni_object_t *jni_object_get(jlong handle, jni_kind_t kind)
{
    return jni_object_get_any(handle, kind, kind);
}

void jni_object_put(jni_object_t *object)
{
    pthread_mutex_lock(&table_lock);
    bool last = --object->references == 0;
    pthread_mutex_unlock(&table_lock);
    if (last)
        object->destroy(object);
}

int jni_object_drop(jlong handle, jni_kind_t kind, jni_kind_t other)
{
    pthread_mutex_lock(&table_lock);
    jni_object_t *object = find(handle, kind, other);
    if (object != NULL)
        handle_drop(&table, (uint64_t)handle);
    pthread_mutex_unlock(&table_lock);
    if (object == NULL) {
        stale(handle, kind);
        return 0;
    }
    jni_object_put(object);
    return 1;
}

vbn_status_t jni_object_with(jlong handle, jni_kind_t kind, void (*func)(jni_object_t *object))
{
    pthread_mutex_lock(&table_lock);
    jni_object_t *object = find(handle, kind, kind);
    if (object != NULL)
        func(object);
    pthread_mutex_unlock(&table_lock);
    return object == NULL ? stale(handle, kind) : VBN_OK;
}

static void take(jni_object_t *object)
{
    object->owner = pthread_self();
}

vbn_status_t jni_object_take(jlong handle, jni_kind_t kind)
{
    return jni_object_with(handle, kind, take);
}

vbn_status_t jni_status(vbn_status_t status)
{
    last_status = status;
    return status;
}

vbn_status_t jni_last_status(void)
{
    return last_status;
}

jbyteArray jni_bytes(JNIEnv *env, const void *data, size_t length)
{
    jbyteArray array = (*env)->NewByteArray(env, (jsize)length);
    if (array != NULL && length > 0)
        (*env)->SetByteArrayRegion(env, array, 0, (jsize)length, data);
    return array;
}

vbn_status_t jni_copy(JNIEnv *env, jbyteArray array, void *to, size_t capacity, size_t *length_p)
{
    size_t length = array == NULL ? 0 : (size_t)(*env)->GetArrayLength(env, array);
    if (array == NULL || length > capacity)
        return err_set(VBN_ERR_INVALID, "an array of %zu bytes, at most %zu are possible", length, capacity);
    (*env)->GetByteArrayRegion(env, array, 0, (jsize)length, to);
    *length_p = length;
    return VBN_OK;
}

char *jni_string(JNIEnv *env, jbyteArray array, size_t *length_p)
{
    size_t length = array == NULL ? 0 : (size_t)(*env)->GetArrayLength(env, array);
    char *text = calloc(1, length + 1);
    if (text == NULL) {
        jni_status(err_set(VBN_ERR_NO_MEMORY, "no memory for %zu bytes", length + 1));
        return NULL;
    }
    if (length > 0)
        (*env)->GetByteArrayRegion(env, array, 0, (jsize)length, (jbyte *)text);
    if (length_p != NULL)
        *length_p = length;
    return text;
}

/* ---------------------------------------------------------------------------------------------- natives */

static jint native_error_status(JNIEnv *env, jclass cls)
{
    (void)env;
    (void)cls;
    return last_status;
}

static jbyteArray native_error_text(JNIEnv *env, jclass cls)
{
    (void)cls;
    const char *text = vbn_error_text();
    return jni_bytes(env, text, strlen(text));
}

static jlong native_buffer_address(JNIEnv *env, jclass cls, jobject buffer, jboolean discards)
{
    (void)cls;
    void *address = buffer == NULL ? NULL : (*env)->GetDirectBufferAddress(env, buffer);
    if (address != NULL && discards)
        os_empty(address, (size_t)(*env)->GetDirectBufferCapacity(env, buffer));
    return (jlong)(uintptr_t)address;
}

static jint native_page_version(JNIEnv *env, jclass cls)
{
    (void)env;
    (void)cls;
    return PAGE_VERSION;
}

const JNINativeMethod jni_object_methods[] = {
    {"errorStatus", "()I", (void *)native_error_status},
    {"errorText", "()[B", (void *)native_error_text},
    {"pageVersion", "()I", (void *)native_page_version},
    {"bufferAddress", "(Ljava/nio/ByteBuffer;Z)J", (void *)native_buffer_address},
};
const jint jni_object_method_count = sizeof(jni_object_methods) / sizeof(jni_object_methods[0]);
