/* SPDX-License-Identifier: Apache-2.0
 * shm_wireup.c - trust and the exchange of rings (see shm_private.h for the order of messages). */
#include "tl/shm/shm_private.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/os.h"
#include "mem/consent.h"

#define PACKET_MAX_LIMIT (SHM_STRIDE_MAX - 128u)

/* Without a bit in our bell, or a descriptor for it, the ring is simply polled at each turn. */
static void offer_bell(shm_ep_t *ep)
{
    const shm_iface_t *iface = shm_ep_iface(ep);
    if (!shm_bell_join(ep))
        return;
    int fd = fcntl(iface->bell_fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        shm_bell_leave(ep);
        return;
    }
    shm_note_t note = {.type = SHM_BELL, .id = ep->bell_index, .value = iface->bell_bytes};
    shm_note_send(ep, &note, fd);
}

/* Makes the receive ring, with chunks as large as the peer's packets, and offers it. Not for inside of send(). */
static vbn_status_t offer_ring(shm_ep_t *ep)
{
    shm_iface_t *iface = shm_ep_iface(ep);
    shm_geometry_t geometry = iface->geometry;
    size_t page = os_page_bytes();
    geometry.stride = shm_ring_stride(ep->peer_packet_max);
    while (shm_ring_bytes(&geometry, page) > SHM_RING_BYTES_MAX && geometry.chunks / 2 >= SHM_CHUNKS_MIN)
        geometry.chunks /= 2;
    size_t bytes = shm_ring_bytes(&geometry, page);
    size_t begun = (SHM_SMALL_BYTES + page - 1) / page * page;
    bool small = iface->grows && begun < bytes;
    int fd;
    vbn_status_t status = os_memfd_begun("vbn-ring", bytes, small ? begun : bytes, &fd);
    if (status != VBN_OK)
        return err_add(status, "ring memory of %zu bytes for a same-host peer", small ? begun : bytes);
    void *map;
    status = os_map(fd, bytes, true, &map);
    if (status != VBN_OK) {
        close(fd);
        return status;
    }
    shm_rx_create(&ep->rx, map, &geometry, small, iface->barrier && ep->peer_barrier);
    if (iface->ring_count >= SHM_LIGHT_RINGS && shm_rx_fence(&ep->rx)) /* nobody has mapped it: no membarrier */
        atomic_set_relaxed(&ep->rx.control->tell, SHM_FENCE);
    ep->rx_bytes = bytes;
    shm_small_begin(ep, small ? begun : bytes);
    ep->ring_sent = true;
    offer_bell(ep);
    shm_note_t note = {.type = SHM_RING, .value = bytes};
    shm_note_send(ep, &note, fd);
    return VBN_OK;
}

vbn_status_t shm_trust(tl_ep_t *tl_ep)
{
    shm_ep_t *ep = (shm_ep_t *)tl_ep;
    shm_iface_t *iface = shm_ep_iface(ep);
    if (ep->broken || ep->gone)
        return err_set(VBN_ERR_PEER_LOST, "same-host peer is gone");
    if (ep->trusted)
        return VBN_OK;
    ep->trusted = true;
    ep->trial = (shm_trial_t){.word = os_random_u64(), .consents = (uintptr_t)mem_consents_cell(iface->params.memory)};
    shm_note_t note = {.type = SHM_WANT,
                       .flags = iface->barrier ? SHM_NOTE_BARRIER : 0,
                       .packet_max = iface->caps.packet_max,
                       .value = ep->trial.word};
    shm_note_send(ep, &note, -1);
    return ep->wanted && !ep->broken ? offer_ring(ep) : VBN_OK;
}

static vbn_status_t want_in(shm_ep_t *ep, const shm_note_t *note)
{
    if (ep->wanted || note->packet_max < TL_SIGNAL_MAX || note->packet_max > PACKET_MAX_LIMIT)
        return err_set(VBN_ERR_PROTOCOL, "same-host peer wants a ring for packets of %u bytes", note->packet_max);
    ep->wanted = true;
    ep->peer_packet_max = note->packet_max;
    ep->peer_word = note->value;
    ep->peer_barrier = (note->flags & SHM_NOTE_BARRIER) != 0;
    return ep->trusted ? offer_ring(ep) : VBN_OK;
}

/* The peer must not be able to pull the memory away under us (SIGBUS). */
static vbn_status_t check_ring_memory(int fd, uint64_t bytes)
{
    uint64_t sealed;
    if (os_sealed_bytes(fd, &sealed) != VBN_OK)
        return err_set(VBN_ERR_PROTOCOL, "same-host peer offered ring memory that is not sealed against shrinking");
    if (sealed != bytes || bytes > SHM_RING_BYTES_MAX + (1u << 20))
        return err_set(VBN_ERR_PROTOCOL, "same-host peer offered %llu bytes of ring memory and says %llu",
                       (unsigned long long)sealed, (unsigned long long)bytes);
    return VBN_OK;
}

static vbn_status_t bell_in(shm_ep_t *ep, const shm_note_t *note, int fd, bool fd_lost)
{
    if (!ep->trusted || !ep->wanted || ep->tx.control != NULL || ep->tx_bell != NULL || note->id >= SHM_BELL_RINGS ||
        note->value < SHM_BELL_PAGE)
        return err_set(VBN_ERR_PROTOCOL, "same-host peer offered a bell at the wrong time, or a wrong one");
    if (fd < 0)
        return fd_lost ? err_set(VBN_ERR_LIMIT, "no descriptor left for a peer's bell; raise ulimit -n")
                       : err_set(VBN_ERR_PROTOCOL, "same-host peer offered a bell without memory");
    void *map;
    vbn_status_t status = check_ring_memory(fd, note->value);
    if (status == VBN_OK)
        status = os_map(fd, (size_t)note->value, true, &map);
    if (status != VBN_OK)
        return status;
    ep->tx_bell = map;
    ep->tx_bell_bytes = (size_t)note->value;
    ep->tx_bell_index = note->id;
    return VBN_OK;
}

static vbn_status_t ring_in(shm_ep_t *ep, const shm_note_t *note, int fd, bool fd_lost)
{
    shm_iface_t *iface = shm_ep_iface(ep);
    if (!ep->trusted || !ep->wanted || ep->tx.control != NULL)
        return err_set(VBN_ERR_PROTOCOL, "same-host peer offered a ring at the wrong time");
    if (fd < 0 && fd_lost)
        return err_set(VBN_ERR_LIMIT, "no descriptor left for a peer's ring memory; raise ulimit -n");
    if (fd < 0)
        return err_set(VBN_ERR_PROTOCOL, "same-host peer offered a ring without memory");
    vbn_status_t status = check_ring_memory(fd, note->value);
    if (status != VBN_OK)
        return status;
    void *map;
    status = os_map(fd, (size_t)note->value, true, &map);
    if (status != VBN_OK)
        return status;
    status = shm_tx_attach(&ep->tx, map, (size_t)note->value, shm_ring_stride(iface->caps.packet_max),
                           iface->barrier && ep->peer_barrier);
    if (status != VBN_OK) {
        os_unmap(map, (size_t)note->value);
        return status;
    }
    ep->tx_bytes = (size_t)note->value;
    shm_note_t mapped = {.type = SHM_MAPPED, .value = (uint64_t)(uintptr_t)&ep->trial};
    shm_note_send(ep, &mapped, -1);
    return VBN_OK;
}

/* The last message in front of our packets in the ring has left. */
void shm_wireup_mapped_sent(shm_ep_t *ep)
{
    vbn_status_t status = shm_ring_join(ep);
    if (status != VBN_OK) {
        shm_ep_fail(ep, status, err_text());
        return;
    }
    ep->tx_open = true;
    shm_attend(shm_ep_iface(ep)); /* blocked senders are told in the next progress */
    shm_ep_check_ready(ep);
}

static vbn_status_t mapped_in(shm_ep_t *ep, const shm_note_t *note)
{
    if (!ep->ring_sent || ep->rx_open)
        return err_set(VBN_ERR_PROTOCOL, "same-host peer says it mapped a ring that it was not offered");
    vbn_status_t status = shm_ring_join(ep);
    if (status != VBN_OK)
        return status;
    ep->rx_open = true;
    ep->rx_quick = !ep->hup;
    shm_direct_probe(ep, note->value);
    shm_ep_check_ready(ep);
    return VBN_OK;
}

void shm_wireup_note(shm_ep_t *ep, const shm_note_t *note, int fd, bool fd_lost)
{
    vbn_status_t status;
    if (note->type == SHM_WANT)
        status = want_in(ep, note);
    else if (note->type == SHM_BELL)
        status = bell_in(ep, note, fd, fd_lost);
    else if (note->type == SHM_RING)
        status = ring_in(ep, note, fd, fd_lost);
    else
        status = mapped_in(ep, note);
    if (fd >= 0)
        close(fd);
    if (status != VBN_OK)
        shm_ep_fail(ep, status, err_text());
}
