/* SPDX-License-Identifier: Apache-2.0
 * bytes.h - copies of users' data, of any length. */
#ifndef VBN_BASE_BYTES_H
#define VBN_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "vbn/vbn.h"

/* memcpy, but fast wherever both lie (bytes.c). */
void bytes_copy_bulk(void *to, const void *from, size_t length);

/* Where `to` lies so few bytes behind `from`, seen within a page, that the processor's string instruction is slow. */
#define BYTES_PAGE 4096u
#define BYTES_BEHIND 128u

static inline bool bytes_lie_behind(uint64_t to, uint64_t from)
{
    uint64_t behind = (to - from) % BYTES_PAGE;
    return behind != 0 && behind < BYTES_BEHIND;
}

/* For lengths that are mostly a few words: no call up to 64 bytes, and 8-byte stores are read back as they were
 * written (a wider load of several fresh stores waits for the cache). Both lie in different objects. */
static inline void bytes_copy(void *to, const void *from, size_t length)
{
    uint8_t *t = (uint8_t *)to; /* casts: tests are C++ */
    const uint8_t *f = (const uint8_t *)from;
    if (__builtin_expect(length > 64, 0)) {
        bytes_copy_bulk(t, f, length);
        return;
    }
    for (; length >= 8; length -= 8, t += 8, f += 8)
        memcpy(t, f, 8);
    for (; length > 0; length--)
        *t++ = *f++;
}

/* A copy of which other processes see one side (`seen`: to or from): vbn_copy_words, of any length. */
static inline void bytes_copy_seen(void *to, const void *from, size_t length, const void *seen)
{
    if (__builtin_expect(length > VBN_WORDS_MAX, 0))
        bytes_copy_bulk(to, from, length);
    else
        vbn_copy_words(to, from, length, seen);
}

#endif
