/* SPDX-License-Identifier: Apache-2.0
 * rc_cm_listen.c - where connections by rdma_cm arrive: the library, its events' descriptor, an address of the port. */
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <string.h>

#include "base/os_own.h"
#include "tl/rc/rc_private.h"

#define BACKLOG 1024 /* calls that wait for progress(); more the kernel refuses */

void rc_cm_to_socket(const verbs_address_t *address, struct sockaddr_storage *at)
{
    memset(at, 0, sizeof(*at));
    if (verbs_gid_kind(address->gid) == VERBS_GID_IPV4) {
        struct sockaddr_in *in = (struct sockaddr_in *)at;
        in->sin_family = AF_INET;
        in->sin_port = htobe16((uint16_t)address->qpn);
        memcpy(&in->sin_addr, address->gid + 12, 4);
        return;
    }
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)at;
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htobe16((uint16_t)address->qpn);
    memcpy(&in6->sin6_addr, address->gid, 16);
}

void rc_cm_from_socket(const struct sockaddr *at, verbs_address_t *address)
{
    memset(address->gid, 0, sizeof(address->gid));
    if (at->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)at;
        memset(address->gid + 10, 0xFF, 2);
        memcpy(address->gid + 12, &in->sin_addr, 4);
        address->qpn = be16toh(in->sin_port);
        return;
    }
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)at;
    memcpy(address->gid, &in6->sin6_addr, 16);
    address->qpn = be16toh(in6->sin6_port);
}

/* Listens at this address if it is one of the port. */
static bool listen_at(rc_iface_t *iface, const verbs_address_t *address)
{
    rc_cm_t *cm = &iface->cm;
    struct sockaddr_storage at;
    struct rdma_cm_id *id;
    if (cm->api->create_id(cm->channel, &id, iface, RDMA_PS_TCP) != 0)
        return false;
    rc_cm_to_socket(address, &at);
    if (cm->api->bind_addr(id, (struct sockaddr *)&at) != 0 || !verbs_cm_is_of(id, &iface->verbs.port) ||
        cm->api->listen(id, BACKLOG) != 0) {
        (void)cm->api->destroy_id(id);
        return false;
    }
    cm->listener = id;
    return true;
}

/* The first address of that kind among the host's that belongs to the port. */
static bool listen_at_any(rc_iface_t *iface, const struct ifaddrs *list, verbs_gid_kind_t kind)
{
    verbs_address_t address = {0};
    for (; list != NULL; list = list->ifa_next) {
        if (list->ifa_addr == NULL || (list->ifa_addr->sa_family != AF_INET && list->ifa_addr->sa_family != AF_INET6))
            continue;
        rc_cm_from_socket(list->ifa_addr, &address);
        if (verbs_gid_kind(address.gid) == kind && listen_at(iface, &address))
            return true;
    }
    return false;
}

/* The port's GID where that is an IP address, else the host's addresses in turn: IPv4, then global IPv6. */
static bool choose(rc_iface_t *iface)
{
    verbs_address_t address = iface->verbs.port.address;
    struct ifaddrs *list = NULL;
    address.qpn = 0;
    if (!iface->verbs.port.iwarp && address.ethernet && verbs_gid_kind(address.gid) <= VERBS_GID_GLOBAL &&
        listen_at(iface, &address))
        return true;
    if (getifaddrs(&list) != 0)
        return false;
    bool found = listen_at_any(iface, list, VERBS_GID_IPV4) || listen_at_any(iface, list, VERBS_GID_GLOBAL);
    freeifaddrs(list);
    return found;
}

vbn_status_t rc_cm_listen(rc_iface_t *iface)
{
    rc_cm_t *cm = &iface->cm;
    if (cm->listener != NULL)
        (void)cm->api->destroy_id(cm->listener);
    cm->listener = NULL;
    if (!choose(iface))
        return err_set(VBN_ERR_UNSUPPORTED,
                       "%s has no address at which rdma_cm can listen: ip addr add A/24 dev DEV (%s)",
                       iface->verbs.port.name, strerror(errno));
    verbs_address_t *address = &iface->verbs.address;
    *address = (verbs_address_t){.ethernet = true, .cm = true, .mtu = iface->verbs.port.address.mtu};
    rc_cm_from_socket(&cm->listener->route.addr.src_addr, address);
    return VBN_OK;
}

vbn_status_t rc_cm_open(rc_iface_t *iface)
{
    rc_cm_t *cm = &iface->cm;
    vbn_status_t status = verbs_cm_get(&cm->api);
    if (status < 0)
        return err_add(status, "rdma_cm for %s", iface->verbs.port.name);
    cm->channel = cm->api->create_channel();
    if (cm->channel == NULL)
        return verbs_cm_no_channel(errno, "rdma_cm", iface->verbs.port.name);
    (void)os_own_keep(cm->channel->fd); /* as of a device: a child must not keep the connections */
    int flags = fcntl(cm->channel->fd, F_GETFL);
    if (flags < 0 || fcntl(cm->channel->fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return err_sys(errno, "the events of rdma_cm");
    status = verbs_cq_watch(&iface->verbs.cq, cm->channel->fd);
    return status < 0 ? status : rc_cm_listen(iface);
}

void rc_cm_shut(rc_iface_t *iface)
{
    rc_cm_t *cm = &iface->cm;
    if (cm->listener != NULL)
        (void)cm->api->destroy_id(cm->listener);
    if (cm->channel != NULL) {
        (void)os_own_forget(cm->channel->fd);
        cm->api->destroy_channel(cm->channel);
    }
    *cm = (rc_cm_t){0};
}
