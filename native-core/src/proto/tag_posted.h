/* SPDX-License-Identifier: Apache-2.0
 * tag_posted.h - the frequent way of an eager tagged message in: its receive is the one posted first, has one buffer, and
 * that is long enough. It ends as by tag_rx_message and op_complete, without what they ask of other kinds. Everything
 * else, lies included, is tag_recv.c's. */
#ifndef VBN_PROTO_TAG_POSTED_H
#define VBN_PROTO_TAG_POSTED_H

#include "proto/tag.h"
#include "proto/traffic.h"

/* What op_complete does to an op without handle, transfer or way, which no table holds any more. */
static ALWAYS_INLINE void tag_posted_complete(proto_op_t *op, uint32_t length)
{
    vbn_op_t *user_op = container_of((uint64_t *)op, vbn_op_t, priv);
    vbn_op_func_t done = user_op->done;
    traffic_done(op, VBN_OK);
    list_remove(&op->link);
    (void)op_set_done(user_op, VBN_OK, length);
    if (done != NULL)
        done(user_op, VBN_OK, length);
}

/* A PROTO_TAG has come. False: nothing has changed, and it is for tag_rx_message. */
static ALWAYS_INLINE bool tag_rx_posted(proto_engine_t *engine, vbn_peer_t *peer, uint64_t tag, const void *data,
                                        uint32_t length)
{
    proto_peer_t *p = link_peer_upper(peer); /* without credit until it is initialised */
    list_link_t *first = engine->tags.order.next;
    if (UNLIKELY(first == &engine->tags.order) || UNLIKELY(p->deaf || !tag_credit_covers(p, length)))
        return false;
    proto_op_t *op = container_of(first, proto_op_t, stream.active);
    if (!tag_suits(op, link_peer_uid(peer), tag) || UNLIKELY(op->stream.cursor.count != 1) ||
        UNLIKELY(length > op->stream.length))
        return false;
    tag_unpost(&engine->tags, op);
    p->tag_open -= length + PROTO_TAG_COST;
    if (op->receive.info != NULL)
        *op->receive.info = (vbn_tag_info_t){.peer = peer, .source = link_peer_uid(peer), .tag = tag, .length = length};
    if (LIKELY(length == 8))
        memcpy(op->stream.cursor.iov->iov_base, data, 8);
    else
        bytes_copy(op->stream.cursor.iov->iov_base, data, length);
    tag_credit_taken(peer, p, length);
    tag_posted_complete(op, length);
    return true;
}

#endif
