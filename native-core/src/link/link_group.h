/* SPDX-License-Identifier: Apache-2.0
 * link_group.h - multicast groups: see vbn_group_join in vbn.h. The worker's thread. */
#ifndef VBN_LINK_GROUP_H
#define VBN_LINK_GROUP_H

#include "link/link.h"

/* address: IP, IPv4 as ::ffff:a.b.c.d. */
vbn_status_t link_group_join(link_engine_t *engine, const uint8_t address[16], vbn_group_func_t func, void *arg,
                             vbn_group_t **group_p);
void link_group_leave(vbn_group_t *group);
vbn_status_t link_group_send(vbn_group_t *group, const struct iovec *iov, size_t count);
size_t link_group_most(const vbn_group_t *group);
void *link_group_upper_engine(const vbn_group_t *group); /* upcalls.arg of its engine */

#endif
