/* SPDX-License-Identifier: Apache-2.0
 * fuzz.h - what all fuzz targets share: the entry point, a check that aborts, and a reader of the input as a script. */
#ifndef VBN_FUZZ_H
#define VBN_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An invariant of the code under test; the one that does not hold is printed. */
#define require(condition) require_that((condition), #condition, __FILE__, __LINE__)

static inline void require_that(bool holds, const char *condition, const char *file, int line)
{
    if (holds)
        return;
    fprintf(stderr, "%s:%d: Assertion `%s' failed.\n", file, line, condition);
    abort();
}

/* The input, read from the front; what is missing reads as 0. */
typedef struct script {
    const uint8_t *at;
    size_t left;
} script_t;

static inline void script_bytes(script_t *script, void *to, size_t count)
{
    size_t there = count < script->left ? count : script->left;
    memset(to, 0, count);
    if (there > 0)
        memcpy(to, script->at, there);
    script->at += there;
    script->left -= there;
}

static inline uint8_t script_u8(script_t *script)
{
    uint8_t value;
    script_bytes(script, &value, sizeof(value));
    return value;
}

static inline uint16_t script_u16(script_t *script)
{
    uint16_t value;
    script_bytes(script, &value, sizeof(value));
    return value;
}

static inline uint32_t script_u32(script_t *script)
{
    uint32_t value;
    script_bytes(script, &value, sizeof(value));
    return value;
}

static inline uint64_t script_u64(script_t *script)
{
    uint64_t value;
    script_bytes(script, &value, sizeof(value));
    return value;
}

/* Reads every byte, so that the sanitizer sees those that are not there. */
static inline unsigned fuzz_touch(const void *bytes, size_t count)
{
    const volatile uint8_t *at = bytes;
    unsigned sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += at[i];
    return sum;
}

#endif
