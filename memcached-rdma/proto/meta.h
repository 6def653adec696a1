/* SPDX-License-Identifier: Apache-2.0
 * meta.h - the meta commands mg, ms, md, ma, me, mn. */
#ifndef MC_PROTO_META_H
#define MC_PROTO_META_H

#include "proto/request.h"

/* The commands of flags.def, as bits. */
#define META_COMMAND(kind) (1u << ((kind) - REQUEST_META_GET))
enum {
    MG = META_COMMAND(REQUEST_META_GET),
    MS = META_COMMAND(REQUEST_META_PUT),
    MD = META_COMMAND(REQUEST_META_DELETE),
    MA = META_COMMAND(REQUEST_META_DELTA),
    ME = META_COMMAND(REQUEST_META_DEBUG)
};

/* Parses what follows the name of a meta command (request->rest); kind is set. */
void meta_parse(request_t *request);
/* Encodes; returns the length. `text` has space for BASE64_KEY_MAX bytes, which are those of the longest key. */
#define BASE64_KEY_MAX ((KEY_MAX + 2) / 3 * 4)
size_t base64_encode(const char *bytes, size_t length, char *text);
/* Decodes base64. Returns the length, 0 when it is malformed or longer than `capacity`. */
size_t base64_decode(const char *text, size_t length, char *bytes, size_t capacity);

#endif
