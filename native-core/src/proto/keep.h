/* SPDX-License-Identifier: Apache-2.0
 * keep.h - mappings of peers' memory that announced messages come from, kept while they are in use: a mapping takes a
 * round trip and page faults to make, and the pages of a memory that its owner freed live as long as it does. */
#ifndef VBN_PROTO_KEEP_H
#define VBN_PROTO_KEEP_H

#include "base/wheel.h"
#include "link/link.h"

#define KEEP_MAX 16u
#define KEEP_NS UINT64_C(1000000000) /* a mapping that was not used for one to two of these is let go */

typedef struct keep_entry {
    mem_key_info_t info; /* owner_id 0 = free */
    uint64_t source;
    mem_import_t *import; /* NULL while pending, and when it could not be made */
    bool pending;
    bool used; /* since the last tick */
} keep_entry_t;

/* One per engine; the worker's thread. */
typedef struct keep {
    keep_entry_t entries[KEEP_MAX];
    wheel_timer_t timer;
    link_engine_t *link;
    mem_registry_t *memory;
    bool ticking;
} keep_t;

void keep_open(keep_t *keep, mem_registry_t *memory);
/* The mapping of the memory that info of a peer names (source: tl_direct_t), with a reference for the caller; NULL when there
   is none now. */
mem_import_t *keep_find(keep_t *keep, uint64_t source, const mem_key_info_t *info);
/* Starts to map it for later, unless that is under way, has just failed, or too many are kept. */
void keep_want(keep_t *keep, link_engine_t *link, vbn_peer_t *peer, uint64_t source, const mem_key_info_t *info);
/* After the link engine has been closed. */
void keep_close(keep_t *keep);

#endif
