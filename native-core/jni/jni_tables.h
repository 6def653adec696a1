/* SPDX-License-Identifier: Apache-2.0
 * jni_tables.h - the natives of each file, registered by jni_load.c for the class org.verbena.core.Native. */
#ifndef VBN_JNI_TABLES_H
#define VBN_JNI_TABLES_H

#include <jni.h>

extern const JNINativeMethod jni_object_methods[];
extern const jint jni_object_method_count;
extern const JNINativeMethod jni_context_methods[];
extern const jint jni_context_method_count;
extern const JNINativeMethod jni_memory_methods[];
extern const jint jni_memory_method_count;
extern const JNINativeMethod jni_worker_methods[];
extern const jint jni_worker_method_count;
extern const JNINativeMethod jni_shared_methods[];
extern const jint jni_shared_method_count;
extern const JNINativeMethod jni_peer_methods[];
extern const jint jni_peer_method_count;

#endif
