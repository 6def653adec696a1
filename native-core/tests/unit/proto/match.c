/* SPDX-License-Identifier: Apache-2.0
 * match.c - the matching tables alone; see match.h. */
#include "match.h"

#include <stdlib.h>

#include "proto/tag.h"

struct match {
    tag_match_t tags;
    vbn_op_t *ops;
    tag_message_t *messages;
};

match_t *match_new(unsigned ids)
{
    match_t *match = calloc(1, sizeof(*match));
    tag_match_init(&match->tags);
    match->ops = calloc(ids, sizeof(*match->ops));
    match->messages = calloc(ids, sizeof(*match->messages));
    return match;
}

void match_free(match_t *match)
{
    tag_match_free(&match->tags);
    free(match->ops);
    free(match->messages);
    free(match);
}

void match_post(match_t *match, unsigned id, uint64_t source, uint64_t tag, uint64_t mask)
{
    proto_op_t *op = op_of(&match->ops[id]);
    op->receive.source = source;
    op->stream.tag = tag & mask;
    op->stream.mask = mask;
    tag_post(&match->tags, op);
}

void match_unpost(match_t *match, unsigned id)
{
    tag_unpost(&match->tags, op_of(&match->ops[id]));
}

int match_find_posted(match_t *match, uint64_t source, uint64_t tag)
{
    proto_op_t *op = tag_find_posted(&match->tags, source, tag);
    return op == NULL ? -1 : (int)(container_of((uint64_t *)op, vbn_op_t, priv) - match->ops);
}

void match_keep(match_t *match, unsigned id, uint64_t source, uint64_t tag)
{
    tag_message_t *message = &match->messages[id];
    message->source = source;
    message->tag = tag;
    if (tag_keep(&match->tags, message) != VBN_OK)
        abort();
}

void match_unkeep(match_t *match, unsigned id)
{
    tag_unkeep(&match->tags, &match->messages[id]);
}

int match_find_message(match_t *match, uint64_t source, uint64_t tag, uint64_t mask)
{
    tag_message_t *message = tag_find_message(&match->tags, source, tag, mask);
    return message == NULL ? -1 : (int)(message - match->messages);
}

uint64_t match_looked(const match_t *match)
{
    return match->tags.looked;
}

static unsigned longest(const tag_table_t *table)
{
    unsigned most = 0;
    for (uint32_t i = 0; i < table->capacity; i++) {
        unsigned length = 0;
        list_for_each(link, &table->chains[i])
            length++;
        most = length > most ? length : most;
    }
    return most;
}

unsigned match_longest_chain(match_t *match)
{
    unsigned posted = longest(&match->tags.posted);
    unsigned kept = longest(&match->tags.tables[TAG_BY_BOTH]);
    return posted > kept ? posted : kept;
}
