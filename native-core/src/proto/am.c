/* SPDX-License-Identifier: Apache-2.0
 * am.c - active messages: sending them whole or announcing them, and handing them to handlers. */
#include "proto/am.h"
#include "proto/backlog.h"
#include "proto/head.h"
#include "proto/traffic.h"
#include "proto/ways/way.h"

#define FLAGS (VBN_AM_PULL | VBN_SEND_STAGES | VBN_SEND_PRIVATE)

vbn_status_t proto_am_handler(proto_engine_t *engine, unsigned id, vbn_am_func_t func, void *arg)
{
    if (id >= VBN_AM_IDS)
        return err_set(VBN_ERR_INVALID, "message id %u; ids are 0 to %d", id, VBN_AM_IDS - 1);
    engine->handlers[id] = (proto_handler_t){func, arg};
    return VBN_OK;
}

static void small_done(void *arg, vbn_status_t status)
{
    proto_op_t *op = arg;
    op_complete(op, status, status == VBN_OK ? op->stream.length : 0);
}

/* Not listed with the peer: the link promises exactly one done. */
static vbn_status_t wait_for_link(proto_engine_t *engine, vbn_peer_t *peer, const link_packet_t *packet,
                                  vbn_op_t *user_op)
{
    op_prepare(user_op, engine, OP_SMALL, NULL, 0, packet->payload_bytes)->stream.peer = peer;
    backlog_add(proto_peer_of(peer), packet->payload_bytes);
    return VBN_INPROGRESS;
}

static inline vbn_status_t send_whole(proto_engine_t *engine, vbn_peer_t *peer, link_packet_t *packet,
                                      vbn_op_t *user_op)
{
    packet->done = small_done;
    packet->arg = op_of(user_op);
    vbn_status_t status = proto_link_send(peer, packet);
    if (__builtin_expect(status == VBN_OK, 1))
        return op_set_done(user_op, VBN_OK, packet->payload_bytes);
    return status < 0 ? status : wait_for_link(engine, peer, packet, user_op);
}

static void gathered_done(void *arg, vbn_status_t status)
{
    (void)status; /* the op completed when the data was copied; a lost peer is told by peer_down */
    proto_gathered_t *gathered = arg;
    backlog_sub(proto_peer_of(gathered->peer), gathered->iov.iov_len);
    mpool_put(&proto_engine_of(gathered->peer)->gathered, gathered);
}

/* More pieces than a packet takes: copied together, so the op is complete at once. */
static vbn_status_t send_gathered(proto_engine_t *engine, vbn_peer_t *peer, link_packet_t *packet, vbn_op_t *user_op)
{
    proto_gathered_t *gathered = mpool_get(&engine->gathered);
    proto_cursor_t cursor;
    if (gathered == NULL)
        return VBN_ERR_NO_MEMORY;
    cursor_init(&cursor, packet->iov, packet->iov_count);
    cursor_gather(&cursor, gathered->data, packet->payload_bytes);
    gathered->peer = peer;
    gathered->iov = (struct iovec){gathered->data, packet->payload_bytes};
    packet->iov = &gathered->iov;
    packet->iov_count = 1;
    packet->done = gathered_done;
    packet->arg = gathered;
    vbn_status_t status = proto_link_send(peer, packet);
    if (status == VBN_INPROGRESS)
        backlog_add(proto_peer_of(peer), packet->payload_bytes);
    else
        mpool_put(&engine->gathered, gathered);
    return status < 0 ? status : op_set_done(user_op, VBN_OK, packet->payload_bytes);
}

vbn_status_t am_send_packet(vbn_peer_t *peer, const proto_header_t *header, const struct iovec *iov, size_t count,
                            link_done_func_t done, void *arg)
{
    uint8_t frame[LINK_FRAME_MAX];
    link_packet_t packet = {.frame = frame,
                            .header_bytes = proto_encode(header, frame + LINK_HEADER_BYTES),
                            .iov = iov,
                            .iov_count = (uint32_t)count,
                            .payload_bytes = (uint32_t)header->length,
                            .done = done,
                            .arg = arg};
    return proto_link_send(peer, &packet);
}

vbn_status_t am_send_whole(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header,
                           const struct iovec *iov, size_t count, vbn_op_t *user_op)
{
    uint8_t frame[LINK_FRAME_MAX];
    link_packet_t packet = {.frame = frame,
                            .header_bytes = proto_encode(header, frame + LINK_HEADER_BYTES),
                            .iov = iov,
                            .iov_count = (uint32_t)count,
                            .payload_bytes = (uint32_t)header->length};
    if (count > PROTO_SEGMENT_IOV)
        return send_gathered(engine, peer, &packet, user_op);
    return send_whole(engine, peer, &packet, user_op);
}

vbn_status_t am_announce(vbn_peer_t *peer, const proto_header_t *message, const struct iovec *iov, size_t count,
                         unsigned flags, vbn_op_t *user_op)
{
    proto_op_t *op = op_of(user_op);
    uint32_t limit = proto_engine_of(peer)->max_incoming;
    if (proto_peer_of(peer)->announced >= limit)
        return err_set(VBN_ERR_LIMIT,
                       "%u rendezvous messages wait at the peer; let some complete, or raise "
                       "proto.max_incoming there and here",
                       limit);
    vbn_status_t status = op_begin(user_op, peer, OP_LARGE, iov, count, message->length, true);
    if (status != VBN_OK)
        return status;
    op->code = (uint8_t)message->type;
    proto_peer_of(peer)->announced++;
    proto_engine_t *engine = op->stream.engine;
    proto_header_t header = *message;
    header.op = op->handle;
    op->direct.secret = (flags & VBN_SEND_PRIVATE) != 0;
    if (engine->packing && (header.stages & STAGE_COMPRESS) == 0 && cost_limits(engine, peer)->packing_pays)
        header.stages |= STAGE_LZ4;
    op->stream.stages = (uint8_t)header.stages;
    for (unsigned way = WAY_NONE + 1; header.stages == 0 && op->stream.way == WAY_NONE && way < WAYS; way++)
        if (engine->ways[way].offer != NULL && engine->ways[way].offer(op, &header))
            op->stream.way = (uint8_t)way;
    status = head_announce(op, &header);
    if (status < 0) {
        op_detach(op);
        return status;
    }
    return VBN_INPROGRESS;
}

vbn_status_t am_stages(const proto_engine_t *engine, unsigned flags, unsigned *stages_p)
{
    _Static_assert(VBN_SEND_CHECKSUM == STAGE_CHECKSUM << 1 && VBN_SEND_LZ4 == STAGE_LZ4 << 1 &&
                       VBN_SEND_ZSTD == STAGE_ZSTD << 1,
                   "flags are stages, moved by one");
    unsigned asked = (flags & VBN_SEND_STAGES) >> 1;
    if (!stage_valid(asked))
        return err_set(VBN_ERR_INVALID, "VBN_SEND_LZ4 and VBN_SEND_ZSTD at once; choose one");
    if ((asked & STAGE_COMPRESS) == 0)
        asked |= engine->stages & STAGE_COMPRESS;
    *stages_p = asked | (engine->stages & STAGE_CHECKSUM);
    return VBN_OK;
}

vbn_status_t proto_am_send(vbn_peer_t *peer, unsigned id, const void *header, size_t header_length,
                           const struct iovec *iov, size_t count, unsigned flags, vbn_op_t *op)
{
    uint64_t total = 0;
    vbn_status_t status = proto_check_peer(peer);
    if (status == VBN_OK)
        status = op_check(op, iov, count, &total);
    if (status != VBN_OK)
        return status;
    if (id >= VBN_AM_IDS || header_length > VBN_AM_HEADER_MAX || (header_length > 0 && header == NULL) ||
        (flags & ~FLAGS) != 0)
        return err_set(VBN_ERR_INVALID, "message id %u, header of %zu bytes, flags 0x%x; at most %d, %d and 0x%x", id,
                       header_length, flags, VBN_AM_IDS - 1, VBN_AM_HEADER_MAX, FLAGS);
    proto_engine_t *engine = proto_engine_of(peer);
    unsigned stages = 0;
    status = am_stages(engine, flags, &stages);
    if (status != VBN_OK)
        return status;
    traffic_begin(engine);
    if ((flags & (VBN_AM_PULL | VBN_SEND_CHECKSUM)) != 0 || total > proto_small_limit(engine, peer)) {
        counter_add(engine->counters, COUNTER_AM_LARGE, 1);
        proto_header_t message = {.type = PROTO_RTS,
                                  .code = id,
                                  .length = total,
                                  .user = header,
                                  .user_bytes = (uint32_t)header_length,
                                  .stages = stages};
        status = am_announce(peer, &message, iov, count, flags, op);
        return traffic_end(engine, peer, TRAFFIC_AM, total, op, status);
    }
    uint8_t frame[LINK_HEADER_BYTES + PROTO_PREFIX_BYTES + VBN_AM_HEADER_MAX];
    link_packet_t packet = {.frame = frame, .payload_bytes = (uint32_t)total, .iov = iov, .iov_count = (uint32_t)count};
    packet.header_bytes = proto_encode_am(id, header, (uint32_t)header_length, frame + LINK_HEADER_BYTES);
    status = count > PROTO_SEGMENT_IOV ? send_gathered(engine, peer, &packet, op)
                                       : send_whole(engine, peer, &packet, op);
    return traffic_end(engine, peer, TRAFFIC_AM, total, op, status);
}

bool am_may_announce(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    if (header->length > UINT64_MAX / 2)
        proto_blame(engine, peer, "the peer sent an RTS of impossible length");
    else if (proto_peer_of(peer)->incoming >= engine->max_incoming)
        proto_blame(engine, peer,
                    "the peer sent more rendezvous messages than proto.max_incoming lets wait; receive or "
                    "pull them sooner or raise the setting");
    else
        return true;
    return false;
}

void am_rx_rts(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    proto_peer_t *p = proto_peer_of(peer);
    const proto_handler_t *handler = &engine->handlers[header->code];
    if (!am_may_announce(engine, peer, header))
        return;
    vbn_am_remote_t *remote = handler->func != NULL ? mpool_get(&engine->remotes) : NULL;
    if (remote == NULL) {
        counter_add(engine->counters, COUNTER_AM_UNHANDLED, 1);
        vbn_status_t why = handler->func != NULL ? VBN_ERR_NO_MEMORY : VBN_ERR_UNSUPPORTED;
        proto_send_status(peer, header->op, why, true, 0);
        return;
    }
    *remote = (vbn_am_remote_t){.engine = engine,
                                .peer = peer,
                                .sender_op = header->op,
                                .length = header->length,
                                .stages = (uint8_t)header->stages,
                                .place = header->place};
    list_append(&p->remotes, &remote->link);
    p->incoming++;
    vbn_am_message_t message = {.peer = peer,
                                .header = header->user,
                                .header_length = header->user_bytes,
                                .length = (size_t)header->length,
                                .remote = remote};
    handler->func(handler->arg, &message);
}
