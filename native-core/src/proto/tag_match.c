/* SPDX-License-Identifier: Apache-2.0
 * tag_match.c - matching of tagged messages and receives. */
#include "proto/tag.h"

#include <stdlib.h>

#define FIRST_CAPACITY 64u

/* ------------------------------------------------------------------------------------------ tables */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ (b * UINT64_C(0x9e3779b97f4a7c15))) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ (x >> 31);
}

typedef uint64_t (*hash_func_t)(const list_link_t *link);

static list_link_t *chain_of(const tag_table_t *table, uint64_t hash)
{
    return &table->chains[hash & (table->capacity - 1)];
}

/* Entries of one key stay in one chain and are moved in order, so their order is kept. */
static vbn_status_t grow(tag_table_t *table, hash_func_t hash_of)
{
    tag_table_t bigger = {.capacity = table->capacity == 0 ? FIRST_CAPACITY : table->capacity * 2,
                          .count = table->count};
    bigger.chains = malloc(bigger.capacity * sizeof(*bigger.chains));
    if (bigger.chains == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a matching table of %u chains", bigger.capacity);
    for (uint32_t i = 0; i < bigger.capacity; i++)
        list_init(&bigger.chains[i]);
    for (uint32_t i = 0; i < table->capacity; i++) {
        list_link_t *link;
        while ((link = list_pop(&table->chains[i])) != NULL)
            list_append(chain_of(&bigger, hash_of(link)), link);
    }
    free(table->chains);
    *table = bigger;
    return VBN_OK;
}

static vbn_status_t add(tag_table_t *table, list_link_t *link, hash_func_t hash_of)
{
    if (table->count >= table->capacity) {
        vbn_status_t status = grow(table, hash_of);
        if (status != VBN_OK && table->capacity == 0)
            return status; /* else the chains just become longer */
    }
    list_append(chain_of(table, hash_of(link)), link);
    table->count++;
    return VBN_OK;
}

static void take(tag_table_t *table, list_link_t *link)
{
    list_remove(link);
    table->count--;
}

void tag_match_init(tag_match_t *match)
{
    *match = (tag_match_t){0};
    list_init(&match->all);
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

static uint64_t posted_hash(uint64_t mask, uint64_t source, uint64_t tag)
{
    return mix(mix(tag & mask, source), mask);
}

static uint64_t hash_of_op(const list_link_t *link)
{
    const proto_op_t *op = container_of(link, const proto_op_t, order);
    return posted_hash(op->stream.mask, op->receive.source, op->stream.tag);
}

/* The class of these receives; NULL when there is none and make is false, or no heap. */
static tag_class_t *class_of(tag_match_t *match, const proto_op_t *op, bool make)
{
    bool any = op->receive.source == 0;
    tag_class_t *empty = NULL;
    for (uint32_t i = 0; i < match->class_count; i++) {
        tag_class_t *class = &match->classes[i];
        if (class->mask == op->stream.mask && class->any_source == any)
            return class;
        if (class->count == 0)
            empty = class;
    }
    if (!make)
        return NULL;
    if (empty == NULL) {
        tag_class_t *classes = realloc(match->classes, (match->class_count + 1) * sizeof(*classes));
        if (classes == NULL) {
            (void)err_set(VBN_ERR_NO_MEMORY, "no heap for a class of receives");
            return NULL;
        }
        match->classes = classes;
        empty = &classes[match->class_count++];
    }
    *empty = (tag_class_t){.mask = op->stream.mask, .any_source = any};
    return empty;
}

vbn_status_t tag_post(tag_match_t *match, proto_op_t *op)
{
    tag_class_t *class = class_of(match, op, true);
    if (class == NULL)
        return VBN_ERR_NO_MEMORY;
    vbn_status_t status = add(&match->posted, &op->order, hash_of_op);
    if (status != VBN_OK)
        return status;
    class->count++;
    op->stream.sequence = match->next_sequence++;
    return VBN_OK;
}

void tag_unpost(tag_match_t *match, proto_op_t *op)
{
    take(&match->posted, &op->order);
    class_of(match, op, false)->count--;
}

static proto_op_t *first_of_class(const tag_match_t *match, const tag_class_t *class, uint64_t source, uint64_t tag)
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

proto_op_t *tag_find_posted(const tag_match_t *match, uint64_t source, uint64_t tag)
{
    proto_op_t *first = NULL;
    for (uint32_t i = 0; i < match->class_count; i++) {
        const tag_class_t *class = &match->classes[i];
        proto_op_t *op = class->count > 0 ? first_of_class(match, class, source, tag) : NULL;
        if (op != NULL && (first == NULL || op->stream.sequence < first->stream.sequence))
            first = op;
    }
    return first;
}

/* ------------------------------------------------------------------------------ unexpected messages */

static uint64_t hash_by_both(const list_link_t *link)
{
    const tag_message_t *message = container_of(link, const tag_message_t, in[TAG_BY_BOTH]);
    return mix(message->tag, message->source);
}

static uint64_t hash_by_tag(const list_link_t *link)
{
    return mix(container_of(link, const tag_message_t, in[TAG_BY_TAG])->tag, 0);
}

static uint64_t hash_by_source(const list_link_t *link)
{
    return mix(0, container_of(link, const tag_message_t, in[TAG_BY_SOURCE])->source);
}

vbn_status_t tag_keep(tag_match_t *match, tag_message_t *message)
{
    static const hash_func_t HASHES[TAG_TABLES] = {hash_by_both, hash_by_tag, hash_by_source};
    for (unsigned i = 0; i < TAG_TABLES; i++) {
        vbn_status_t status = add(&match->tables[i], &message->in[i], HASHES[i]);
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
    for (unsigned i = 0; i < TAG_TABLES; i++)
        take(&match->tables[i], &message->in[i]);
    list_remove(&message->all);
    message->kept = false;
}

static bool fits(const tag_message_t *message, uint64_t source, uint64_t tag, uint64_t mask)
{
    return (source == 0 || message->source == source) && ((message->tag ^ tag) & mask) == 0;
}

tag_message_t *tag_find_message(const tag_match_t *match, uint64_t source, uint64_t tag, uint64_t mask)
{
    if (list_empty(&match->all))
        return NULL;
    if (source == 0 && mask != UINT64_MAX) {
        list_for_each(link, &match->all) {
            tag_message_t *message = container_of(link, tag_message_t, all);
            if (fits(message, 0, tag, mask))
                return message;
        }
        return NULL;
    }
    unsigned by = mask != UINT64_MAX ? TAG_BY_SOURCE : source == 0 ? TAG_BY_TAG : TAG_BY_BOTH;
    uint64_t hash = by == TAG_BY_SOURCE ? mix(0, source) : mix(tag, by == TAG_BY_TAG ? 0 : source);
    list_for_each(link, chain_of(&match->tables[by], hash)) {
        tag_message_t *message = container_of(link - by, tag_message_t, in);
        if (fits(message, source, tag, mask))
            return message;
    }
    return NULL;
}
