/* SPDX-License-Identifier: Apache-2.0
 * jni_memory.c - natives of memory, and of mappings of peers' memory. Any thread. */
#include "jni_memory.h"

#include <stdlib.h>
#include <string.h>

#include "jni_context.h"
#include "jni_tables.h"

static void memory_destroy(jni_object_t *object)
{
    jni_memory_t *memory = (jni_memory_t *)object;
    vbn_key_unmap(memory->mapping);
    vbn_mem_free(memory->mem);
    free(memory);
}

static jlong memory_add(jni_memory_t *memory, jni_kind_t kind)
{
    uint64_t handle = jni_object_add(&memory->object, kind, memory_destroy);
    if (handle == 0)
        memory_destroy(&memory->object);
    return (jlong)handle;
}

jlong jni_mapping_new(vbn_mapping_t *mapping, void *address, size_t size)
{
    jni_memory_t *memory = calloc(1, sizeof(*memory));
    if (memory == NULL) {
        vbn_key_unmap(mapping);
        return jni_fail(err_set(VBN_ERR_NO_MEMORY, "no memory for a mapping"));
    }
    memory->mapping = mapping;
    memory->address = address;
    memory->size = size;
    return memory_add(memory, JNI_MAPPING);
}

static vbn_status_t memory_make(vbn_context_t *context, jlong bytes, const char *path, vbn_mem_t **mem_p)
{
    if (bytes < 0)
        return vbn_mem_open(context, path, mem_p);
    return vbn_mem_alloc(context, (size_t)bytes, path == NULL ? VBN_BACKING_MEMFD : VBN_BACKING_FILE, path, mem_p);
}

/* bytes < 0: opens the file of another process. */
static jlong memory_new(JNIEnv *env, jlong handle, jlong bytes, jbyteArray path_bytes)
{
    jni_context_t *context = jni_context_enter(handle);
    if (context == NULL)
        return 0;
    jni_memory_t *memory = calloc(1, sizeof(*memory));
    char *path = path_bytes == NULL ? NULL : jni_string(env, path_bytes, NULL);
    vbn_status_t status = memory == NULL || (path == NULL && path_bytes != NULL)
                              ? err_set(VBN_ERR_NO_MEMORY, "no memory for a memory object")
                              : memory_make(context->context, bytes, path, &memory->mem);
    free(path);
    jni_context_leave(context);
    if (status < 0) {
        free(memory);
        return jni_fail(status);
    }
    memory->address = vbn_mem_address(memory->mem);
    memory->size = vbn_mem_size(memory->mem);
    return memory_add(memory, JNI_MEMORY);
}

static jlong native_alloc(JNIEnv *env, jclass cls, jlong context, jlong bytes, jbyteArray path)
{
    (void)cls;
    if (bytes <= 0)
        return jni_fail(err_set(VBN_ERR_INVALID, "memory of %lld bytes", (long long)bytes));
    return memory_new(env, context, bytes, path);
}

static jlong native_open(JNIEnv *env, jclass cls, jlong context, jbyteArray path)
{
    (void)cls;
    if (path == NULL)
        return jni_fail(err_set(VBN_ERR_INVALID, "no path"));
    return memory_new(env, context, -1, path);
}

static jlong native_size(JNIEnv *env, jclass cls, jlong handle)
{
    (void)env;
    (void)cls;
    jni_memory_t *memory = (jni_memory_t *)jni_object_get_any(handle, JNI_MEMORY, JNI_MAPPING);
    if (memory == NULL)
        return VBN_ERR_STALE;
    jlong size = (jlong)memory->size;
    jni_object_put(&memory->object);
    return size;
}

static jobject native_view(JNIEnv *env, jclass cls, jlong handle, jlong offset, jint length)
{
    (void)cls;
    jni_memory_t *memory = (jni_memory_t *)jni_object_get_any(handle, JNI_MEMORY, JNI_MAPPING);
    if (memory == NULL)
        return NULL;
    jobject view = NULL;
    if (offset < 0 || length < 0 || (uint64_t)offset > memory->size ||
        (uint64_t)length > memory->size - (uint64_t)offset)
        jni_status(err_set(VBN_ERR_RANGE, "view of %d bytes at %lld of a memory of %llu bytes", length,
                           (long long)offset, (unsigned long long)memory->size));
    else
        view = (*env)->NewDirectByteBuffer(env, memory->address + offset, length);
    jni_object_put(&memory->object);
    return view;
}

static jint native_revoke(JNIEnv *env, jclass cls, jlong handle, jboolean discards)
{
    (void)env;
    (void)cls;
    jni_memory_t *memory = (jni_memory_t *)jni_object_get_any(handle, JNI_MEMORY, JNI_MAPPING);
    if (memory == NULL)
        return VBN_ERR_STALE;
    vbn_status_t status = discards ? vbn_mem_discard(memory->mem) : vbn_mem_revoke(memory->mem);
    jni_object_put(&memory->object);
    return jni_status(status);
}

static jint native_free(JNIEnv *env, jclass cls, jlong handle)
{
    (void)env;
    (void)cls;
    return jni_object_drop(handle, JNI_MEMORY, JNI_MAPPING) ? VBN_OK : VBN_ERR_STALE;
}

static jbyteArray native_export(JNIEnv *env, jclass cls, jlong handle, jlong offset, jlong length, jboolean writable)
{
    (void)cls;
    uint8_t blob[VBN_KEY_MAX];
    size_t blob_bytes = sizeof(blob);
    jni_memory_t *memory = (jni_memory_t *)jni_object_get(handle, JNI_MEMORY);
    if (memory == NULL)
        return NULL;
    vbn_status_t status = offset < 0 || length < 0
                              ? err_set(VBN_ERR_RANGE, "negative offset or length")
                              : vbn_key_export(memory->mem, (size_t)offset, (size_t)length,
                                               VBN_ACCESS_READ | (writable ? VBN_ACCESS_WRITE : 0u), blob, &blob_bytes);
    jni_object_put(&memory->object);
    if (status < 0) {
        jni_status(status);
        return NULL;
    }
    return jni_bytes(env, blob, blob_bytes);
}

const JNINativeMethod jni_memory_methods[] = {
    {"memAlloc", "(JJ[B)J", (void *)native_alloc},    {"memOpen", "(J[B)J", (void *)native_open},
    {"memSize", "(J)J", (void *)native_size},         {"memView", "(JJI)Ljava/nio/ByteBuffer;", (void *)native_view},
    {"memRevoke", "(JZ)I", (void *)native_revoke},    {"memFree", "(J)I", (void *)native_free},
    {"keyExport", "(JJJZ)[B", (void *)native_export},
};
const jint jni_memory_method_count = sizeof(jni_memory_methods) / sizeof(jni_memory_methods[0]);
