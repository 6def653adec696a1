/* SPDX-License-Identifier: Apache-2.0
 * rma_kernel.c - puts and gets that the kernel carries out, at the side that issues them: memory of the owner's own, in a
 * process of this host, with a key that has VBN_ACCESS_COPY. The owner does nothing, and no packet is sent. Where the range lies
 * stands in the owner's own table (mem/consent.h), so a forged key leads to no other memory.
 *
 *   get: copy, look at the consent, look whether the process is there      put: look at the consent, copy; piece by piece
 *
 * The kernel's copies promise nothing about words, so what vbn_copy_words would keep whole goes by packets. When the kernel
 * refuses, the operation and all later ones of the key go by packets, and the owner decides what becomes of them. */
#include "proto/rma.h"
#include "mem/consent.h"

#define PIECE_MAX (UINT64_C(1) << 20) /* between two looks at a put's consent */
#define PIECE_LEAST 1024u             /* shorter ones on average: packets are faster */

/* The owner's consent as it stands: VBN_OK; VBN_ERR_STALE: it has ended; else the kernel's refusal. */
static vbn_status_t look(const vbn_key_t *key)
{
    uint64_t handle = 0;
    vbn_status_t status = link_copy(key->peer, false, &handle, key->kernel.consent, sizeof(handle));
    if (status == VBN_OK && handle != key->info.key_handle)
        status = err_set(VBN_ERR_STALE, "the memory of a key was freed, or invalidated or revoked by its owner");
    return status;
}

/* Finds the record of the key in the owner's table. */
static vbn_status_t find_consent(vbn_key_t *key, const tl_direct_t *direct)
{
    uint64_t table = 0;
    mem_consent_t record = {0};
    vbn_status_t status = link_copy(key->peer, false, &table, direct->consents, sizeof(table));
    uint64_t at = status == VBN_OK ? mem_consent_at(table, key->info.key_handle) : 0;
    if (status == VBN_OK && at == 0)
        status = err_set(VBN_ERR_UNSUPPORTED, "its owner has no place for one more consent");
    if (status == VBN_OK)
        status = link_copy(key->peer, false, &record, at, sizeof(record));
    if (status == VBN_OK && (atomic_get_relaxed(&record.handle) != key->info.key_handle ||
                             record.length < key->info.length || (key->info.access & ~record.access) != 0))
        status = err_set(VBN_ERR_UNSUPPORTED, "its owner has not given that consent");
    if (status != VBN_OK)
        return status;
    key->kernel.address = record.address;
    key->kernel.consent = at;
    return VBN_OK;
}

static vbn_status_t copy_piece(const vbn_key_t *key, op_kind_t kind, uint64_t remote, uint8_t *local, size_t length)
{
    vbn_status_t status = VBN_OK;
    for (size_t at = 0, step; status == VBN_OK && at < length; at += step) {
        step = length - at < PIECE_MAX ? length - at : PIECE_MAX;
        if (kind == OP_PUT)
            status = look(key);
        if (status == VBN_OK)
            status = link_copy(key->peer, kind == OP_PUT, local + at, remote + at, step);
    }
    return status;
}

static vbn_status_t copy_all(const vbn_key_t *key, op_kind_t kind, uint64_t offset, const struct iovec *iov,
                             size_t count)
{
    uint64_t remote = key->kernel.address + offset;
    vbn_status_t status = VBN_OK;
    for (size_t i = 0; status == VBN_OK && i < count; remote += iov[i].iov_len, i++)
        status = copy_piece(key, kind, remote, iov[i].iov_base, iov[i].iov_len);
    if (status == VBN_OK && kind == OP_GET)
        status = look(key);
    if (status == VBN_OK && !link_present(key->peer)) /* its number may be another process's already */
        status = err_set(VBN_ERR_PEER_LOST, "same-host peer is gone");
    return status;
}

static void give_up(vbn_key_t *key)
{
    key->kernel.refused = true;
    if (link_present(key->peer))
        LOG_PEER(key->engine->log, VBN_LOG_INFO, key->info.owner_id,
                 "memory of peer %016llx is not copied by the kernel, operations on it fall back to packets: %s",
                 (unsigned long long)key->info.owner_id, err_text());
}

bool rma_kernel_may(const vbn_key_t *key, uint64_t length, size_t count)
{
    return (key->info.access & VBN_ACCESS_COPY) != 0 && !key->kernel.refused && length > VBN_WORDS_MAX &&
           count < CURSOR_STRIDED_COUNT && (count == 1 || length / count >= PIECE_LEAST) && link_ready(key->peer) &&
           fence_allows_copy(proto_peer_of(key->peer), key->engine->fence_epoch);
}

vbn_status_t rma_kernel_copy(vbn_key_t *key, op_kind_t kind, uint64_t offset, const struct iovec *iov, size_t count,
                             uint64_t length)
{
    tl_direct_t direct;
    if (!link_direct(key->peer, &direct) || !direct.copies || direct.consents == 0)
        return VBN_ERR_UNSUPPORTED;
    vbn_status_t status = key->kernel.consent != 0 ? VBN_OK : find_consent(key, &direct);
    if (status == VBN_OK)
        status = copy_all(key, kind, offset, iov, count);
    if (status == VBN_OK)
        counter_add(key->engine->counters, kind == OP_GET ? COUNTER_GET_COPIED_BYTES : COUNTER_PUT_COPIED_BYTES,
                    length);
    if (status == VBN_OK || status == VBN_ERR_STALE)
        return status;
    give_up(key);
    return VBN_ERR_UNSUPPORTED;
}
