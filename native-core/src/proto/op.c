/* SPDX-License-Identifier: Apache-2.0
 * op.c - life of an operation inside the caller's vbn_op_t. */
#include <string.h>

#include "proto/backlog.h"
#include "proto/traffic.h"
#include "proto/ways/way.h"

vbn_status_t op_check_list(const vbn_op_t *op, const struct iovec *iov, size_t count, uint64_t *total_p)
{
    if (op == NULL)
        return err_set(VBN_ERR_INVALID, "an operation needs a vbn_op_t");
    if (count == VBN_PACK && iov != NULL) {
        const vbn_pack_t *pack = (const vbn_pack_t *)(const void *)iov;
        if (pack->pack == NULL || pack->unpack == NULL || pack->length > SIZE_MAX / 2)
            return err_set(VBN_ERR_INVALID, "packed data needs both callbacks and a length, got %zu bytes",
                           pack->length);
        *total_p = pack->length;
        return VBN_OK;
    }
    if (count >= CURSOR_STRIDED || (count > 0 && iov == NULL))
        return err_set(VBN_ERR_INVALID, "list of %zu buffers is missing or too long", count);
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        if (iov[i].iov_len > 0 && iov[i].iov_base == NULL)
            return err_set(VBN_ERR_INVALID, "buffer %zu has no address", i);
        if (iov[i].iov_len > UINT64_MAX / 2 - total)
            return err_set(VBN_ERR_INVALID, "the buffers' lengths overflow");
        total += iov[i].iov_len;
    }
    *total_p = total;
    return VBN_OK;
}

proto_op_t *op_prepare(vbn_op_t *user_op, proto_engine_t *engine, op_kind_t kind, const struct iovec *iov, size_t count,
                       uint64_t length)
{
    return op_prepare_inline(user_op, engine, kind, iov, count, length);
}

vbn_status_t op_begin(vbn_op_t *user_op, vbn_peer_t *peer, op_kind_t kind, const struct iovec *iov, size_t count,
                      uint64_t length, bool with_handle)
{
    proto_engine_t *engine = proto_engine_of(peer);
    proto_op_t *op = op_prepare(user_op, engine, kind, iov, count, length);
    op->stream.peer = peer;
    if (with_handle) {
        vbn_status_t status = handle_new(&engine->ops, op, &op->handle);
        if (status != VBN_OK)
            return err_add(status, "too many operations are pending in this worker");
    }
    list_append(&proto_peer_of(peer)->ops, &op->link);
    if (op_kind(op)->sends)
        backlog_add(proto_peer_of(peer), length);
    return VBN_OK;
}

void op_detach(proto_op_t *op)
{
    const proto_kind_t *kind = op_kind(op);
    list_remove(&op->link);
    list_remove(&op->order);
    list_remove(&op->stream.active);
    if (op->handle != 0)
        (void)handle_drop(&op->stream.engine->ops, op->handle);
    op->handle = 0;
    if (kind->sends && op->stream.peer != NULL)
        backlog_sub(proto_peer_of(op->stream.peer), op->stream.length);
    if (!kind->quiet && op->stream.peer != NULL)
        link_quiet(op->stream.peer);
    way_set(op, WAY_NONE);
    if (kind->on_end != NULL)
        kind->on_end(op);
}

void op_complete(proto_op_t *op, vbn_status_t status, uint64_t length)
{
    vbn_op_t *user_op = container_of((uint64_t *)op, vbn_op_t, priv);
    vbn_op_func_t done = user_op->done;
    traffic_done(op, status);
    op_detach(op);
    (void)op_set_done(user_op, status, length);
    if (UNLIKELY(status < 0)) /* the user asks for the text in done, or when it finds the op complete */
        err_ensure(status);
    if (done != NULL)
        done(user_op, status, (size_t)length);
}

void op_finish(proto_op_t *op, vbn_status_t status, uint64_t length)
{
    /* The handle goes now: whoever names it again is lying. */
    if (op->handle != 0)
        (void)handle_drop(&op->stream.engine->ops, op->handle);
    op->handle = 0;
    op->state = OP_FINISHED;
    op->result = status;
    op->result_length = length;
    if (op->stream.in_flight == 0)
        op_complete(op, status, length);
}

vbn_status_t op_start(proto_op_t *op)
{
    vbn_status_t status = handle_new(&op->stream.engine->ops, op, &op->handle);
    return status == VBN_OK ? op_kind(op)->start(op)
                            : err_add(status, "too many operations are pending in this worker");
}

proto_op_t *op_find(proto_engine_t *engine, const vbn_peer_t *peer, uint64_t handle)
{
    proto_op_t *op = handle_get(&engine->ops, handle);
    return op != NULL && op->stream.peer == peer ? op : NULL;
}
