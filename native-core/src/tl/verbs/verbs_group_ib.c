/* SPDX-License-Identifier: Apache-2.0
 * verbs_group_ib.c - membership in a multicast group of InfiniBand: the subnet manager makes it of the IP address and says
 * which GID and LID it has. rdma_cm asks it, by way of an address that IPoIB has on the port. */
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

#include "tl/verbs/verbs_group.h"

/* Binds the id to the port if the address is one of it. */
static bool bind_at(verbs_group_t *group, const verbs_port_t *port, const struct sockaddr *address)
{
    struct sockaddr_storage at = {0};
    memcpy(&at, address, address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
    if (group->cm->create_id(group->channel, &group->id, group, RDMA_PS_UDP) != 0) {
        group->id = NULL;
        return false;
    }
    if (group->cm->bind_addr(group->id, (struct sockaddr *)&at) == 0 && verbs_cm_is_of(group->id, port))
        return true;
    (void)group->cm->destroy_id(group->id);
    group->id = NULL;
    return false;
}

static bool bind_to_port(verbs_group_t *group, const verbs_port_t *port)
{
    struct ifaddrs *list = NULL;
    bool bound = false;
    if (getifaddrs(&list) != 0)
        return false;
    for (const struct ifaddrs *each = list; each != NULL && !bound; each = each->ifa_next)
        if (each->ifa_addr != NULL && (each->ifa_addr->sa_family == AF_INET || each->ifa_addr->sa_family == AF_INET6))
            bound = bind_at(group, port, each->ifa_addr);
    freeifaddrs(list);
    return bound;
}

static vbn_status_t open_channel(verbs_group_t *group, const verbs_datagram_t *datagram)
{
    group->channel = group->cm->create_channel();
    if (group->channel == NULL)
        return verbs_cm_no_channel(errno, "a group by rdma_cm", datagram->port->name);
    int flags = fcntl(group->channel->fd, F_GETFL);
    if (flags < 0 || fcntl(group->channel->fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return err_sys(errno, "the events of rdma_cm");
    return verbs_cq_watch(datagram->cq, group->channel->fd);
}

static int ask(verbs_group_t *group)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    memcpy(&in.sin_addr, group->address + 12, 4);
    memcpy(&in6.sin6_addr, group->address, 16);
    void *to = group->address[0] == 0xFF ? (void *)&in6 : (void *)&in;
    return group->cm->join_group(group->id, to, group);
}

vbn_status_t verbs_group_ask(verbs_group_t *group, verbs_datagram_t *datagram)
{
    const verbs_port_t *port = datagram->port;
    vbn_status_t status = verbs_cm_get(&group->cm);
    if (status < 0)
        return err_add(status, "groups on InfiniBand need it");
    status = open_channel(group, datagram);
    if (status < 0)
        return status;
    if (!bind_to_port(group, port))
        return err_set(VBN_ERR_UNSUPPORTED,
                       "%s has no IP address, which a group on InfiniBand needs: give IPoIB's interface one "
                       "(modprobe ib_ipoib; ip addr add A/24 dev ib0)",
                       port->name);
    return ask(group) == 0 ? VBN_OK : err_sys(errno, "asking the subnet manager of %s for a group", port->name);
}

bool verbs_group_answer(verbs_group_t *group, verbs_group_answer_t *answer)
{
    struct rdma_cm_event *event;
    if (group->channel == NULL || group->cm->get_event(group->channel, &event) != 0)
        return false;
    *answer = (verbs_group_answer_t){.refused = event->event == RDMA_CM_EVENT_MULTICAST_ERROR,
                                     .joined = event->event == RDMA_CM_EVENT_MULTICAST_JOIN};
    if (answer->joined) {
        answer->gid = event->param.ud.ah_attr.grh.dgid;
        answer->lid = event->param.ud.ah_attr.dlid;
    }
    (void)group->cm->ack_event(event);
    return true;
}
