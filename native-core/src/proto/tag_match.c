/* SPDX-License-Identifier: Apache-2.0
 * tag_match.c - matching of tagged messages and receives. */
#include "proto/tag.h"

#include <stdlib.h>

#include "base/hot.h"

#define FIRST_CAPACITY 64u

/* ------------------------------------------------------------------------------------------ tables */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ (b * UINT64_C(0x9e3779b97f4a7c15))) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ (x >> 31);
}

typedef uint64_t (*hash_func_t)(const list_link_t *link, uint64_t mask); /* of the table */

static inline list_link_t *chain_of(const tag_table_t *table, uint64_t hash)
{
    return &table->chains[hash & (table->capacity - 1)];
}

/* Entries of one key stay in one chain and are moved in order, so their order is kept. */
static COLD vbn_status_t grow(tag_table_t *table, hash_func_t hash_of)
{
    tag_table_t bigger = {.capacity = table->capacity == 0 ? FIRST_CAPACITY : table->capacity * 2,
                          .count = table->count,
                          .mask = table->mask};
    bigger.chains = malloc(bigger.capacity * sizeof(*bigger.chains));
    if (bigger.chains == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a matching table of %u chains", bigger.capacity);
    for (uint32_t i = 0; i < bigger.capacity; i++)
        list_init(&bigger.chains[i]);
    for (uint32_t i = 0; i < table->capacity; i++) {
        list_link_t *link;
        while ((link = list_pop(&table->chains[i])) != NULL)
            list_append(chain_of(&bigger, hash_of(link, bigger.mask)), link);
    }
    free(table->chains);
    *table = bigger;
    return VBN_OK;
}

/* hash: that of hash_of for this link. */
static inline vbn_status_t add(tag_table_t *table, list_link_t *link, uint64_t hash, hash_func_t hash_of)
{
    if (UNLIKELY(table->count >= table->capacity)) {
        vbn_status_t status = grow(table, hash_of);
        if (status != VBN_OK && table->capacity == 0)
            return status; /* else the chains just become longer */
    }
    list_append(chain_of(table, hash), link);
    table->count++;
    return VBN_OK;
}

static inline void take(tag_table_t *table, list_link_t *link)
{
    list_remove(link);
    table->count--;
}

void tag_match_init(tag_match_t *match)
{
    *match = (tag_match_t){0};
    list_init(&match->all);
    list_init(&match->order);
    match->fresh = &match->order;
}

void tag_match_free(tag_match_t *match)
{
    free(match->posted.chains);
    free(match->classes);
    for (unsigned i = 0; i < TAG_TABLES; i++)
        free(match->tables[i].chains);
    tag_match_init(match);
}

/* ---------------------------------------------------------------------------------- posted receives */

/* Without the mask: receives that differ in it only share a chain. */
static inline uint64_t posted_hash(uint64_t mask, uint64_t source, uint64_t tag)
{
    return mix(tag & mask, source);
}

static uint64_t hash_of_op(const list_link_t *link, uint64_t of_table)
{
    (void)of_table;
    const proto_op_t *op = container_of(link, const proto_op_t, order);
    return posted_hash(op->stream.mask, op->receive.source, op->stream.tag);
}

/* A new class, in place of one without receives where there is one; NULL: no heap. */
static COLD tag_class_t *class_new(tag_match_t *match, uint64_t mask, bool any)
{
    tag_class_t *class = match->classes, *end = match->classes + match->class_count;
    while (class != end && class->count > 0)
        class++;
    if (class == end) {
        class = realloc(match->classes, (match->class_count + 1) * sizeof(*class));
        if (class == NULL) {
            (void)err_set(VBN_ERR_NO_MEMORY, "no heap for a class of receives");
            return NULL;
        }
        match->classes = class;
        class += match->class_count++;
    }
    *class = (tag_class_t){.mask = mask, .any_source = any};
    return class;
}

static inline tag_class_t *class_of(tag_match_t *match, uint64_t mask, bool any)
{
    for (uint32_t i = 0; i < match->class_count; i++)
        if (match->classes[i].mask == mask && match->classes[i].any_source == any)
            return &match->classes[i];
    return class_new(match, mask, any);
}

/* Into the table, in the order of posting. False: no heap. */
static bool list_fresh(tag_match_t *match)
{
    for (; match->fresh != &match->order; match->fresh = match->fresh->next) {
        proto_op_t *op = container_of(match->fresh, proto_op_t, stream.active);
        tag_class_t *class = class_of(match, op->stream.mask, op->receive.source == 0);
        if (class == NULL || add(&match->posted, &op->order, hash_of_op(&op->order, 0), hash_of_op) != VBN_OK)
            return false;
        class->count++;
        op->receive.in_class = (uint32_t)(class - match->classes) + 1;
        op->stream.sequence = match->next_sequence++;
    }
    return true;
}

void tag_unlist(tag_match_t *match, proto_op_t *op)
{
    take(&match->posted, &op->order);
    match->classes[op->receive.in_class - 1].count--;
    op->receive.in_class = 0;
}

/* The first in the order of posting that suits. most: look at so many. *end: there are no more. */
static inline proto_op_t *first_in_order(const tag_match_t *match, uint64_t source, uint64_t tag, uint64_t most,
                                         bool *end)
{
    *end = false;
    for (list_link_t *link = match->order.next; link != &match->order; link = link->next) {
        proto_op_t *op = container_of(link, proto_op_t, stream.active);
        if (tag_suits(op, source, tag))
            return op;
        if (--most == 0)
            return NULL;
    }
    *end = true;
    return NULL;
}

static inline proto_op_t *first_of_class(const tag_match_t *match, const tag_class_t *class, uint64_t source,
                                         uint64_t tag)
{
    uint64_t wanted = class->any_source ? 0 : source;
    list_link_t *chain = chain_of(&match->posted, posted_hash(class->mask, wanted, tag));
    list_for_each(link, chain) {
        proto_op_t *op = container_of(link, proto_op_t, order);
        if (op->stream.mask == class->mask && op->receive.source == wanted && op->stream.tag == (tag & class->mask))
            return op;
    }
    return NULL;
}

proto_op_t *tag_find_posted(tag_match_t *match, uint64_t source, uint64_t tag)
{
    bool end;
    proto_op_t *first = first_in_order(match, source, tag, TAG_NEAR, &end);
    if (first != NULL || end)
        return first;
    if (UNLIKELY(!list_fresh(match)))
        return first_in_order(match, source, tag, UINT64_MAX, &end); /* slow, but right */
    for (uint32_t i = 0; i < match->class_count; i++) {
        const tag_class_t *class = &match->classes[i];
        proto_op_t *op = class->count > 0 ? first_of_class(match, class, source, tag) : NULL;
        if (op != NULL && (first == NULL || op->stream.sequence < first->stream.sequence))
            first = op;
    }
    return first;
}

/* ------------------------------------------------------------------------------ unexpected messages */

static uint64_t hash_by_both(const list_link_t *link, uint64_t mask)
{
    const tag_message_t *message = container_of(link, const tag_message_t, in[TAG_BY_BOTH]);
    (void)mask;
    return mix(message->tag, message->source);
}

static uint64_t hash_by_tag(const list_link_t *link, uint64_t mask)
{
    (void)mask;
    return mix(container_of(link, const tag_message_t, in[TAG_BY_TAG])->tag, 0);
}

static uint64_t hash_by_source(const list_link_t *link, uint64_t mask)
{
    (void)mask;
    return mix(0, container_of(link, const tag_message_t, in[TAG_BY_SOURCE])->source);
}

static uint64_t hash_by_mask(const list_link_t *link, uint64_t mask)
{
    return mix(container_of(link, const tag_message_t, in[TAG_BY_MASK])->tag & mask, 0);
}

/* How many of the tables hold messages. */
static inline unsigned tables_in_use(const tag_match_t *match)
{
    return match->tables[TAG_BY_MASK].capacity > 0 ? TAG_TABLES : TAG_BY_MASK;
}

vbn_status_t tag_keep(tag_match_t *match, tag_message_t *message)
{
    static const hash_func_t HASHES[TAG_TABLES] = {hash_by_both, hash_by_tag, hash_by_source, hash_by_mask};
    for (unsigned i = 0, end = tables_in_use(match); i < end; i++) {
        tag_table_t *table = &match->tables[i];
        vbn_status_t status = add(table, &message->in[i], HASHES[i](&message->in[i], table->mask), HASHES[i]);
        if (status == VBN_OK)
            continue;
        while (i-- > 0)
            take(&match->tables[i], &message->in[i]);
        return status;
    }
    list_append(&match->all, &message->all);
    message->kept = true;
    return VBN_OK;
}

void tag_unkeep(tag_match_t *match, tag_message_t *message)
{
    for (unsigned i = 0, end = tables_in_use(match); i < end; i++)
        take(&match->tables[i], &message->in[i]);
    list_remove(&message->all);
    message->kept = false;
}

static bool fits(const tag_message_t *message, uint64_t source, uint64_t tag, uint64_t mask)
{
    return (source == 0 || message->source == source) && ((message->tag ^ tag) & mask) == 0;
}

/* The table of this mask, in place of another one's. Without memory there is none, and receives walk on. */
static COLD void index_by(tag_match_t *match, uint64_t mask)
{
    tag_table_t table = {.mask = mask};
    match->walked = 0;
    free(match->tables[TAG_BY_MASK].chains);
    list_for_each(link, &match->all) {
        list_link_t *in = &container_of(link, tag_message_t, all)->in[TAG_BY_MASK];
        if (add(&table, in, hash_by_mask(in, mask), hash_by_mask) != VBN_OK)
            break; /* at the first one, if at all */
    }
    match->looked += table.count;
    match->tables[TAG_BY_MASK] = table;
}

static tag_message_t *walk_all(tag_match_t *match, uint64_t tag, uint64_t mask)
{
    tag_message_t *found = NULL;
    uint64_t steps = 0;
    for (list_link_t *link = match->all.next; link != &match->all && found == NULL; link = link->next, steps++) {
        tag_message_t *message = container_of(link, tag_message_t, all);
        if (fits(message, 0, tag, mask))
            found = message;
    }
    match->looked += steps;
    match->walked += steps;
    if (match->walked > TAG_WALKS * ((uint64_t)match->tables[TAG_BY_BOTH].count + FIRST_CAPACITY))
        index_by(match, mask);
    return found;
}

tag_message_t *tag_find_message(tag_match_t *match, uint64_t source, uint64_t tag, uint64_t mask)
{
    if (list_empty(&match->all))
        return NULL;
    const tag_table_t *masked = &match->tables[TAG_BY_MASK];
    bool partial = mask != UINT64_MAX;
    if (partial && source == 0 && (masked->capacity == 0 || masked->mask != mask))
        return walk_all(match, tag, mask);
    unsigned by = partial ? (source == 0 ? TAG_BY_MASK : TAG_BY_SOURCE) : source == 0 ? TAG_BY_TAG : TAG_BY_BOTH;
    uint64_t hash = by == TAG_BY_SOURCE ? mix(0, source) : mix(tag & mask, by == TAG_BY_BOTH ? source : 0);
    list_for_each(link, chain_of(&match->tables[by], hash)) {
        tag_message_t *message = container_of(link - by, tag_message_t, in);
        match->looked++;
        if (fits(message, source, tag, mask))
            return message;
    }
    return NULL;
}
