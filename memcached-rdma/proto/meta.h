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

#endif
