/* SPDX-License-Identifier: Apache-2.0
 * ud_group.c - datagrams to multicast groups, and what comes of those that were joined. */
#include <stdlib.h>
#include <string.h>

#include "tl/ud/ud_private.h"

static ud_group_t *find(const ud_iface_t *iface, const uint8_t address[16])
{
    list_for_each(link, &iface->groups) {
        ud_group_t *group = container_of(link, ud_group_t, link);
        if (memcmp(group->verbs.address, address, sizeof(group->verbs.address)) == 0)
            return group;
    }
    return NULL;
}

vbn_status_t ud_group_join(tl_iface_t *base, const uint8_t address[16], void *owner, tl_group_t **group_p)
{
    ud_iface_t *iface = ud_iface_of(base);
    if (find(iface, address) != NULL)
        return err_set(VBN_ERR_INVALID, "this worker has joined that group already");
    ud_group_t *group = calloc(1, sizeof(*group));
    if (group == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a group");
    vbn_status_t status = verbs_group_join(&group->verbs, &iface->verbs.datagram, address);
    if (status < 0) {
        verbs_group_leave(&group->verbs, &iface->verbs.datagram);
        free(group);
        return status;
    }
    group->base = (tl_group_t){.iface = base, .owner = owner};
    list_append(&iface->groups, &group->link);
    *group_p = &group->base;
    return VBN_OK;
}

void ud_group_leave(tl_group_t *base)
{
    ud_group_t *group = (ud_group_t *)base;
    verbs_group_leave(&group->verbs, &ud_iface_of(base->iface)->verbs.datagram);
    list_remove(&group->link);
    free(group);
}

void ud_group_close(ud_iface_t *iface)
{
    while (!list_empty(&iface->groups))
        ud_group_leave(&container_of(iface->groups.next, ud_group_t, link)->base);
}

void ud_group_look(ud_iface_t *iface)
{
    list_for_each(link, &iface->groups)
        verbs_group_look(&container_of(link, ud_group_t, link)->verbs, &iface->verbs.datagram);
}

void ud_group_renew(ud_iface_t *iface)
{
    list_for_each(link, &iface->groups)
        verbs_group_renew(&container_of(link, ud_group_t, link)->verbs, &iface->verbs.datagram);
}

vbn_status_t ud_group_cast(tl_group_t *base, const struct iovec *iov, uint32_t iov_count)
{
    const ud_group_t *group = (const ud_group_t *)base;
    ud_iface_t *iface = ud_iface_of(base->iface);
    verbs_datagram_t *datagram = &iface->verbs.datagram;
    ud_group_prefix_t prefix = {.source = iface->params.worker_uid};
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < iov_count && bytes <= iface->caps.group_max; i++)
        bytes += iov[i].iov_len;
    if (bytes > iface->caps.group_max)
        return err_set(VBN_ERR_INVALID, "a datagram to a group has at most %u bytes here", iface->caps.group_max);
    if (iface->verbs.port.dead)
        return err_set(VBN_ERR_SYSTEM, "the device %s is gone or failed", iface->verbs.port.name);
    if (group->verbs.refused)
        return err_set(VBN_ERR_UNREACHABLE, "the subnet manager of %s gives no membership of the group",
                       iface->verbs.port.name);
    if (datagram->broken || group->verbs.route == NULL || group->verbs.route->ah == NULL)
        return VBN_OK; /* lost, as anything sent while the link is down */
    verbs_slot_t *slot = verbs_sq_take(&datagram->sq, UD_GROUP_BYTES + (uint32_t)bytes);
    if (slot == NULL)
        return VBN_BUSY;
    memcpy(prefix.group, group->verbs.address, sizeof(prefix.group));
    ud_group_prefix_encode(&prefix, slot->buffer);
    uint32_t end = UD_GROUP_BYTES;
    for (uint32_t i = 0; i < iov_count; i++) {
        if (iov[i].iov_len > 0)
            memcpy(slot->buffer + end, iov[i].iov_base, iov[i].iov_len);
        end += (uint32_t)iov[i].iov_len;
    }
    verbs_count_copy(&iface->verbs, bytes);
    verbs_datagram_send(datagram, slot, end, group->verbs.route, VERBS_GROUP_QPN);
    counter_add(iface->params.counters, COUNTER_UD_TX_PACKETS, 1);
    counter_add(iface->params.counters, COUNTER_UD_TX_BYTES, bytes);
    if (!iface->in_progress)
        verbs_datagram_flush(datagram);
    return VBN_OK;
}

/* Some devices bring a sender its own datagrams, and all bring those that come late to a group that was left. */
bool ud_group_receive(ud_iface_t *iface, const uint8_t *bytes, uint32_t length)
{
    ud_group_prefix_t prefix;
    if (!ud_group_prefix_decode(bytes, length, &prefix))
        return false;
    ud_group_t *group = find(iface, prefix.group);
    if (group == NULL || prefix.source == iface->params.worker_uid)
        return true;
    counter_add(iface->params.counters, COUNTER_UD_RX_PACKETS, 1);
    counter_add(iface->params.counters, COUNTER_UD_RX_BYTES, length - UD_GROUP_BYTES);
    iface->params.upcalls.group_rx(&group->base, prefix.source, bytes + UD_GROUP_BYTES, length - UD_GROUP_BYTES);
    return true;
}
