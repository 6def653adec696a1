/* SPDX-License-Identifier: Apache-2.0
 * verbs_iface.c - opening and closing what rc and ud have in common. */
#include "tl/verbs/verbs_iface.h"

#include <stdio.h>
#include <string.h>

/* What depends on how connections are made. */
static vbn_status_t open_datagrams(verbs_iface_t *iface, const tl_params_t *params, const verbs_sizes_t *sizes)
{
    if (iface->cm && sizes->signals_only)
        return VBN_OK;
    if (iface->port.iwarp)
        return err_set(VBN_ERR_UNSUPPORTED, "%s is an iWARP device, which has no datagrams; use rc or tcp",
                       iface->port.name);
    return verbs_datagram_open(&iface->datagram, &iface->port, &iface->cq, &iface->slots, &iface->pages,
                               params->job_key, sizes->datagrams, iface->port.address.mtu);
}

/* With room for all receives, or for fewer where the device or its driver's memory does not allow that. */
static vbn_status_t open_cq(verbs_iface_t *iface, const verbs_sizes_t *sizes)
{
    uint32_t others = sizes->datagrams + 2 * sizes->slots, most = (uint32_t)iface->port.limits.max_cqe;
    iface->receives = sizes->receives;
    if (iface->receives > sizes->receives_least && others + iface->receives > most)
        iface->receives = others + sizes->receives_least < most ? most - others : sizes->receives_least;
    vbn_status_t status = verbs_cq_open(&iface->cq, &iface->port, others + iface->receives);
    if (status >= 0 || iface->receives <= sizes->receives_least)
        return status;
    iface->receives = sizes->receives_least;
    return verbs_cq_open(&iface->cq, &iface->port, others + iface->receives);
}

vbn_status_t verbs_iface_open(verbs_iface_t *iface, const tl_params_t *params, const verbs_sizes_t *sizes)
{
    memset(iface, 0, sizeof(*iface));
    iface->cq.epoll_fd = -1;
    iface->pages = mem_slab_source(params->memory);
    vbn_status_t status = verbs_port_open(&iface->port, params->settings, params->device, params->log);
    iface->cm = iface->port.iwarp || params->settings->tl_verbs_connect == SETTING_TL_VERBS_CONNECT_CM;
    if (status >= 0)
        status = open_cq(iface, sizes);
    if (status >= 0)
        status = verbs_slots_open(&iface->slots, &iface->port, &iface->pages, sizes->large_bytes, sizes->slots,
                                  params->counters);
    if (status >= 0)
        status = open_datagrams(iface, params, sizes);
    if (status < 0) {
        verbs_iface_close(iface);
        return status;
    }
    iface->address = iface->port.address;
    iface->address.qpn = iface->datagram.qpn;
    return VBN_OK;
}

void verbs_iface_close(verbs_iface_t *iface)
{
    verbs_datagram_close(&iface->datagram);
    verbs_cq_close(&iface->cq);
    verbs_slots_close(&iface->slots);
    verbs_port_close(&iface->port);
}

bool verbs_iface_moved(verbs_iface_t *iface)
{
    if (!iface->port.moved)
        return false;
    iface->port.moved = false;
    uint32_t qpn = iface->address.qpn, life = iface->address.life;
    iface->address = iface->port.address;
    iface->address.qpn = qpn;
    iface->address.life = life;
    verbs_routes_forget(&iface->datagram);
    return true;
}

vbn_status_t verbs_iface_address(const verbs_iface_t *iface, void *buffer, size_t *length_p)
{
    if (*length_p < VERBS_ADDRESS_BYTES)
        return err_set(VBN_ERR_LIMIT, "buffer of %zu bytes for a verbs address of %u", *length_p, VERBS_ADDRESS_BYTES);
    verbs_address_encode(&iface->address, buffer);
    *length_p = VERBS_ADDRESS_BYTES;
    return VBN_OK;
}

vbn_status_t verbs_iface_reachable(const verbs_iface_t *iface, const void *bytes, size_t length, char *reason,
                                   size_t capacity)
{
    verbs_address_t to;
    char how[128];
    vbn_status_t status = verbs_address_decode(bytes, length, &to);
    if (status < 0) {
        snprintf(reason, capacity, "%s", err_text());
        return status;
    }
    if (iface->port.dead) {
        snprintf(reason, capacity, "%s is gone", iface->port.name);
        return err_set(VBN_ERR_UNREACHABLE, "%s", reason);
    }
    if (iface->port.absent) {
        snprintf(reason, capacity, "%s has no address now", iface->port.name);
        return err_set(VBN_ERR_UNREACHABLE, "%s", reason);
    }
    status = verbs_address_reachable(&iface->address, &to, how, sizeof(how));
    snprintf(reason, capacity, "%s to %s", iface->port.why, how);
    return status;
}

vbn_status_t verbs_iface_target(const verbs_iface_t *iface, const void *bytes, size_t length, verbs_address_t *to)
{
    char reason[512];
    vbn_status_t status = verbs_iface_reachable(iface, bytes, length, reason, sizeof(reason));
    return status < 0 ? status : verbs_address_decode(bytes, length, to);
}
