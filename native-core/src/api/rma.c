/* SPDX-License-Identifier: Apache-2.0
 * rma.c - public one-sided calls and their keys, and the order between them. */
#include "api/api_private.h"

vbn_status_t vbn_key_import(vbn_peer_t *peer, const void *blob, size_t length, vbn_key_t **key_p)
{
    API_BY_ONE_THREAD(proto_engine_of_peer(peer));
    return proto_key_import(peer, blob, length, key_p, NULL);
}

vbn_status_t vbn_key_import_op(vbn_peer_t *peer, const void *blob, size_t length, vbn_key_t **key_p, vbn_op_t *op)
{
    API_BY_ONE_THREAD(proto_engine_of_peer(peer));
    if (op == NULL)
        return err_set(VBN_ERR_INVALID, "no operation given; vbn_key_import needs none");
    return proto_key_import(peer, blob, length, key_p, op);
}

void vbn_key_release(vbn_key_t *key)
{
    API_BY_ONE_THREAD(proto_engine_of_key(key));
    proto_key_release(key);
}

void *vbn_key_pointer(const vbn_key_t *key)
{
    return proto_key_pointer(key);
}

vbn_mapping_t *vbn_key_map(const vbn_key_t *key, void **address_p, size_t *length_p)
{
    if (key == NULL || address_p == NULL || length_p == NULL)
        return NULL;
    return (vbn_mapping_t *)proto_key_map(key, address_p, length_p);
}

void vbn_key_unmap(vbn_mapping_t *mapping)
{
    if (mapping != NULL)
        mem_import_release((mem_import_t *)mapping);
}

vbn_status_t vbn_get(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count, vbn_op_t *op)
{
    API_BY_ONE_THREAD(proto_engine_of_key(key));
    return proto_get(key, offset, iov, count, op);
}

vbn_status_t vbn_put(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count, vbn_op_t *op)
{
    API_BY_ONE_THREAD(proto_engine_of_key(key));
    return proto_put(key, offset, iov, count, op);
}

vbn_status_t vbn_get_strided(vbn_key_t *key, size_t offset, const vbn_strided_t *blocks, vbn_op_t *op)
{
    API_BY_ONE_THREAD(proto_engine_of_key(key));
    return proto_get_strided(key, offset, blocks, op);
}

vbn_status_t vbn_put_strided(vbn_key_t *key, size_t offset, const vbn_strided_t *blocks, vbn_op_t *op)
{
    API_BY_ONE_THREAD(proto_engine_of_key(key));
    return proto_put_strided(key, offset, blocks, op);
}

vbn_status_t vbn_put_signal(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count,
                            const vbn_signal_t *signal, vbn_op_t *op)
{
    API_BY_ONE_THREAD(proto_engine_of_key(key));
    return proto_put_signal(key, offset, iov, count, signal, op);
}

vbn_status_t vbn_atomic(vbn_key_t *key, size_t offset, vbn_atomic_kind_t kind, unsigned width, uint64_t operand,
                        uint64_t compare, uint64_t *before, vbn_op_t *op)
{
    API_BY_ONE_THREAD(proto_engine_of_key(key));
    return proto_atomic(key, offset, kind, width, operand, compare, before, op);
}

vbn_status_t vbn_fence(vbn_worker_t *worker)
{
    API_BY_ONE_THREAD(worker == NULL ? NULL : worker->proto);
    if (worker == NULL)
        return err_set(VBN_ERR_INVALID, "no worker given");
    return proto_fence(worker->proto);
}

vbn_status_t vbn_flush(vbn_peer_t *peer, vbn_op_t *op)
{
    API_BY_ONE_THREAD(proto_engine_of_peer(peer));
    return proto_flush(peer, op);
}

vbn_status_t vbn_flush_all(vbn_worker_t *worker, vbn_op_t *op)
{
    API_BY_ONE_THREAD(worker == NULL ? NULL : worker->proto);
    if (worker == NULL)
        return err_set(VBN_ERR_INVALID, "no worker given");
    return proto_flush_all(worker->proto, op);
}
