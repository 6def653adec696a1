/* SPDX-License-Identifier: Apache-2.0
 * base64.c - bytes as text that a launcher's lines can carry: no spaces, no '='.
 */
#include "pmi/pmi.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t pmi_encode(char *text, size_t capacity, const void *bytes, size_t length)
{
    const uint8_t *from = bytes;
    const size_t needed = (length * 8 + 5) / 6;
    size_t used = 0;
    if (needed + 1 > capacity)
        return SIZE_MAX;
    uint32_t word = 0;
    unsigned bits = 0;
    for (size_t i = 0; i < length; i++) {
        word = word << 8 | from[i];
        for (bits += 8; bits >= 6; bits -= 6)
            text[used++] = digits[word >> (bits - 6) & 63];
    }
    if (bits > 0)
        text[used++] = digits[word << (6 - bits) & 63];
    text[used] = 0;
    return used;
}

size_t pmi_decode(void *bytes, size_t capacity, const char *text)
{
    uint8_t *to = bytes;
    size_t used = 0;
    uint32_t word = 0;
    unsigned bits = 0;
    for (; *text != 0; text++) {
        const char *digit = strchr(digits, *text);
        if (digit == NULL)
            return SIZE_MAX;
        word = word << 6 | (uint32_t)(digit - digits);
        bits += 6;
        if (bits < 8)
            continue;
        bits -= 8;
        if (used == capacity)
            return SIZE_MAX;
        to[used++] = (uint8_t)(word >> bits);
    }
    return used;
}
