/* SPDX-License-Identifier: Apache-2.0
 * jni_load.c - registers the natives when the JVM loads the library. */
#include "jni_tables.h"

#include <stddef.h>

/* The class is found by its name below this prefix, so that a jar that relocates it fails here and not later. */
#define NATIVE_CLASS "org/verbena/core/Native"

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved)
{
    (void)reserved;
    JNIEnv *env;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_10) != JNI_OK)
        return JNI_ERR;
    jclass cls = (*env)->FindClass(env, NATIVE_CLASS);
    if (cls == NULL)
        return JNI_ERR; /* the pending NoClassDefFoundError says what is missing */
    const struct {
        const JNINativeMethod *methods;
        jint count;
    } tables[] = {
        {jni_object_methods, jni_object_method_count}, {jni_context_methods, jni_context_method_count},
        {jni_memory_methods, jni_memory_method_count}, {jni_worker_methods, jni_worker_method_count},
        {jni_shared_methods, jni_shared_method_count}, {jni_peer_methods, jni_peer_method_count},
    };
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        if ((*env)->RegisterNatives(env, cls, tables[i].methods, tables[i].count) != JNI_OK)
            return JNI_ERR;
    }
    return JNI_VERSION_10;
}
