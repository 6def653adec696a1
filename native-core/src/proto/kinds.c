/* SPDX-License-Identifier: Apache-2.0
 * kinds.c - the table of operation kinds: what is particular to each. A new kind is a row here and a value of op_kind_t. */
#include "proto/am.h"
#include "proto/rma.h"
#include "proto/tag.h"
#include "proto/ways/way.h"

const proto_kind_t PROTO_KINDS[OP_KINDS] = {
    /* an eager message: the link's call-back ends it */
    [OP_SMALL] = {.quiet = true, .sends = true},
    /* a rendezvous message, at its sender */
    [OP_LARGE] = {.on_status = large_on_status, .on_end = large_on_end, .sends = true},
    /* the same at its receiver, and a tagged receive that has got one */
    [OP_PULL] = {.on_status = pull_on_status, .on_data = pull_on_data, .on_end = pull_on_end, .quiet = true},
    [OP_GET] = {.start = get_start,
                .copy = rma_copy,
                .on_status = get_on_status,
                .on_data = get_on_data,
                .on_end = get_on_end,
                .quiet = true},
    [OP_PUT] = {.start = put_start,
                .copy = rma_copy,
                .on_status = put_on_status,
                .on_sent = fence_leave,
                .on_end = put_on_end,
                .writes = true,
                .sends = true},
    [OP_FLUSH] = {.quiet = true},
    [OP_ATOMIC] =
        {.start = amo_start, .copy = amo_copy, .on_status = amo_on_status, .on_end = amo_on_end, .writes = true},
    /* a tagged receive that waits for a message */
    [OP_RECEIVE] = {.quiet = true},
    /* an eager tagged message with VBN_TAG_SYNC */
    [OP_SYNC] = {.on_status = sync_on_status, .quiet = true, .sends = true},
    /* KEY_ASK */
    [OP_KEY] = {.on_status = key_on_status, .quiet = true},
    /* vbn_key_import with an operation: the decision about the mapping ends it */
    [OP_IMPORT] = {.quiet = true},
};
_Static_assert(OP_KINDS == 11, "each kind has a row");
