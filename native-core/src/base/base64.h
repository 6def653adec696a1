/* SPDX-License-Identifier: Apache-2.0
 * base64.h - bytes as letters, digits, '+' and '/', padded with '=' to a multiple of four or not. Pure functions without an object
 * file: mpi/, which sees the core's vbn_ functions only, includes this header as well. Any thread. */
#ifndef VBN_BASE_BASE64_H
#define VBN_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BASE64_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
#define BASE64_PADDED(bytes) (((bytes) + 2) / 3 * 4)           /* length of the padded text of so many bytes */
#define BASE64_UNPADDED(bytes) ((8 * (size_t)(bytes) + 5) / 6) /* of the one without padding */

/* `text` has space for BASE64_PADDED(length) or BASE64_UNPADDED(length) bytes, and gets no zero byte at the end. Returns the
 * length of the text. */
static inline size_t base64_encode(const void *bytes, size_t length, bool padded, char *text)
{
    const uint8_t *from = (const uint8_t *)bytes;
    uint32_t word = 0;
    unsigned bits = 0;
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        word = word << 8 | from[i];
        for (bits += 8; bits >= 6; bits -= 6)
            text[used++] = BASE64_DIGITS[word >> (bits - 6) & 63];
    }
    if (bits > 0)
        text[used++] = BASE64_DIGITS[word << (6 - bits) & 63];
    while (padded && used % 4 != 0)
        text[used++] = '=';
    return used;
}

/* The value of a digit; -1: the character is none. */
static inline int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Length of a text without its padding; SIZE_MAX: no text has this length. */
static inline size_t base64_digits(const char *text, size_t length, bool padded)
{
    if (padded && length % 4 != 0)
        return SIZE_MAX;
    for (unsigned i = 0; padded && i < 2 && length > 0 && text[length - 1] == '='; i++)
        length--;
    return length % 4 == 1 ? SIZE_MAX : length;
}

/* Writes at most `capacity` bytes, and their number to *length_p. False: the text is not base64, or stands for more bytes;
 * `bytes` may be overwritten then. */
static inline bool base64_decode(const char *text, size_t length, bool padded, void *bytes, size_t capacity,
                                 size_t *length_p)
{
    uint8_t *to = (uint8_t *)bytes;
    size_t digits = base64_digits(text, length, padded);
    uint32_t word = 0;
    unsigned bits = 0;
    size_t used = 0;
    if (digits == SIZE_MAX || digits / 4 * 3 + digits % 4 * 3 / 4 > capacity)
        return false;
    for (size_t i = 0; i < digits; i++) {
        int digit = base64_digit(text[i]);
        if (digit < 0)
            return false;
        word = word << 6 | (uint32_t)digit;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            to[used++] = (uint8_t)(word >> bits);
        }
    }
    *length_p = used;
    return true;
}

#endif
