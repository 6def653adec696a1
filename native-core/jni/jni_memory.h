/* SPDX-License-Identifier: Apache-2.0
 * jni_memory.h - memory of ours, or a mapping of a peer's, that Java holds. */
#ifndef VBN_JNI_MEMORY_H
#define VBN_JNI_MEMORY_H

#include "jni_object.h"
#include "mem/mem.h"

typedef struct jni_memory {
    jni_object_t object;
    vbn_mem_t *mem;       /* JNI_MEMORY, else NULL */
    mem_import_t *import; /* JNI_MAPPING, else NULL; the reference is ours */
    uint8_t *address;
    uint64_t size;
} jni_memory_t;

/* Takes over the reference on the import, also on failure; 0 (recorded) on failure. */
jlong jni_mapping_new(mem_import_t *import, const mem_key_info_t *info);

#endif
