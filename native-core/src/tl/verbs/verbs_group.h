/* SPDX-License-Identifier: Apache-2.0
 * verbs_group.h - a datagram queue pair's membership in a multicast group: the device is told to take its packets, the network
 * to bring them, and a route leads there. On InfiniBand the subnet manager is asked first, by rdma_cm: until it has answered
 * what is sent is lost. One thread. */
#ifndef VBN_TL_VERBS_GROUP_H
#define VBN_TL_VERBS_GROUP_H

#include "tl/verbs/verbs_cm.h"
#include "tl/verbs/verbs_datagram.h"

#define VERBS_GROUP_QPN 0xFFFFFFu /* of all members */

typedef struct verbs_group {
    uint8_t address[16];
    union ibv_gid gid;    /* on RoCE the address itself */
    uint16_t lid;         /* InfiniBand */
    verbs_route_t *route; /* NULL: none now */
    bool attached, refused;
    int network_fd;       /* RoCE: the kernel's membership lives as long as this socket; -1: the network was not told */
    const verbs_cm_t *cm; /* InfiniBand: the membership lives as long as the id */
    struct rdma_event_channel *channel;
    struct rdma_cm_id *id;
} verbs_group_t;

/* VBN_ERR_UNSUPPORTED: not on this port, and why. The group is filled either way and may be left. */
vbn_status_t verbs_group_join(verbs_group_t *group, verbs_datagram_t *datagram, const uint8_t address[16]);
void verbs_group_leave(verbs_group_t *group, verbs_datagram_t *datagram);
/* The port's own address has changed. */
void verbs_group_renew(verbs_group_t *group, verbs_datagram_t *datagram);
/* Now and then, and before the worker sleeps: what the subnet manager says. */
void verbs_group_look(verbs_group_t *group, verbs_datagram_t *datagram);

/* What the subnet manager says of a group: gid and lid of one that is joined; an answer may be neither. */
typedef struct verbs_group_answer {
    bool joined, refused;
    union ibv_gid gid;
    uint16_t lid;
} verbs_group_answer_t;

/* verbs_group_ib.c: asks the subnet manager; takes its next answer, false: there is none. */
vbn_status_t verbs_group_ask(verbs_group_t *group, verbs_datagram_t *datagram);
bool verbs_group_answer(verbs_group_t *group, verbs_group_answer_t *answer);

#endif
