/* SPDX-License-Identifier: Apache-2.0
 * fabric_group.c - memberships of the scripted libibverbs in multicast groups. As with soft-RoCE a sender that is a member gets
 * its own datagrams, and a queue pair that is a member cannot be destroyed. */
#include <errno.h>
#include <string.h>

#include "fabric_private.h"

static unsigned find(const fabric_qp_t *qp, const union ibv_gid *gid)
{
    unsigned at = 0;
    while (at < qp->group_count && memcmp(qp->groups[at].raw, gid->raw, sizeof(gid->raw)) != 0)
        at++;
    return at;
}

bool fabric_in_group(const fabric_qp_t *qp, const union ibv_gid *gid)
{
    return find(qp, gid) < qp->group_count;
}

int fabric_attach_group(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid)
{
    FABRIC_GUARD;
    fabric_qp_t *qp = (fabric_qp_t *)base;
    if (base->qp_type != IBV_QPT_UD || fabric_in_group(qp, gid) || (fabric_script.infiniband && lid < 0xC000))
        return EINVAL;
    if (qp->group_count == FABRIC_GROUPS)
        return ENOMEM;
    qp->groups[qp->group_count++] = *gid;
    fabric_counts.groups++;
    return 0;
}

int fabric_detach_group(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid)
{
    FABRIC_GUARD;
    fabric_qp_t *qp = (fabric_qp_t *)base;
    unsigned at = find(qp, gid);
    (void)lid;
    if (at == qp->group_count)
        return EINVAL;
    qp->groups[at] = qp->groups[--qp->group_count];
    fabric_counts.groups--;
    return 0;
}

void fabric_inject(const void *bytes, unsigned length)
{
    FABRIC_GUARD;
    size_t cursor = 0;
    for (fabric_qp_t *qp; (qp = map_next(&fabric_qps, &cursor, NULL)) != NULL;)
        if (qp->group_count > 0)
            (void)fabric_place_datagram(qp, bytes, length);
}
