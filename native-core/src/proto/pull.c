/* SPDX-License-Identifier: Apache-2.0
 * pull.c - announced messages: the receiver takes or drops them, and what their operations do with answers. How their data
 * moves is a matter of the ways. */
#include "proto/am.h"
#include "proto/head.h"
#include "proto/ways/way.h"

#include <string.h>

static void remote_free(vbn_am_remote_t *remote)
{
    if (remote->peer != NULL)
        proto_peer_of(remote->peer)->incoming--;
    list_remove(&remote->link);
    mpool_put(&remote->engine->remotes, remote);
}

static bool is_mapped(const proto_op_t *op)
{
    return op->direct.import != NULL;
}

static pick_way_t by_costs(const proto_op_t *op)
{
    const proto_stream_t *s = &op->stream;
    const cost_limit_t *limits = cost_limits(s->engine, s->peer);
    if (!is_mapped(op) && (s->key == 0 || s->length < limits->direct_from))
        return PICK_PACKETS;
    return s->length < limits->help_from ? PICK_READ : PICK_BOTH;
}

/* NULL: this engine or this pair does not measure. */
static pick_t *pick_of(const proto_op_t *op)
{
    proto_engine_t *engine = op->stream.engine;
    proto_peer_t *p = proto_peer_of(op->stream.peer);
    if (p->pick == NULL && engine->measures && (p->pick = mpool_get(&engine->picks)) != NULL)
        memset(p->pick, 0, sizeof(*p->pick));
    return p->pick;
}

pick_way_t pull_pick(proto_op_t *op)
{
    const uint64_t bytes = op->stream.length;
    const bool by_kernel = op->stream.key != 0, may_copy = by_kernel || is_mapped(op);
    pick_t *pick = may_copy && bytes >= PICK_LEAST ? pick_of(op) : NULL;
    if (pick == NULL)
        return by_costs(op);
    const unsigned ways = bytes < COST_HELP_LEAST || !by_kernel ? PICK_READ + 1u : PICK_WAYS;
    const pick_way_t way = pick_begin(pick, pick_row(bytes, is_mapped(op)), ways, os_now_ns());
    op->code = (uint8_t)(1 + way);
    return way;
}

static void end_pick(proto_op_t *op, bool as_said)
{
    pick_t *pick = op->stream.peer != NULL ? proto_peer_of(op->stream.peer)->pick : NULL;
    if (op->code != 0 && pick != NULL)
        pick_end(pick, op->stream.length, as_said, os_now_ns());
    op->code = 0;
}

void pull_strayed(proto_op_t *op)
{
    end_pick(op, false);
}

void pull_on_end(proto_op_t *op)
{
    end_pick(op, true);
}

vbn_status_t pull_start(proto_op_t *op, const proto_place_t *place, unsigned stages)
{
    const proto_way_t *ways = op->stream.engine->ways;
    unsigned way = stages == 0 ? WAY_NONE + 1 : WAY_PACKETS;
    vbn_status_t status = VBN_ERR_UNSUPPORTED;
    op->direct = (proto_direct_t){0}; /* a tagged receive kept other things there */
    op->stream.stages = (uint8_t)stages;
    op->code = 0;
    for (; status == VBN_ERR_UNSUPPORTED && way < WAYS; way++)
        status = ways[way].begin(op, place);
    return status;
}

vbn_status_t proto_am_pull(vbn_am_remote_t *remote, const struct iovec *iov, size_t count, vbn_op_t *user_op)
{
    uint64_t room = 0;
    if (remote == NULL)
        return err_set(VBN_ERR_INVALID, "no remote data to pull: eager messages carry their data");
    vbn_status_t status = proto_forked(remote->engine) ? proto_refuse_fork() : op_check(user_op, iov, count, &room);
    if (status != VBN_OK)
        return status;
    vbn_peer_t *peer = remote->peer;
    if (peer == NULL)
        return err_set(VBN_ERR_PEER_LOST, "the sender was lost before its message was pulled; drop it");
    if (room < remote->length)
        return err_set(VBN_ERR_TRUNCATED, "buffers of %llu byte%s for a message of %llu", (unsigned long long)room,
                       plural(room), (unsigned long long)remote->length);
    uint64_t length = remote->length;
    if (length == 0) {
        proto_send_status(peer, remote->sender_op, VBN_OK, true, 0);
        remote_free(remote);
        return op_set_done(user_op, VBN_OK, 0);
    }
    proto_op_t *op = op_of(user_op);
    status = op_begin(user_op, peer, OP_PULL, iov, count, length, true);
    if (status != VBN_OK)
        return status;
    op->stream.target = remote->sender_op;
    status = pull_start(op, &remote->place, remote->stages);
    if (status < 0) {
        op_detach(op);
        return status;
    }
    remote_free(remote);
    return VBN_INPROGRESS;
}

void proto_am_drop(vbn_am_remote_t *remote)
{
    if (remote == NULL)
        return;
    if (remote->peer != NULL)
        proto_send_status(remote->peer, remote->sender_op, VBN_OK, true, 0);
    remote_free(remote);
}

/* Dropped or refused before it was pulled, or all of it was pulled. */
bool large_on_status(proto_op_t *op, vbn_status_t status, const proto_header_t *header)
{
    const proto_stream_t *s = &op->stream;
    bool ends = op->state == OP_WAITING || op->state == OP_COPYING || s->moved == s->length;
    bool all = header->length == s->length && (op->state == OP_RUNNING || op->direct.offered);
    if (header->last != 1 || !ends || (header->length != 0 && !all))
        return false;
    if (op->state == OP_WAITING)
        head_note(op, false);
    op_finish(op, status, header->length);
    return true;
}

void large_on_end(proto_op_t *op)
{
    if (op->stream.peer != NULL)
        proto_peer_of(op->stream.peer)->announced--;
}

/* It failed, or its data was put to its place. */
bool pull_on_status(proto_op_t *op, vbn_status_t status, const proto_header_t *header)
{
    const proto_stream_t *s = &op->stream;
    bool put = op->direct.put && s->moved == 0 && header->length == s->length;
    if (header->last != 1 || op->state == OP_DEVICE || (status >= 0 && s->length != 0 && !put))
        return false;
    op_complete(op, status, status < 0 ? s->moved : s->length);
    return true;
}

void pull_on_data(proto_op_t *op, vbn_status_t status)
{
    const proto_stream_t *s = &op->stream;
    uint64_t length = status == VBN_OK ? s->length : 0;
    proto_send_status(s->peer, s->target, status, true, length);
    if (status == VBN_ERR_CORRUPT)
        (void)err_set(status, "data of %llu byte%s from peer %016llx was damaged in transit: send it again",
                      (unsigned long long)s->length, plural(s->length), (unsigned long long)link_peer_uid(s->peer));
    op_complete(op, status, length);
}
