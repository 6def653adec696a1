/* SPDX-License-Identifier: Apache-2.0
 * shm_iface.c - opening, closing, address and capabilities of the shared-memory transport. */
#include "tl/shm/shm_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/os.h"
#include "base/os_watch.h"

_Static_assert(SHM_HEADER_MAX == TL_HEADER_MAX, "ring frames hold any packet header");
_Static_assert(SHM_RING_CLAIMS == TL_CLAIMS, "as the interface says");
_Static_assert(SHM_ADDRESS_FIXED + SHM_NAME_MAX <= TL_ADDRESS_MAX, "our address fits");

static vbn_status_t check_settings(shm_iface_t *iface)
{
    const settings_t *s = iface->params.settings;
    uint32_t slots = (uint32_t)s->tl_shm_ring_slots;
    if (slots < SHM_SLOTS_MIN || slots > SHM_SLOTS_MAX || (slots & (slots - 1)) != 0)
        return err_set(VBN_ERR_SETTING, "tl.shm.ring_slots=%u is not a power of two from %u to %u", slots,
                       SHM_SLOTS_MIN, SHM_SLOTS_MAX);
    uint32_t chunk_bytes = (uint32_t)s->tl_shm_chunk_bytes;
    iface->geometry = (shm_geometry_t){.slots = slots, .chunks = (uint32_t)s->tl_shm_chunks};
    iface->caps = (tl_caps_t){.flags = TL_CAP_RELIABLE | TL_CAP_MAP | TL_CAP_COPIES,
                              .packet_max = chunk_bytes + TL_HEADER_MAX,
                              .traffic = TRAFFIC_AT(TRAFFIC_SHM),
                              .eager_best = chunk_bytes,
                              .stream_chunk = chunk_bytes,
                              .latency_ns = 50,
                              .mbytes_per_s = 10000,
                              .handovers = 1,
                              .copies = 2};
    iface->same_user = s->security_same_user;
    return VBN_OK;
}

static void shm_close(tl_iface_t *tl_iface)
{
    shm_iface_t *iface = (shm_iface_t *)tl_iface;
    list_link_t *link;
    while ((link = list_pop(&iface->eps)) != NULL)
        shm_ep_free(container_of(link, shm_ep_t, link));
    while ((link = list_pop(&iface->dead)) != NULL)
        shm_ep_free(container_of(link, shm_ep_t, link));
    shm_listen_close(iface);
    if (iface->epoll_fd >= 0)
        close(iface->epoll_fd);
    if (iface->bell != NULL)
        os_unmap(iface->bell, iface->bell_bytes);
    if (iface->bell_fd >= 0)
        close(iface->bell_fd);
    free(iface->bell_rings);
    free(iface->rings);
    free(iface->bounce);
    free(iface);
}

/* Also shows that rings can be made later, when the peer has been told that it reaches us here. */
static vbn_status_t open_bell(shm_iface_t *iface)
{
    void *map;
    size_t page = os_page_bytes();
    iface->bell_bytes = page > SHM_BELL_PAGE ? page : SHM_BELL_PAGE;
    vbn_status_t status = os_memfd("vbn-bell", iface->bell_bytes, &iface->bell_fd);
    if (status == VBN_OK)
        status = os_map(iface->bell_fd, iface->bell_bytes, true, &map);
    if (status == VBN_OK)
        iface->bell = map;
    return status;
}

static const shm_receiver_t receivers[SHM_NOTES] = {
    [SHM_WANT] = {.receive = shm_wireup_note},
    [SHM_BELL] = {.receive = shm_wireup_note, .with_fd = true},
    [SHM_RING] = {.receive = shm_wireup_note, .with_fd = true},
    [SHM_MAPPED] = {.receive = shm_wireup_note, .sent = shm_wireup_mapped_sent},
    [SHM_ASK] = {.receive = shm_import_note, .sent = shm_ep_kick},
    [SHM_ANSWER] = {.receive = shm_import_note, .with_fd = true, .sent = shm_ep_kick},
};

static vbn_status_t shm_open_iface(const tl_params_t *params, tl_iface_t **iface_p)
{
    shm_iface_t *iface = calloc(1, sizeof(*iface));
    if (iface == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for the shm interface");
    iface->base.ops = &tl_shm_ops;
    iface->receivers = receivers;
    iface->params = *params;
    iface->listen_fd = -1;
    iface->reserve_fd = -1;
    iface->bell_fd = -1;
    list_init(&iface->eps);
    list_init(&iface->failed);
    list_init(&iface->dead);
    iface->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    vbn_status_t status = VBN_OK;
    if (iface->epoll_fd < 0)
        status = err_sys(errno, "cannot make the event descriptor of the shm interface");
    if (status == VBN_OK)
        status = check_settings(iface);
    if (status == VBN_OK)
        status = open_bell(iface);
    if (status == VBN_OK)
        status = shm_listen_open(iface);
    if (status != VBN_OK) {
        shm_close(&iface->base);
        return status;
    }
    iface->barrier = shm_barrier_register();
    iface->grows = os_can_populate(); /* else a ring's memory cannot be had later without SIGBUS where there is none */
    *iface_p = &iface->base;
    return VBN_OK;
}

static const tl_caps_t *shm_caps(const tl_iface_t *tl_iface)
{
    return &((const shm_iface_t *)tl_iface)->caps;
}

static vbn_status_t shm_address(const tl_iface_t *tl_iface, void *buffer, size_t *length_p)
{
    const shm_iface_t *iface = (const shm_iface_t *)tl_iface;
    if (*length_p < SHM_ADDRESS_FIXED + SHM_NAME_MAX)
        return err_set(VBN_ERR_LIMIT, "buffer of %zu bytes for a shm address of up to %u", *length_p,
                       SHM_ADDRESS_FIXED + SHM_NAME_MAX);
    *length_p = shm_address_encode(&iface->address, buffer);
    return VBN_OK;
}

static vbn_status_t shm_reachable(const tl_iface_t *tl_iface, const void *bytes, size_t length, char *reason,
                                  size_t capacity)
{
    const shm_iface_t *iface = (const shm_iface_t *)tl_iface;
    shm_address_t a;
    vbn_status_t status = shm_address_decode(bytes, length, &a);
    if (status != VBN_OK) {
        snprintf(reason, capacity, "%s", err_text());
        return status;
    }
    const shm_address_t *own = &iface->address;
    if (a.host_id != own->host_id)
        snprintf(reason, capacity, "other host %04llx, here is %04llx", (unsigned long long)a.host_id >> 48,
                 (unsigned long long)own->host_id >> 48);
    else if (iface->same_user && a.uid != own->uid)
        snprintf(reason, capacity, "same host, but user %u and here user %u (security.same_user)", a.uid, own->uid);
    else if (a.group != own->group)
        snprintf(reason, capacity, "same host, but group %u and here group %u (tl.shm.group)", a.group, own->group);
    else if (!a.is_path && a.netns_id != own->netns_id)
        snprintf(reason, capacity, "same host, other network namespace (set tl.shm.socket_dir to a shared directory)");
    else if (a.is_path && access(a.name, F_OK) != 0)
        snprintf(reason, capacity, "same host, socket %s cannot be seen here (share tl.shm.socket_dir)", a.name);
    else {
        snprintf(reason, capacity, "same host %04llx, socket %s%.60s", (unsigned long long)a.host_id >> 48,
                 a.is_path ? "" : "@", a.name);
        return VBN_OK;
    }
    return err_set(VBN_ERR_UNREACHABLE, "shm: %s", reason);
}

static int shm_event_fd(const tl_iface_t *tl_iface)
{
    return ((const shm_iface_t *)tl_iface)->epoll_fd;
}

const tl_ops_t tl_shm_ops = {
    .name = "shm",
    .open = shm_open_iface,
    .close = shm_close,
    .caps = shm_caps,
    .address = shm_address,
    .reachable = shm_reachable,
    .progress = shm_progress,
    .arm = shm_arm,
    .waiting = shm_waiting,
    .event_fd = shm_event_fd,
    .connect = shm_connect,
    .trust = shm_trust,
    .disconnect = shm_disconnect,
    .send = shm_send,
    .import = shm_import,
    .direct = shm_direct,
    .copy = shm_copy,
    .settled = shm_settled,
    .present = shm_present,
    .host_user = shm_host_user,
};
