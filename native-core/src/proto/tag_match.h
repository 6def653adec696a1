/* SPDX-License-Identifier: Apache-2.0
 * tag_match.h - who gets which tagged message: posted receives and messages that arrived before their receive.
 *
 *   posted receives        one list in the order of posting: an arriving message takes the first of its TAG_NEAR entries
 *                          that suits, so receives that are few, or served in order, cost no more than that. And one hash
 *                          table, keyed by (source or any, tag & mask), for those that a message had to look beyond them
 *                          for. Receives with the same mask and the same kind of source form a class; the message looks
 *                          once into the table for each class that has receives (usually one to three) and takes the
 *                          earliest posted of what it finds.
 *   unexpected messages    three hash tables, by (source, tag), by tag, by source, and one list of all; a receive with an
 *                          exact tag looks into one of the first two, one with a mask walks the messages of its source. One
 *                          from any source with a mask walks all; when receives have walked TAG_WALKS times as many messages
 *                          as there are, their mask gets a fourth table, by tag & mask, in place of another mask's. So those
 *                          of a program that uses one mask (MPI_ANY_TAG: that of a communicator) meet only what suits them.
 *
 * So exact tags cost the same with one peer or with thousands. Sources are uids of workers, not peers: what a peer sent
 * before it was lost can still be received. One thread, no callbacks. Invariants: M1 no posted receive matches an unexpected
 * message. M2 in `order` those in the table come before those that are not. */
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
    uint64_t mask; /* TAG_BY_MASK: of the tags that it is by */
} tag_table_t;

typedef struct tag_class {
    uint64_t mask;
    bool any_source;
    uint32_t count; /* receives in the table */
} tag_class_t;

#define TAG_NEAR 8u

#define TAG_WALKS 4u

enum { TAG_BY_BOTH, TAG_BY_TAG, TAG_BY_SOURCE, TAG_BY_MASK, TAG_TABLES };

typedef struct tag_match {
    list_link_t order;  /* proto_op_t.stream.active of posted receives */
    list_link_t *fresh; /* the first of them that is not in the table; &order: all are */
    tag_table_t posted; /* proto_op_t.order */
    tag_class_t *classes;
    uint32_t class_count;
    uint64_t next_sequence;
    tag_table_t tables[TAG_TABLES]; /* the last one while it has a capacity */
    list_link_t all;                /* tag_message_t.all, in order of arrival */
    uint64_t walked;                /* by receives from any source with a mask that has no table, since one had it */
    uint64_t looked;                /* messages that receives were compared with, in all */
} tag_match_t;

void tag_match_init(tag_match_t *match);
/* Forgets everything; the entries are the caller's. */
void tag_match_free(tag_match_t *match);

/* op: a receive with source, tag (within mask) and mask set. (tag_post, tag_unpost: tag.h) */
void tag_unlist(tag_match_t *match, proto_op_t *op); /* one in the table leaves it */
/* The receive that a message from this source gets, still posted; NULL when none. */
proto_op_t *tag_find_posted(tag_match_t *match, uint64_t source, uint64_t tag);

/* message: source and tag set. VBN_ERR_NO_MEMORY. */
vbn_status_t tag_keep(tag_match_t *match, tag_message_t *message);
void tag_unkeep(tag_match_t *match, tag_message_t *message);
/* The earliest message that a receive would get (source 0 = any), still kept; NULL when none. */
tag_message_t *tag_find_message(tag_match_t *match, uint64_t source, uint64_t tag, uint64_t mask);

#endif
