/* SPDX-License-Identifier: Apache-2.0
 * jni_context.c - natives of contexts: open, close, log lines, counters, settings; keys out of files. */
#include "jni_context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/key_file.h"
#include "jni_tables.h"

#define COUNTERS_MAX 512
#define LOG_RESERVE 64u /* for the line that says how many were dropped */

jni_context_t *jni_context_enter(jlong handle)
{
    jni_context_t *context = (jni_context_t *)jni_object_get(handle, JNI_CONTEXT);
    if (context == NULL)
        return NULL;
    pthread_rwlock_rdlock(&context->lock);
    if (context->context == NULL) {
        jni_context_leave(context);
        jni_status(err_set(VBN_ERR_STALE, "the context is closed"));
        return NULL;
    }
    return context;
}

void jni_context_leave(jni_context_t *context)
{
    pthread_rwlock_unlock(&context->lock);
    jni_object_put(&context->object);
}

static void context_destroy(jni_object_t *object)
{
    jni_context_t *context = (jni_context_t *)object;
    pthread_rwlock_destroy(&context->lock);
    pthread_mutex_destroy(&context->log_lock);
    free(context->log);
    free(context);
}

void jni_context_log(jni_context_t *context, const vbn_log_record_t *record)
{
    pthread_mutex_lock(&context->log_lock);
    char *to = context->log + context->log_used;
    size_t left = JNI_LOG_BYTES - LOG_RESERVE - context->log_used;
    int length = snprintf(to, left, "%d%d%016llx%s", (int)record->level, (int)record->category,
                          (unsigned long long)record->peer, record->text);
    if (length > 0 && (size_t)length < left)
        context->log_used += (size_t)length + 1;
    else
        context->log_dropped++;
    pthread_mutex_unlock(&context->log_lock);
    atomic_store_explicit(&context->log_pending, true, memory_order_release);
}

/* The core's log function, any thread. */
static void queue_record(void *arg, const vbn_log_record_t *record)
{
    jni_context_log(arg, record);
}

/* settings: key NUL value NUL ... */
static vbn_status_t apply_settings(vbn_config_t *config, const char *settings, size_t length)
{
    for (size_t at = 0; at < length;) {
        const char *key = settings + at;
        const char *value = key + strlen(key) + 1;
        if (value >= settings + length)
            return err_set(VBN_ERR_INVALID, "setting %s without value", key);
        vbn_status_t status = vbn_config_set(config, key, value);
        if (status < 0)
            return status;
        at = (size_t)(value - settings) + strlen(value) + 1;
    }
    return VBN_OK;
}

static vbn_status_t apply_job_key(JNIEnv *env, vbn_config_t *config, jbyteArray job_key)
{
    uint8_t key[VBN_JOB_KEY_BYTES];
    size_t length = 0;
    if (job_key == NULL)
        return VBN_OK;
    vbn_status_t status = jni_copy(env, job_key, key, sizeof(key), &length);
    if (status >= 0 && length != sizeof(key))
        status = err_set(VBN_ERR_INVALID, "a job key has %zu bytes, not %zu", sizeof(key), length);
    if (status >= 0)
        status = vbn_config_set_job_key(config, key);
    explicit_bzero(key, sizeof(key));
    return status;
}

static jbyteArray native_key_file(JNIEnv *env, jclass cls, jbyteArray path_bytes)
{
    (void)cls;
    uint8_t key[KEY_FILE_BYTES];
    jbyteArray result = NULL;
    char *path = jni_string(env, path_bytes, NULL);
    if (jni_status(path == NULL ? VBN_ERR_NO_MEMORY : key_file_read(path, false, key)) >= 0)
        result = jni_bytes(env, key, sizeof(key));
    free(path);
    explicit_bzero(key, sizeof(key));
    return result;
}

static jni_context_t *context_new(void)
{
    jni_context_t *context = calloc(1, sizeof(*context));
    if (context == NULL)
        return NULL;
    context->log = malloc(JNI_LOG_BYTES);
    if (context->log == NULL) {
        free(context);
        return NULL;
    }
    pthread_rwlock_init(&context->lock, NULL);
    pthread_mutex_init(&context->log_lock, NULL);
    return context;
}

static vbn_status_t context_open(JNIEnv *env, jni_context_t *context, jbyteArray settings, jbyteArray job_key)
{
    vbn_config_t *config;
    size_t length = 0;
    vbn_status_t status = vbn_config_create(&config);
    if (status < 0)
        return status;
    char *packed = jni_string(env, settings, &length);
    status = packed == NULL ? VBN_ERR_NO_MEMORY : apply_settings(config, packed, length);
    free(packed);
    if (status >= 0)
        status = apply_job_key(env, config, job_key);
    if (status >= 0) {
        vbn_config_set_log(config, queue_record, context);
        status = vbn_open(config, &context->context);
    }
    vbn_config_destroy(config);
    return status;
}

static jlong native_open(JNIEnv *env, jclass cls, jbyteArray settings, jbyteArray job_key)
{
    (void)cls;
    jni_context_t *context = context_new();
    if (context == NULL)
        return jni_fail(err_set(VBN_ERR_NO_MEMORY, "no memory for a context"));
    vbn_status_t status = context_open(env, context, settings, job_key);
    uint64_t handle = 0;
    if (jni_status(status) >= 0)
        handle = jni_object_add(&context->object, JNI_CONTEXT, context_destroy);
    if (handle == 0) {
        if (context->context != NULL)
            vbn_close(context->context);
        context_destroy(&context->object);
    }
    return (jlong)handle;
}

static jint native_close(JNIEnv *env, jclass cls, jlong handle)
{
    (void)env;
    (void)cls;
    jni_context_t *context = (jni_context_t *)jni_object_get(handle, JNI_CONTEXT);
    if (context == NULL)
        return VBN_ERR_STALE;
    pthread_rwlock_wrlock(&context->lock);
    vbn_status_t status = context->context == NULL ? VBN_OK : vbn_close(context->context);
    if (status >= 0)
        context->context = NULL;
    pthread_rwlock_unlock(&context->lock);
    if (status >= 0)
        jni_object_drop(handle, JNI_CONTEXT, JNI_CONTEXT);
    jni_object_put(&context->object);
    return jni_status(status);
}

static jbyteArray native_log(JNIEnv *env, jclass cls, jlong handle)
{
    (void)cls;
    jni_context_t *context = (jni_context_t *)jni_object_get(handle, JNI_CONTEXT);
    if (context == NULL)
        return NULL;
    jbyteArray lines = NULL;
    atomic_store_explicit(&context->log_pending, false, memory_order_relaxed);
    pthread_mutex_lock(&context->log_lock);
    if (context->log_dropped > 0) {
        int length = snprintf(context->log + context->log_used, LOG_RESERVE, "%d%d%016d%u log lines were dropped",
                              VBN_LOG_WARN, VBN_LOG_PROCESS, 0, context->log_dropped);
        context->log_used += (size_t)length + 1;
        context->log_dropped = 0;
    }
    size_t used = context->log_used;
    if (used > 0)
        lines = jni_bytes(env, context->log, used);
    context->log_used = 0;
    pthread_mutex_unlock(&context->log_lock);
    jni_object_put(&context->object);
    return lines;
}

static jbyteArray native_counters(JNIEnv *env, jclass cls, jlong handle)
{
    (void)cls;
    vbn_counter_t counters[COUNTERS_MAX];
    jni_context_t *context = jni_context_enter(handle);
    if (context == NULL)
        return NULL;
    size_t count = vbn_counters(context->context, counters, COUNTERS_MAX);
    jni_context_leave(context);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (out == NULL)
        return NULL;
    for (size_t i = 0; i < count && i < COUNTERS_MAX; i++)
        fprintf(out, "%s %llu\n", counters[i].name, (unsigned long long)counters[i].value);
    fclose(out);
    jbyteArray lines = jni_bytes(env, text, length);
    free(text);
    return lines;
}

static jbyteArray native_setting(JNIEnv *env, jclass cls, jlong handle, jbyteArray key_bytes)
{
    (void)cls;
    char value[512];
    jni_context_t *context = jni_context_enter(handle);
    if (context == NULL)
        return NULL;
    char *key = jni_string(env, key_bytes, NULL);
    vbn_status_t status = key == NULL ? VBN_ERR_NO_MEMORY
                                      : vbn_setting(context->context, key, value, sizeof(value), NULL);
    free(key);
    jni_context_leave(context);
    if (status < 0) {
        jni_status(status);
        return NULL;
    }
    return jni_bytes(env, value, strlen(value));
}

/* 0 with errorStatus() < 0 on failure. */
static jlong native_setting_number(JNIEnv *env, jclass cls, jlong handle, jbyteArray key_bytes)
{
    (void)cls;
    int64_t number = 0;
    jni_context_t *context = jni_context_enter(handle);
    if (context == NULL)
        return 0;
    char *key = jni_string(env, key_bytes, NULL);
    jni_status(key == NULL ? VBN_ERR_NO_MEMORY : vbn_setting(context->context, key, NULL, 0, &number));
    free(key);
    jni_context_leave(context);
    return number;
}

const JNINativeMethod jni_context_methods[] = {
    {"keyFileRead", "([B)[B", (void *)native_key_file},
    {"contextOpen", "([B[B)J", (void *)native_open},
    {"contextClose", "(J)I", (void *)native_close},
    {"contextLog", "(J)[B", (void *)native_log},
    {"contextCounters", "(J)[B", (void *)native_counters},
    {"contextSetting", "(J[B)[B", (void *)native_setting},
    {"contextSettingNumber", "(J[B)J", (void *)native_setting_number},
};
const jint jni_context_method_count = sizeof(jni_context_methods) / sizeof(jni_context_methods[0]);
