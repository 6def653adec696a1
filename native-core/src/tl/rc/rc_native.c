/* SPDX-License-Identifier: Apache-2.0
 * rc_native.c - gets and puts that the devices carry out: RDMA reads and writes over the connection.
 *
 * What lies in memory of the core goes from and to its place; other memory by way of a buffer, a piece at a time. Reads
 * beyond what the peer's device serves at a time wait above (VBN_BUSY), so that packets pass them by. */
#include <string.h>

#include "tl/rc/rc_private.h"

#define ACCESS_MOST (1u << 20) /* bytes of a request: others get their turn */
#define ACCESSES_MOST 32u      /* requests of a connection: packets find room in its queue */

static unsigned device_rights(unsigned access)
{
    return ((access & VBN_ACCESS_READ) != 0 ? (unsigned)IBV_ACCESS_REMOTE_READ : 0u) |
           ((access & VBN_ACCESS_WRITE) != 0 ? (unsigned)IBV_ACCESS_REMOTE_WRITE | (unsigned)IBV_ACCESS_LOCAL_WRITE
                                             : 0u);
}

static vbn_status_t expose(void *arg, void *address, size_t bytes, unsigned access, void **handle_p, uint32_t *key_p)
{
    const rc_iface_t *iface = arg;
    struct ibv_mr *mr;
    vbn_status_t status = verbs_register(&iface->verbs.port, address, bytes, device_rights(access), &mr);
    if (status < 0)
        return status;
    *handle_p = mr;
    *key_p = mr->rkey;
    return VBN_OK;
}

/* Also from other threads, while the interface lives. */
static void hide(void *arg, void *handle)
{
    const rc_iface_t *iface = arg;
    (void)iface->verbs.port.api->deregister_memory(handle);
}

void rc_native_open(rc_iface_t *iface)
{
    iface->device = (mem_device_t){.add = expose, .remove = hide, .arg = iface};
    mem_device_init(&iface->device);
    verbs_places_open(&iface->places, &iface->verbs.port, iface->params.memory, &iface->verbs.slots);
}

vbn_status_t rc_native_expose(tl_ep_t *base, uint64_t key_handle, mem_exposed_t *exposed_p)
{
    rc_iface_t *iface = rc_iface_of(base->iface);
    return mem_expose(iface->params.memory, &iface->device, key_handle, exposed_p);
}

/* Some devices scatter what they read to fewer places than they gather from. */
static int pieces_most(const rc_iface_t *iface, bool write)
{
    int most = iface->verbs.port.limits.max_sge_rd;
    return write || most >= VERBS_SGES ? VERBS_SGES : most > 1 ? most : 1;
}

/* Pieces of the request that may stay where they are: their number, and bytes. */
static int in_place(rc_iface_t *iface, const tl_access_t *access, struct ibv_sge *sges, uint32_t *bytes_p)
{
    uint32_t most = iface->verbs.port.message_max < ACCESS_MOST ? iface->verbs.port.message_max : ACCESS_MOST;
    int count = 0, pieces = pieces_most(iface, access->write);
    *bytes_p = 0;
    for (uint32_t i = 0; i < access->iov_count && count < pieces && *bytes_p < most; i++) {
        const struct iovec *iov = &access->iov[i];
        uint32_t length = iov->iov_len < most - *bytes_p ? (uint32_t)iov->iov_len : most - *bytes_p;
        sges[count] = (struct ibv_sge){.addr = (uintptr_t)iov->iov_base, .length = length};
        if (length == 0)
            continue;
        if (!verbs_places_key(&iface->places, iov->iov_base, length, !access->write, &sges[count].lkey))
            break;
        *bytes_p += length;
        count++;
    }
    return count;
}

/* The first `bytes` of a list. */
static void gather(uint8_t *buffer, const struct iovec *iov, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes; iov++) {
        size_t take = iov->iov_len < bytes - at ? iov->iov_len : bytes - at;
        if (take > 0)
            memcpy(buffer + at, iov->iov_base, take);
        at += (uint32_t)take;
    }
}

static uint32_t bytes_of(const tl_access_t *access, uint32_t most)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < access->iov_count && bytes < most; i++)
        bytes += access->iov[i].iov_len;
    return bytes < most ? (uint32_t)bytes : most;
}

/* NULL: no room now. */
static verbs_slot_t *build(rc_iface_t *iface, rc_ep_t *ep, const tl_access_t *access, uint32_t *taken_p)
{
    struct ibv_sge sges[VERBS_SGES];
    int pieces = in_place(iface, access, sges, taken_p);
    if (pieces == 0)
        *taken_p = bytes_of(access, RC_PAYLOAD);
    verbs_slot_t *slot = verbs_sq_take(&ep->sq, pieces > 0 ? 0 : *taken_p);
    if (slot == NULL)
        return NULL;
    if (pieces > 0) {
        memcpy(slot->sges, sges, (size_t)pieces * sizeof(*sges));
        slot->wr.num_sge = pieces;
        verbs_places_name(&iface->places, slot);
        return slot;
    }
    slot->sges[0] = (struct ibv_sge){.addr = (uintptr_t)slot->buffer, .length = *taken_p};
    slot->wr.num_sge = 1;
    verbs_count_copy(&iface->verbs, *taken_p);
    if (access->write)
        gather(slot->buffer, access->iov, *taken_p);
    else
        slot->scatter = access->iov;
    return slot;
}

vbn_status_t rc_native_access(tl_ep_t *base, const tl_access_t *access, uint32_t *taken_p)
{
    rc_ep_t *ep = (rc_ep_t *)base;
    rc_iface_t *iface = rc_iface_of(base->iface);
    if (ep->state != RC_READY)
        return err_set(VBN_ERR_PEER_LOST, "%s", ep->failed != NULL ? ep->failed : "the connection is closed");
    if (ep->accesses == ACCESSES_MOST || (!access->write && ep->reads == ep->reads_most))
        return VBN_BUSY;
    verbs_slot_t *slot = build(iface, ep, access, taken_p);
    if (slot == NULL)
        return VBN_BUSY;
    slot->wr.opcode = access->write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
    slot->wr.wr.rdma.rkey = access->key;
    slot->wr.wr.rdma.remote_addr = access->remote;
    slot->one_sided = true;
    slot->cookie = access->cookie;
    ep->accesses++;
    ep->reads = (uint8_t)(ep->reads + !access->write);
    verbs_sq_add(&ep->sq, slot);
    return VBN_INPROGRESS;
}

void rc_native_ring(tl_ep_t *base)
{
    rc_ep_t *ep = (rc_ep_t *)base;
    if (ep->state == RC_READY)
        rc_ring_soon(ep);
}
