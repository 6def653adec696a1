/* SPDX-License-Identifier: Apache-2.0
 * rma_submit.c - what puts, gets and atomics have in common: checks of the call, and how one that is not done at once starts:
 * behind a fence, behind the import of its key, by devices, by packets. */
#include "proto/rma.h"
#include "proto/ways/way.h"

vbn_status_t rma_check(const vbn_key_t *key, uint64_t offset, uint64_t length, unsigned access)
{
    if (key == NULL)
        return err_set(VBN_ERR_INVALID, "no key given");
    if (proto_forked(key->engine))
        return proto_refuse_fork();
    if ((access & ~key->info.access) != 0)
        return err_set(VBN_ERR_ACCESS, "the key does not allow %s",
                       (access & ~key->info.access & VBN_ACCESS_READ) != 0 ? "reading" : "writing");
    if (offset > key->info.length || length > key->info.length - offset)
        return err_set(VBN_ERR_RANGE, "range %llu + %llu is beyond the key's %llu byte%s", (unsigned long long)offset,
                       (unsigned long long)length, (unsigned long long)key->info.length, plural(key->info.length));
    if (key->peer == NULL)
        return err_set(VBN_ERR_PEER_LOST, "the owner of the memory is lost; release the key");
    return VBN_OK;
}

/* A put with a signal goes by packets: the signal's word may belong to other memory. */
static bool may_copy(const vbn_key_t *key, const proto_op_t *op)
{
    return key->address != NULL && op->signal.key == 0 && fence_allows_copy(proto_peer_of(key->peer), op->stream.epoch);
}

void rma_start(vbn_key_t *key, proto_op_t *op)
{
    proto_stream_t *s = &op->stream;
    list_remove(&s->active);
    if (may_copy(key, op)) {
        op_kind(op)->copy(key, op);
        op_complete(op, VBN_OK, s->length);
        return;
    }
    vbn_status_t status = op_start(op);
    if (status < 0)
        op_complete(op, status, 0);
}

vbn_status_t rma_submit(vbn_key_t *key, proto_op_t *op)
{
    proto_peer_t *p = proto_peer_of(key->peer);
    vbn_status_t status = VBN_OK;
    if (op_kind(op)->writes) {
        list_append(&p->order, &op->order);
        proto_unflushed(key->peer); /* devices carry it out without a packet */
    }
    if (fence_blocks(p, op)) {
        list_append(&p->fenced, &op->stream.active);
        return VBN_INPROGRESS;
    }
    if (op_kind(op)->writes)
        fence_enter(op);
    if (key->request != NULL && op->signal.key == 0)
        list_append(&key->waiting, &op->stream.active);
    else if (!device_start(key, op))
        status = op_start(op);
    if (status < 0) {
        op_detach(op);
        return status;
    }
    return VBN_INPROGRESS;
}
