/* SPDX-License-Identifier: Apache-2.0
 * rma.c - public one-sided calls and their keys. */
#include "proto/proto.h"

vbn_status_t vbn_key_import(vbn_peer_t *peer, const void *blob, size_t length, vbn_key_t **key_p)
{
    return proto_key_import(peer, blob, length, key_p);
}

void vbn_key_release(vbn_key_t *key)
{
    proto_key_release(key);
}

void *vbn_key_pointer(const vbn_key_t *key)
{
    return proto_key_pointer(key);
}

vbn_status_t vbn_get(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count, vbn_op_t *op)
{
    return proto_get(key, offset, iov, count, op);
}

vbn_status_t vbn_put(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count, vbn_op_t *op)
{
    return proto_put(key, offset, iov, count, op);
}

vbn_status_t vbn_flush(vbn_peer_t *peer, vbn_op_t *op)
{
    return proto_flush(peer, op);
}
