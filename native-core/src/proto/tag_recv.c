/* SPDX-License-Identifier: Apache-2.0
 * tag_recv.c - tagged messages, receiver's side: receives that wait, messages that wait, probing, cancelling.
 *
 * How many whole messages may wait is tag_credit.c's. */
#include <stdlib.h>
#include <string.h>

#include "proto/am.h"
#include "proto/tag.h"

static void fill_info(vbn_tag_info_t *info, vbn_peer_t *peer, uint64_t source, uint64_t tag, uint64_t length)
{
    if (info != NULL)
        *info = (vbn_tag_info_t){.peer = peer, .source = source, .tag = tag, .length = (size_t)length};
}

static vbn_status_t too_long(uint64_t length, uint64_t room, uint64_t tag)
{
    return err_set(
        VBN_ERR_TRUNCATED, "message of %llu byte%s with tag 0x%llx for buffers of %llu byte%s; it is dropped",
        (unsigned long long)length, plural(length), (unsigned long long)tag, (unsigned long long)room, plural(room));
}

/* A whole message has been taken (peer not NULL): credit for the sender's next ones, and its answer when it waits. */
static void taken(vbn_peer_t *peer, uint64_t sender_op, uint64_t length)
{
    tag_credit_taken(peer, proto_peer_of(peer), length);
    if (sender_op != 0)
        proto_send_status(peer, sender_op, VBN_OK, true, 0);
}

static void message_free(tag_message_t *message)
{
    proto_engine_t *engine = message->engine;
    if (message->kept)
        tag_unkeep(&engine->tags, message);
    list_remove(&message->all);
    list_remove(&message->link);
    if (message->orphan)
        engine->orphan_bytes -= message->length + PROTO_TAG_COST;
    if (message->small)
        mpool_put(&engine->tag_messages, message);
    else
        free(message);
}

/* ------------------------------------------------------------------------------- a receive gets its message */

/* Asks the sender of an announced message for its data. The receive becomes a pull: VBN_INPROGRESS, or done at once. */
static vbn_status_t pull(proto_op_t *op, vbn_peer_t *peer, uint64_t sender_op, uint64_t length,
                         const proto_place_t *place, unsigned stages)
{
    proto_engine_t *engine = op->stream.engine;
    if (length == 0) {
        proto_send_status(peer, sender_op, VBN_OK, true, 0);
        return VBN_OK;
    }
    vbn_status_t status = handle_new(&engine->ops, op, &op->handle);
    if (status != VBN_OK) {
        proto_send_status(peer, sender_op, status, true, 0);
        return err_add(status, "too many operations are pending in this worker; the message is dropped");
    }
    op->kind = OP_PULL;
    op->stream.peer = peer;
    op->stream.target = sender_op;
    op->stream.length = length;
    list_remove(&op->link);
    list_append(&proto_peer_of(peer)->ops, &op->link);
    status = pull_start(op, place, stages);
    return status < 0 ? status : VBN_INPROGRESS;
}

/* op: unlisted. What an announcement says of its message; place: where the data lies. */
static vbn_status_t take_announced(proto_op_t *op, vbn_peer_t *peer, uint64_t sender_op, uint64_t tag, uint64_t length,
                                   const proto_place_t *place, unsigned stages)
{
    if (length <= op->stream.length)
        return pull(op, peer, sender_op, length, place, stages);
    proto_send_status(peer, sender_op, VBN_OK, true, 0);
    return too_long(length, op->stream.length, tag);
}

/* op: unlisted, stream.length is its room. The result is VBN_INPROGRESS for a pull, else final. The message is gone. */
static vbn_status_t deliver(proto_op_t *op, tag_message_t *message)
{
    vbn_peer_t *peer = message->peer;
    uint64_t room = op->stream.length, length = message->length, sender_op = message->sender_op;
    fill_info(op->receive.info, peer, message->source, message->tag, length);
    if (message->announced) {
        const uint64_t tag = message->tag;
        const unsigned stages = message->stages;
        proto_place_t place;
        memcpy(&place, message->data, sizeof(place));
        if (peer != NULL)
            proto_peer_of(peer)->incoming--;
        message_free(message);
        if (peer == NULL)
            return err_set(VBN_ERR_PEER_LOST, "the sender was lost before its message was received");
        return take_announced(op, peer, sender_op, tag, length, &place, stages);
    }
    const vbn_status_t status = length > room ? too_long(length, room, message->tag) : VBN_OK;
    if (status == VBN_OK)
        cursor_scatter(&op->stream.cursor, message->data, length);
    message_free(message);
    if (peer != NULL)
        taken(peer, sender_op, length);
    return status;
}

/* What a call returns when deliver() ended the receive, or started a pull. */
static vbn_status_t end_call(vbn_op_t *user_op, proto_op_t *op, vbn_status_t status, uint64_t length)
{
    if (status == VBN_INPROGRESS)
        return status;
    op_detach(op);
    (void)op_set_done(user_op, status, status == VBN_OK ? length : 0);
    return status;
}

static proto_op_t *prepare(proto_engine_t *engine, vbn_op_t *user_op, const struct iovec *iov, size_t count,
                           uint64_t room, vbn_tag_info_t *info)
{
    proto_op_t *op = op_prepare(user_op, engine, OP_RECEIVE, iov, count, room);
    op->receive.info = info;
    return op;
}

static ALWAYS_INLINE vbn_status_t post(proto_op_t *op, proto_engine_t *engine, vbn_peer_t *from, uint64_t source,
                                       uint64_t tag, uint64_t mask, list_link_t *pending)
{
    op->receive.source = source;
    op->stream.tag = tag & mask;
    op->stream.mask = mask;
    op->stream.peer = from;
    tag_post(&engine->tags, op);
    list_append(pending, &op->link);
    return VBN_INPROGRESS;
}

/* Any receive, also a wrong one. */
static COLD vbn_status_t recv_any(proto_engine_t *engine, vbn_peer_t *from, uint64_t tag, uint64_t mask,
                                  const struct iovec *iov, size_t count, vbn_tag_info_t *info, vbn_op_t *user_op)
{
    uint64_t room = 0;
    vbn_status_t status = proto_forked(engine) ? proto_refuse_fork() : op_check(user_op, iov, count, &room);
    if (status == VBN_OK && engine->closing)
        status = err_set(VBN_ERR_CLOSED, "the worker is being destroyed");
    if (status == VBN_OK && from != NULL && proto_engine_of(from) != engine)
        status = err_set(VBN_ERR_INVALID, "the peer belongs to another worker");
    if (status != VBN_OK)
        return status;
    uint64_t source = from != NULL ? link_peer_uid(from) : 0;
    tag_message_t *message = list_empty(&engine->tags.all) ? NULL : tag_find_message(&engine->tags, source, tag, mask);
    if (message == NULL && from != NULL && (status = proto_check_peer(from)) != VBN_OK)
        return status;
    proto_op_t *op = prepare(engine, user_op, iov, count, room, info);
    if (message != NULL) {
        uint64_t length = message->length;
        return end_call(user_op, op, deliver(op, message), length);
    }
    return post(op, engine, from, source, tag, mask, from != NULL ? &proto_peer_of(from)->ops : &engine->receives);
}

/* One buffer, from a peer that is there, while no message waits: it is posted. */
static ALWAYS_INLINE bool is_frequent(const proto_engine_t *engine, const vbn_peer_t *from, const struct iovec *iov,
                                      size_t count, const vbn_op_t *user_op)
{
    if (UNLIKELY(from == NULL) || UNLIKELY(user_op == NULL) || UNLIKELY(count != 1) || UNLIKELY(iov == NULL) ||
        UNLIKELY(iov->iov_base == NULL) || UNLIKELY(iov->iov_len > UINT64_MAX / 2))
        return false;
    const proto_peer_t *p = link_peer_upper(from);
    return LIKELY(proto_engine_of(from) == engine) && LIKELY(list_empty(&engine->tags.all)) && LIKELY(p->initialised) &&
           LIKELY(!p->down) && LIKELY(!engine->closing) && LIKELY(!proto_forked(engine));
}

NO_CANARY vbn_status_t proto_tag_recv(proto_engine_t *engine, vbn_peer_t *from, uint64_t tag, uint64_t mask,
                                      const struct iovec *iov, size_t count, vbn_tag_info_t *info, vbn_op_t *user_op)
{
    if (UNLIKELY(!is_frequent(engine, from, iov, count, user_op)))
        return recv_any(engine, from, tag, mask, iov, count, info, user_op);
    proto_peer_t *p = link_peer_upper(from);
    proto_op_t *op = op_prepare_inline(user_op, engine, OP_RECEIVE, iov, 1, iov->iov_len);
    op->receive.info = info;
    return post(op, engine, from, link_peer_uid(from), tag, mask, &p->ops);
}

/* --------------------------------------------------------------------------------- packets from peers */

static tag_message_t *keep(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header, uint64_t length,
                           bool announced)
{
    bool small = announced || length <= TAG_SMALL_BYTES;
    tag_message_t *message = small ? mpool_get(&engine->tag_messages) : malloc(sizeof(*message) + (size_t)length);
    if (message == NULL)
        return NULL;
    *message = (tag_message_t){.engine = engine,
                               .peer = peer,
                               .source = link_peer_uid(peer),
                               .tag = header->tag,
                               .length = length,
                               .sender_op = header->op,
                               .stages = (uint8_t)header->stages,
                               .announced = announced,
                               .small = small};
    list_init(&message->link);
    list_init(&message->all);
    if (tag_keep(&engine->tags, message) != VBN_OK) {
        message_free(message);
        return NULL;
    }
    list_append(&proto_peer_of(peer)->tagged, &message->link);
    return message;
}

/* A message that cannot be kept would be missed in its order: the peer is given up. */
static void no_room(vbn_peer_t *peer)
{
    proto_peer_of(peer)->deaf = true;
    link_fail(peer, VBN_ERR_NO_MEMORY, "no heap for a tagged message that no receive waits for; post receives earlier");
}

void tag_rx_message(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    const void *payload = header->payload;
    uint32_t payload_bytes = header->payload_bytes;
    if (!tag_credit_use(engine, peer, payload_bytes))
        return;
    proto_op_t *op = tag_find_posted(&engine->tags, link_peer_uid(peer), header->tag);
    if (op == NULL) {
        tag_message_t *message = keep(engine, peer, header, payload_bytes, false);
        if (message == NULL)
            no_room(peer);
        else if (payload_bytes > 0)
            bytes_copy_bulk(message->data, payload, payload_bytes);
        counter_add(engine->counters, COUNTER_TAG_UNEXPECTED, 1);
        return;
    }
    tag_unpost(&engine->tags, op);
    fill_info(op->receive.info, peer, link_peer_uid(peer), header->tag, payload_bytes);
    uint64_t room = op->stream.length;
    vbn_status_t status = VBN_OK;
    if (payload_bytes <= room)
        cursor_scatter(&op->stream.cursor, payload, payload_bytes);
    else
        status = too_long(payload_bytes, room, header->tag);
    taken(peer, header->op, payload_bytes);
    op_complete(op, status, status == VBN_OK ? payload_bytes : 0);
}

/* No receive waits: the first bytes, which may have come along, are of no use. */
static void keep_announced(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    tag_message_t *message = keep(engine, peer, header, header->length, true);
    counter_add(engine->counters, COUNTER_TAG_UNEXPECTED, 1);
    if (message == NULL) {
        no_room(peer);
        return;
    }
    proto_peer_of(peer)->incoming++;
    memcpy(message->data, &header->place, sizeof(header->place));
}

void tag_rx_announced(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    if (!am_may_announce(engine, peer, header))
        return;
    if (header->code == PROTO_TAG_STARVED)
        tag_credit_give_back(peer, true);
    proto_op_t *op = tag_find_posted(&engine->tags, link_peer_uid(peer), header->tag);
    if (op == NULL) {
        keep_announced(engine, peer, header);
        return;
    }
    proto_place_t place = header->place;
    place.head = header->payload; /* valid during this call */
    place.head_bytes = header->payload_bytes;
    tag_unpost(&engine->tags, op);
    fill_info(op->receive.info, peer, link_peer_uid(peer), header->tag, header->length);
    vbn_status_t status = take_announced(op, peer, header->op, header->tag, header->length, &place, header->stages);
    if (status != VBN_INPROGRESS)
        op_complete(op, status, 0);
}

/* ------------------------------------------------------------------------------ probing and cancelling */

vbn_status_t proto_tag_probe(proto_engine_t *engine, vbn_peer_t *from, uint64_t tag, uint64_t mask,
                             vbn_tag_info_t *info, vbn_tag_message_t **message_p)
{
    if (proto_forked(engine))
        return proto_refuse_fork();
    if (from != NULL && proto_engine_of(from) != engine)
        return err_set(VBN_ERR_INVALID, "the peer belongs to another worker");
    uint64_t source = from != NULL ? link_peer_uid(from) : 0;
    tag_message_t *message = tag_find_message(&engine->tags, source, tag, mask);
    if (message == NULL)
        return from != NULL && proto_check_peer(from) != VBN_OK ? VBN_ERR_PEER_LOST : VBN_INPROGRESS;
    fill_info(info, message->peer, message->source, message->tag, message->length);
    if (message_p != NULL) {
        tag_unkeep(&engine->tags, message);
        list_append(&engine->tag_probed, &message->all);
        *message_p = message;
    }
    return VBN_OK;
}

vbn_status_t proto_tag_mrecv(vbn_tag_message_t *message, const struct iovec *iov, size_t count, vbn_tag_info_t *info,
                             vbn_op_t *user_op)
{
    uint64_t room = 0;
    if (message == NULL)
        return err_set(VBN_ERR_INVALID, "no message given: vbn_tag_probe gives one");
    vbn_status_t status = proto_forked(message->engine) ? proto_refuse_fork() : op_check(user_op, iov, count, &room);
    if (status != VBN_OK)
        return status;
    uint64_t length = message->length;
    proto_op_t *op = prepare(message->engine, user_op, iov, count, room, info);
    return end_call(user_op, op, deliver(op, message), length);
}

vbn_status_t proto_tag_cancel(vbn_op_t *user_op)
{
    if (user_op == NULL)
        return err_set(VBN_ERR_INVALID, "no operation given");
    proto_op_t *op = op_of(user_op);
    if (user_op->complete == 1 || op->kind == OP_PULL)
        return VBN_INPROGRESS;
    if (op->kind != OP_RECEIVE)
        return tag_withdraw(op);
    tag_unpost(&op->stream.engine->tags, op);
    op_detach(op);
    (void)op_set_done(user_op, VBN_ERR_CLOSED, 0);
    return VBN_OK;
}

/* The sender does not want to send it any more. A message that a receive or a probe has taken goes on as usual. */
void tag_rx_withdrawn(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    proto_peer_t *p = proto_peer_of(peer);
    (void)engine;
    list_for_each(link, &p->tagged) {
        tag_message_t *message = container_of(link, tag_message_t, link);
        if (!message->kept || message->sender_op != header->op)
            continue;
        if (message->announced)
            p->incoming--;
        else
            tag_credit_taken(peer, p, message->length);
        message_free(message);
        proto_send_status(peer, header->op, VBN_ERR_CLOSED, true, 0);
        return;
    }
}

/* --------------------------------------------------------------------------------------------- ends */

/* Whole messages of a lost peer can still be received; announced ones cannot. */
void tag_peer_down(proto_engine_t *engine, proto_peer_t *p)
{
    list_link_t *link;
    tag_credit_end(engine, p);
    while ((link = list_pop(&p->tagged)) != NULL) {
        tag_message_t *message = container_of(link, tag_message_t, link);
        uint64_t bytes = message->length + PROTO_TAG_COST;
        message->peer = NULL;
        if (message->kept &&
            (message->announced || !tag_may_stay(engine, bytes))) { /* else a probe's receive ends it */
            counter_add(engine->counters, COUNTER_TAG_DROPPED, 1);
            message_free(message);
        } else if (!message->announced) {
            message->orphan = true;
            engine->orphan_bytes += bytes;
        }
    }
}

void tag_open(proto_engine_t *engine)
{
    tag_match_init(&engine->tags);
    list_init(&engine->receives);
    list_init(&engine->tag_probed);
    mpool_init(&engine->tag_messages, sizeof(tag_message_t) + TAG_SMALL_BYTES, 64, 0);
}

void tag_close(proto_engine_t *engine)
{
    list_link_t *link;
    engine->closing = true;
    while ((link = list_pop(&engine->receives)) != NULL) {
        proto_op_t *op = container_of(link, proto_op_t, link);
        tag_unpost(&engine->tags, op);
        op_complete(op, VBN_ERR_CLOSED, 0);
    }
    while (!list_empty(&engine->tags.all))
        message_free(container_of(engine->tags.all.next, tag_message_t, all));
    while (!list_empty(&engine->tag_probed))
        message_free(container_of(engine->tag_probed.next, tag_message_t, all));
    tag_match_free(&engine->tags);
    mpool_free(&engine->tag_messages);
}
