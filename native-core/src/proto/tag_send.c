/* SPDX-License-Identifier: Apache-2.0
 * tag_send.c - tagged messages, sender's side: whole while there is credit for them (tag_credit.c), else announced; withdrawing
 * those that wait for a receive. */
#include "proto/am.h"
#include "proto/tag.h"
#include "proto/traffic.h"

static void sync_sent(void *arg, vbn_status_t status)
{
    proto_op_t *op = arg;
    (void)status; /* a lost peer is told by peer_down */
    op->stream.in_flight--;
    stream_settle(&op->stream);
}

bool sync_on_status(proto_op_t *op, vbn_status_t status, const proto_header_t *header)
{
    if (header->last != 1 || header->length != 0)
        return false;
    op_finish(op, status, status == VBN_OK ? op->stream.length : 0);
    return true;
}

/* Eager, and the receiver answers when it has matched it. */
static vbn_status_t send_sync(vbn_peer_t *peer, proto_header_t *header, const struct iovec *iov, size_t count,
                              vbn_op_t *user_op)
{
    proto_op_t *op = op_of(user_op);
    vbn_status_t status = op_begin(user_op, peer, OP_SYNC, iov, count, header->length, true);
    if (status != VBN_OK)
        return status;
    header->type = PROTO_TAG_SYNC;
    header->op = op->handle;
    status = am_send_packet(peer, header, iov, count, sync_sent, op);
    if (status < 0) {
        op_detach(op);
        return status;
    }
    if (status == VBN_INPROGRESS)
        op->stream.in_flight++;
    return VBN_INPROGRESS;
}

/* The answer, or that of a receive that was quicker, ends the op. An op without a handle has its answer already. */
vbn_status_t tag_withdraw(proto_op_t *op)
{
    const bool is_tagged = op->kind == OP_SYNC || (op->kind == OP_LARGE && op->code == PROTO_TAG_RTS);
    if (!is_tagged && op->kind != OP_SMALL)
        return err_set(VBN_ERR_INVALID, "only a tagged receive or send can be cancelled");
    if (is_tagged && op->handle != 0 && op->stream.peer != NULL) {
        const proto_header_t header = {.type = PROTO_TAG_WITHDRAW, .op = op->handle};
        (void)proto_send_header(op->stream.peer, &header); /* a failure means that the peer is lost */
    }
    return VBN_INPROGRESS;
}

vbn_status_t proto_tag_send(vbn_peer_t *peer, uint64_t tag, const struct iovec *iov, size_t count, unsigned flags,
                            vbn_op_t *user_op)
{
    uint64_t total = 0;
    vbn_status_t status = proto_check_peer(peer);
    if (status == VBN_OK)
        status = op_check(user_op, iov, count, &total);
    if (status == VBN_OK && (flags & ~(VBN_TAG_SYNC | VBN_SEND_STAGES | VBN_SEND_PRIVATE)) != 0)
        status = err_set(VBN_ERR_INVALID, "flags 0x%x; a tagged send knows VBN_TAG_SYNC and VBN_SEND_*", flags);
    if (status != VBN_OK)
        return status;
    proto_engine_t *engine = proto_engine_of(peer);
    unsigned stages;
    status = am_stages(engine, flags, &stages);
    if (status != VBN_OK)
        return status;
    proto_peer_t *p = proto_peer_of(peer);
    bool sync = (flags & VBN_TAG_SYNC) != 0;
    bool whole = total <= proto_small_limit(engine, peer) && !(sync && count > PROTO_SEGMENT_IOV) &&
                 (flags & VBN_SEND_CHECKSUM) == 0;
    uint64_t cost = total + PROTO_TAG_COST;
    proto_header_t header = {.type = PROTO_TAG, .tag = tag, .length = total};
    traffic_begin(engine);
    if (!whole || cost > p->tag_credit) {
        header.type = PROTO_TAG_RTS;
        header.code = whole ? PROTO_TAG_STARVED : 0;
        header.stages = stages;
        counter_add(engine->counters, COUNTER_TAG_LARGE, 1);
        status = am_announce(peer, &header, iov, count, flags, user_op);
        return traffic_end(engine, peer, TRAFFIC_TAG, total, user_op, status);
    }
    status = sync ? send_sync(peer, &header, iov, count, user_op)
                  : am_send_whole(engine, peer, &header, iov, count, user_op);
    if (status >= 0) {
        p->tag_credit -= (uint32_t)cost;
        counter_add(engine->counters, COUNTER_TAG_SMALL, 1);
    }
    return traffic_end(engine, peer, TRAFFIC_TAG, total, user_op, status);
}
