/* SPDX-License-Identifier: Apache-2.0
 * bytes.c - bulk copies.
 *
 * The C library copies from about 2 KiB to 512 KiB with the processor's string instruction. Where the destination lies a few
 * bytes behind the source, seen within a page, that falls to a fifteenth of its speed on some processors (AMD Zen 3: 3 instead
 * of 50 GB/s), and such is what malloc gives (16 bytes behind the start of a page) beside the start of a page. There a
 * loop copies. */
#include "base/bytes.h"

#if defined(__SSE2__)
#include <emmintrin.h>

#define STRING_FROM 2048u
#define STRING_TO (1u << 20)
#define LINE 64u

static bool string_is_slow(const uint8_t *to, const uint8_t *from, size_t length)
{
    return length >= STRING_FROM && length <= STRING_TO && bytes_lie_behind((uintptr_t)to, (uintptr_t)from);
}

static inline void copy_line(uint8_t *to, const uint8_t *from)
{
    for (unsigned i = 0; i < LINE; i += 16)
        _mm_storeu_si128((__m128i *)(void *)(to + i), _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
}

/* At least two lines, from the end to the start: otherwise each load would look, within its page, as if it hit what was stored
 * just before. The first and the last line may overlap others. */
static void copy_lines(uint8_t *to, const uint8_t *from, size_t length)
{
    size_t at = length - (uintptr_t)(to + length) % LINE; /* whole lines of the destination end here */
    copy_line(to + length - LINE, from + length - LINE);
    for (; at >= LINE; at -= LINE)
        copy_line(to + at - LINE, from + at - LINE);
    copy_line(to, from);
}

void bytes_copy_bulk(void *to, const void *from, size_t length)
{
    if (string_is_slow(to, from, length))
        copy_lines(to, from, length);
    else
        memcpy(to, from, length);
}

#else

void bytes_copy_bulk(void *to, const void *from, size_t length)
{
    memcpy(to, from, length);
}

#endif
