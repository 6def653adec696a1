/* SPDX-License-Identifier: Apache-2.0
 * uri.h - keys in lines that are made of words, as in URIs. */
#ifndef MC_UTIL_URI_H
#define MC_UTIL_URI_H

#include <stddef.h>

#define URI_BYTES(length) (3 * (length) + 1)

/* Writes letters, digits and "-._~" as they are, every other byte as %XX, and a zero byte at the end. Returns the length; text
 * has URI_BYTES(length). */
size_t uri_encode(const char *bytes, size_t length, char *text);

#endif
