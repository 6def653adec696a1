/* SPDX-License-Identifier: Apache-2.0
 * jni_memory.h - memory of ours, or a mapping of a peer's, that Java holds. */
#ifndef VBN_JNI_MEMORY_H
#define VBN_JNI_MEMORY_H

#include "jni_object.h"

typedef struct jni_memory {
    jni_object_t object;
    vbn_mem_t *mem;         /* JNI_MEMORY, else NULL */
    vbn_mapping_t *mapping; /* JNI_MAPPING, else NULL */
    uint8_t *address;
    uint64_t size;
} jni_memory_t;

/* Takes over the mapping, also on failure; 0 (recorded) on failure. */
jlong jni_mapping_new(vbn_mapping_t *mapping, void *address, size_t size);

#endif
