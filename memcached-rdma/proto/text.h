/* SPDX-License-Identifier: Apache-2.0
 * text.h - command lines of the text and meta protocols. Pure: bytes in, a request out. */
#ifndef MC_PROTO_TEXT_H
#define MC_PROTO_TEXT_H

#include <string.h>

#include "proto/request.h"

/* Parses a command line; `line` is without its end (text_line). */
void text_parse(const char *line, size_t length, request_t *request);
/* Length of a line of `length` bytes without its "\r\n" or "\n"; what follows a zero byte is not part of it. */
size_t text_line(const char *line, size_t length);
/* A list of keys may be longer than LINE_MAX_BYTES: true when the bytes begin like one. */
bool text_is_long_get(const char *bytes, size_t length);

/* The next word, and what follows it in *rest; empty: there is none. */
static inline text_t text_word(text_t *rest)
{
    while (rest->length > 0 && *rest->at == ' ') {
        rest->at++;
        rest->length--;
    }
    const char *end = (const char *)memchr(rest->at, ' ', rest->length);
    text_t word = {rest->at, end == NULL ? rest->length : (size_t)(end - rest->at)};
    rest->at += word.length;
    rest->length -= word.length;
    return word;
}

#endif
