/* SPDX-License-Identifier: Apache-2.0
 * uri.c - keys as in URIs. */
#include "util/uri.h"

#include <stdbool.h>
#include <string.h>

static bool is_plain(unsigned char c)
{
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return letter || (c != '\0' && strchr("-._~", c) != NULL);
}

size_t uri_encode(const char *bytes, size_t length, char *text)
{
    static const char digits[] = "0123456789ABCDEF";
    char *at = text;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (is_plain(c)) {
            *at++ = (char)c;
            continue;
        }
        *at++ = '%';
        *at++ = digits[c >> 4];
        *at++ = digits[c & 15];
    }
    *at = '\0';
    return (size_t)(at - text);
}
