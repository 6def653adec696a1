/* SPDX-License-Identifier: Apache-2.0
 * verbs_group.c - see verbs_group.h.
 *
 * What the network has to know - which switch ports and which filter of the interface let a group's packets through - the
 * kernel tells it for an ordinary socket that joins (IGMP, MLD), as rdma_cm would have it do on RoCE. */
#include "tl/verbs/verbs_group.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_v4(const uint8_t address[16])
{
    return address[0] != 0xFF;
}

static int tell_v4(int fd, const verbs_port_t *port, const uint8_t address[16])
{
    struct ip_mreqn request = {.imr_ifindex = (int)port->network};
    memcpy(&request.imr_multiaddr, address + 12, 4);
    return setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request));
}

static int tell_v6(int fd, const verbs_port_t *port, const uint8_t address[16])
{
    struct ipv6_mreq request = {.ipv6mr_interface = port->network};
    memcpy(&request.ipv6mr_multiaddr, address, 16);
    return setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof(request));
}

/* -1 and errno: the network was not told. */
static int tell_network(const verbs_port_t *port, const uint8_t address[16])
{
    errno = ENODEV;
    int fd = port->network == 0 ? -1 : socket(is_v4(address) ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if ((is_v4(address) ? tell_v4 : tell_v6)(fd, port, address) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static void join_network(verbs_group_t *group, const verbs_port_t *port)
{
    char text[64];
    verbs_gid_text(group->address, text, sizeof(text));
    group->network_fd = tell_network(port, group->address);
    if (group->network_fd >= 0)
        LOG_INFO(port->log, "%s: joined group %s: attached, and the network was told (%s)", port->name, text,
                 is_v4(group->address) ? "IGMP" : "MLD");
    else
        LOG_WARN(port->log,
                 "%s: joined group %s: attached only, the network was not told (%s), so switches and filters may keep "
                 "its packets",
                 port->name, text, strerror(errno));
}

static void leave_network(verbs_group_t *group)
{
    if (group->network_fd >= 0)
        close(group->network_fd);
    group->network_fd = -1;
}

static vbn_status_t get_route(verbs_group_t *group, verbs_datagram_t *datagram)
{
    const verbs_port_t *port = datagram->port;
    verbs_address_t to = {
        .ethernet = port->address.ethernet, .lid = group->lid, .qpn = VERBS_GROUP_QPN, .mtu = port->address.mtu};
    memcpy(to.gid, group->gid.raw, sizeof(to.gid));
    return verbs_route_get(datagram, &to, &group->route);
}

static void put_route(verbs_group_t *group, verbs_datagram_t *datagram)
{
    if (group->route != NULL)
        verbs_route_put(datagram, group->route);
    group->route = NULL;
}

static vbn_status_t check(const verbs_port_t *port, const uint8_t address[16])
{
    char text[64], own[64];
    verbs_gid_text(address, text, sizeof(text));
    verbs_gid_text(port->address.gid, own, sizeof(own));
    if (!verbs_gid_is_group(address))
        return err_set(VBN_ERR_INVALID, "%s is not a multicast address: name one of 224.0.0.0/4 or ff00::/8", text);
    if (port->address.ethernet && is_v4(address) != (verbs_gid_kind(port->address.gid) == VERBS_GID_IPV4))
        return err_set(VBN_ERR_UNSUPPORTED, "group %s is of another kind than the GID %s of %s: name an %s group", text,
                       own, port->name, is_v4(address) ? "IPv6" : "IPv4");
    return VBN_OK;
}

static vbn_status_t attach(verbs_group_t *group, verbs_datagram_t *datagram)
{
    int error = datagram->port->api->attach_group(datagram->sq.qp, &group->gid, group->lid);
    if (error != 0)
        return verbs_failed(datagram->port, "a membership of a multicast group", error);
    group->attached = true;
    return get_route(group, datagram);
}

vbn_status_t verbs_group_join(verbs_group_t *group, verbs_datagram_t *datagram, const uint8_t address[16])
{
    const verbs_port_t *port = datagram->port;
    *group = (verbs_group_t){.network_fd = -1};
    memcpy(group->address, address, sizeof(group->address));
    memcpy(group->gid.raw, address, sizeof(group->gid.raw));
    vbn_status_t status = check(port, address);
    if (status < 0 || !port->address.ethernet)
        return status < 0 ? status : verbs_group_ask(group, datagram);
    status = attach(group, datagram);
    if (status >= 0)
        join_network(group, port);
    return status;
}

void verbs_group_leave(verbs_group_t *group, verbs_datagram_t *datagram)
{
    put_route(group, datagram);
    leave_network(group);
    if (group->attached)
        (void)datagram->port->api->detach_group(datagram->sq.qp, &group->gid, group->lid);
    group->attached = false;
    if (group->id != NULL)
        (void)group->cm->destroy_id(group->id);
    if (group->channel != NULL)
        group->cm->destroy_channel(group->channel);
    group->id = NULL;
    group->channel = NULL;
}

void verbs_group_renew(verbs_group_t *group, verbs_datagram_t *datagram)
{
    if (!group->attached)
        return;
    put_route(group, datagram);
    if (datagram->port->address.ethernet) {
        leave_network(group);
        join_network(group, datagram->port);
    }
    if (get_route(group, datagram) < 0)
        LOG_WARN(datagram->port->log, "%s", err_text());
}

static void joined(verbs_group_t *group, verbs_datagram_t *datagram, const verbs_group_answer_t *answer)
{
    char text[64];
    if (group->attached)
        return;
    group->gid = answer->gid;
    group->lid = answer->lid;
    verbs_gid_text(group->gid.raw, text, sizeof(text));
    if (attach(group, datagram) < 0) {
        group->refused = true;
        LOG_WARN(datagram->port->log, "%s", err_text());
        return;
    }
    LOG_INFO(datagram->port->log, "%s: joined group %s, LID 0x%04x, by the subnet manager", datagram->port->name, text,
             group->lid);
}

void verbs_group_look(verbs_group_t *group, verbs_datagram_t *datagram)
{
    verbs_group_answer_t answer;
    while (verbs_group_answer(group, &answer)) {
        if (answer.joined)
            joined(group, datagram, &answer);
        if (!answer.refused)
            continue;
        group->refused = true;
        LOG_WARN(datagram->port->log, "%s: the subnet manager gives no membership of a group", datagram->port->name);
    }
}
