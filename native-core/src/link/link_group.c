/* SPDX-License-Identifier: Apache-2.0
 * link_group.c - multicast groups, over the first transport that has them. What they carry is as unreliable as it comes: the
 * layer above numbers and repeats. Members know each other's job key (it makes the Q_Key), nothing more is proved. */
#include "link/link_group.h"

#include <stdlib.h>

#include "link/link_private.h"

struct vbn_group {
    link_engine_t *engine;
    list_link_t link; /* engine->groups */
    const tl_ops_t *ops;
    tl_group_t *group;
    vbn_group_func_t func;
    void *arg;
    size_t most;
};

vbn_status_t link_group_join(link_engine_t *engine, const uint8_t address[16], vbn_group_func_t func, void *arg,
                             vbn_group_t **group_p)
{
    const link_transport_t *transport = engine->transports, *end = transport + engine->transport_count;
    vbn_status_t status = link_fork_check(engine);
    while (transport < end && (transport->ops->caps(transport->iface)->flags & TL_CAP_GROUPS) == 0)
        transport++;
    if (status < 0)
        return status;
    if (transport == end)
        return err_set(VBN_ERR_UNSUPPORTED,
                       "no open transport of tl.enable=%s has multicast groups: that takes ud and an RDMA "
                       "device (vbn-info says what is missing)",
                       engine->params.settings->tl_enable);
    vbn_group_t *group = calloc(1, sizeof(*group));
    if (group == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no memory for a group");
    *group = (vbn_group_t){.engine = engine,
                           .ops = transport->ops,
                           .func = func,
                           .arg = arg,
                           .most = transport->ops->caps(transport->iface)->group_max};
    status = transport->ops->join(transport->iface, address, group, &group->group);
    if (status < 0) {
        free(group);
        return status;
    }
    list_append(&engine->groups, &group->link);
    *group_p = group;
    return VBN_OK;
}

void link_group_leave(vbn_group_t *group)
{
    if (link_fork_check(group->engine) < 0)
        return; /* the descriptors are the parent's */
    group->ops->leave(group->group);
    list_remove(&group->link);
    free(group);
}

vbn_status_t link_group_send(vbn_group_t *group, const struct iovec *iov, size_t count)
{
    vbn_status_t status = link_fork_check(group->engine);
    return status < 0 ? status : group->ops->cast(group->group, iov, (uint32_t)count);
}

size_t link_group_most(const vbn_group_t *group)
{
    return group->most;
}

void *link_group_upper_engine(const vbn_group_t *group)
{
    return group->engine->params.upcalls.arg;
}

void link_group_rx(tl_group_t *base, uint64_t source, const void *payload, uint32_t bytes)
{
    vbn_group_t *group = base->owner;
    group->func(group->arg, group, source, payload, bytes);
}

void link_group_close(link_engine_t *engine)
{
    for (list_link_t *link; (link = list_pop(&engine->groups)) != NULL;)
        free(container_of(link, struct vbn_group, link));
}
