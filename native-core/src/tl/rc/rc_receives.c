/* SPDX-License-Identifier: Apache-2.0
 * rc_receives.c - the receives of all connections: one shared receive queue (SRQ) with buffers in blocks of 2 MiB.
 *
 * A packet that finds no receive is refused (receiver not ready), and its sender waits 0.64 ms before it tries again. So the
 * buffers grow with the connections, RC_PER_PEER for each, before the peer can send; and when a quarter of all is left (the
 * device's limit event), by a quarter, up to as many as all peers' send queues hold. They are kept until the interface
 * closes. The queue itself is made for the most that there will ever be, because few devices let it grow: an entry takes some
 * 32 bytes of the driver's memory. Where the device or the limit of locked memory allows no more, what is there goes on. */
#include <errno.h>

#include "tl/rc/rc_private.h"

static uint32_t less_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint8_t *buffer_of(const rc_receives_t *receives, uint32_t index)
{
    return receives->blocks[index / RC_BLOCK].base + (size_t)(index % RC_BLOCK) * RC_STRIDE;
}

static void post(rc_iface_t *iface, const uint32_t *indices, uint32_t count)
{
    const rc_receives_t *receives = &iface->receives;
    struct ibv_recv_wr wrs[VERBS_REPOST], *bad;
    struct ibv_sge sges[VERBS_REPOST];
    for (uint32_t i = 0; i < count; i++) {
        sges[i] = (struct ibv_sge){.addr = (uintptr_t)buffer_of(receives, indices[i]),
                                   .length = RC_STRIDE,
                                   .lkey = receives->blocks[indices[i] / RC_BLOCK].mr->lkey};
        wrs[i] = (struct ibv_recv_wr){.wr_id = (uint64_t)indices[i] << 1 | 1,
                                      .sg_list = &sges[i],
                                      .num_sge = 1,
                                      .next = i + 1 < count ? &wrs[i + 1] : NULL};
    }
    if (count > 0 && ibv_post_srq_recv(receives->srq, wrs, &bad) != 0)
        iface->verbs.port.dead = true;
}

/* One more block. */
static vbn_status_t add_block(rc_iface_t *iface)
{
    rc_receives_t *receives = &iface->receives;
    uint32_t first = receives->count, more = less_of(RC_BLOCK, receives->most - first), indices[VERBS_REPOST];
    vbn_status_t status = verbs_block_open(&receives->blocks[first / RC_BLOCK], &iface->verbs.port, &iface->verbs.pages,
                                           (size_t)more * RC_STRIDE);
    if (status < 0)
        return status;
    receives->count += more;
    for (uint32_t i = first; i < receives->count; i += VERBS_REPOST) {
        for (uint32_t j = 0; j < VERBS_REPOST; j++)
            indices[j] = i + j;
        post(iface, indices, VERBS_REPOST);
    }
    return VBN_OK;
}

static void grow_to(rc_iface_t *iface, uint32_t wanted)
{
    rc_receives_t *receives = &iface->receives;
    while (receives->count < less_of(wanted, receives->most) && !iface->verbs.port.dead) {
        if (add_block(iface) == VBN_OK)
            continue;
        LOG_WARN(iface->params.log,
                 "rc over %s keeps %u receive buffers, so peers that send at the same time wait for each "
                 "other: %s",
                 iface->verbs.port.name, receives->count, err_text());
        receives->most = receives->count; /* not tried again */
    }
}

/* Lets the device tell when few are left, if that would help. */
static void watch(rc_iface_t *iface)
{
    rc_receives_t *receives = &iface->receives;
    struct ibv_srq_attr attr = {.srq_limit = receives->count / 4};
    if (receives->watched || receives->count >= less_of(receives->most, receives->connections * VERBS_DEPTH))
        return;
    receives->watched = iface->verbs.port.api->modify_srq(receives->srq, &attr, IBV_SRQ_LIMIT) == 0;
}

void rc_receives_low(rc_iface_t *iface)
{
    rc_receives_t *receives = &iface->receives;
    receives->watched = false;
    grow_to(iface, less_of(receives->count + receives->count / 4, receives->connections * VERBS_DEPTH));
    watch(iface);
}

void rc_receives_join(rc_iface_t *iface)
{
    rc_receives_t *receives = &iface->receives;
    uint64_t promoted = (uint64_t)iface->params.settings->link_promoted_max;
    receives->connections++;
    grow_to(iface, RC_PER_PEER * less_of(receives->connections, (uint32_t)promoted));
    watch(iface);
}

void rc_receives_leave(rc_iface_t *iface)
{
    iface->receives.connections--;
}

void rc_receives_again(rc_iface_t *iface, uint32_t index)
{
    rc_receives_t *receives = &iface->receives;
    receives->used[receives->used_count++] = index;
    if (receives->used_count < VERBS_REPOST)
        return;
    post(iface, receives->used, receives->used_count);
    receives->used_count = 0;
}

const uint8_t *rc_receives_bytes(const rc_iface_t *iface, uint32_t index)
{
    return buffer_of(&iface->receives, index);
}

static struct ibv_srq *create(const rc_iface_t *iface)
{
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = iface->receives.most, .max_sge = 1}};
    return iface->verbs.port.api->create_srq(iface->verbs.port.pd, &attr);
}

vbn_status_t rc_receives_open(rc_iface_t *iface)
{
    rc_receives_t *receives = &iface->receives;
    verbs_port_t *port = &iface->verbs.port;
    uint32_t most = less_of(iface->verbs.receives, (uint32_t)port->limits.max_srq_wr);
    receives->most = most / VERBS_REPOST * VERBS_REPOST;
    receives->srq = create(iface);
    if (receives->srq == NULL && receives->most > RC_RECEIVES) {
        receives->most = RC_RECEIVES;
        receives->srq = create(iface);
    }
    if (receives->srq == NULL)
        return verbs_failed(port, "a shared receive queue", errno);
    while (receives->count < less_of(RC_RECEIVES, receives->most)) {
        vbn_status_t status = add_block(iface);
        if (status < 0)
            return status;
    }
    return port->dead ? err_set(VBN_ERR_SYSTEM, "%s takes no receives", port->name) : VBN_OK;
}

void rc_receives_close(rc_iface_t *iface)
{
    rc_receives_t *receives = &iface->receives;
    if (receives->srq != NULL)
        (void)iface->verbs.port.api->destroy_srq(receives->srq);
    for (uint32_t i = 0; i < RC_BLOCKS; i++)
        verbs_block_close(&receives->blocks[i], &iface->verbs.port, &iface->verbs.pages);
}
