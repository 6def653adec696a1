/* SPDX-License-Identifier: Apache-2.0
 * tag_match.h - who gets which tagged message: posted receives and messages that arrived before their receive.
 *
 *   posted receives        one hash table, keyed by (mask, source or any, tag & mask). Receives with the same mask and
 *                          the same kind of source form a class; an arriving message looks once into the table for each
 *                          class that has receives (usually one to three) and takes the earliest posted of what it finds.
 *   unexpected messages    three hash tables, by (source, tag), by tag, by source, and one list of all; a receive with an
 *                          exact tag looks into one of the first two, one with a mask walks the messages of its source,
 *                          or all.
 *
 * So exact tags cost the same with one peer or with thousands. Sources are uids of workers, not peers: what a peer sent
 * before it was lost can still be received. One thread, no callbacks. Invariant: no posted receive matches an unexpected
 * message. */
#ifndef VBN_PROTO_TAG_MATCH_H
#define VBN_PROTO_TAG_MATCH_H

#include "base/list.h"
#include "base/status.h"

typedef struct proto_op proto_op_t;
typedef struct vbn_tag_message tag_message_t;

/* A hash table whose chains keep the order of arrival. */
typedef struct tag_table {
    list_link_t *chains;
    uint32_t capacity; /* power of two, 0 before the first entry */
    uint32_t count;
} tag_table_t;

typedef struct tag_class {
    uint64_t mask;
    bool any_source;
    uint32_t count; /* posted receives */
} tag_class_t;

enum { TAG_BY_BOTH, TAG_BY_TAG, TAG_BY_SOURCE, TAG_TABLES };

typedef struct tag_match {
    tag_table_t posted;
    tag_class_t *classes;
    uint32_t class_count;
    uint64_t next_sequence;
    tag_table_t tables[TAG_TABLES];
    list_link_t all; /* tag_message_t.all, in order of arrival */
} tag_match_t;

void tag_match_init(tag_match_t *match);
/* Forgets everything; the entries are the caller's. */
void tag_match_free(tag_match_t *match);

/* op: a receive with source, tag (within mask) and mask set. VBN_ERR_NO_MEMORY. */
vbn_status_t tag_post(tag_match_t *match, proto_op_t *op);
void tag_unpost(tag_match_t *match, proto_op_t *op);
/* The receive that a message from this source gets, still posted; NULL when none. */
proto_op_t *tag_find_posted(const tag_match_t *match, uint64_t source, uint64_t tag);

/* message: source and tag set. VBN_ERR_NO_MEMORY. */
vbn_status_t tag_keep(tag_match_t *match, tag_message_t *message);
void tag_unkeep(tag_match_t *match, tag_message_t *message);
/* The earliest message that a receive would get (source 0 = any), still kept; NULL when none. */
tag_message_t *tag_find_message(const tag_match_t *match, uint64_t source, uint64_t tag, uint64_t mask);

#endif
