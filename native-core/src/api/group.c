/* SPDX-License-Identifier: Apache-2.0
 * group.c - public calls of multicast groups. */
#include <arpa/inet.h>
#include <string.h>

#include "api/api_private.h"
#include "link/link_group.h"

/* To 16 bytes, IPv4 as ::ffff:a.b.c.d. */
static bool parse(const char *text, uint8_t address[16])
{
    memset(address, 0, 10);
    memset(address + 10, 0xFF, 2);
    return inet_pton(AF_INET, text, address + 12) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

vbn_status_t vbn_group_join(vbn_worker_t *worker, const char *address, vbn_group_func_t func, void *arg,
                            vbn_group_t **group_p)
{
    API_BY_ONE_THREAD(worker == NULL ? NULL : worker->proto);
    uint8_t bytes[16];
    if (worker == NULL || address == NULL || func == NULL || group_p == NULL)
        return err_set(VBN_ERR_INVALID, "a group needs a worker, an address and a function for datagrams");
    if (!parse(address, bytes))
        return err_set(VBN_ERR_INVALID, "\"%.64s\" is not an IP address: write it as 239.1.2.3 or ff15::1", address);
    return link_group_join(worker->link, bytes, func, arg, group_p);
}

void vbn_group_leave(vbn_group_t *group)
{
    API_BY_ONE_THREAD(group == NULL ? NULL : link_group_upper_engine(group));
    if (group != NULL)
        link_group_leave(group);
}

size_t vbn_group_most(const vbn_group_t *group)
{
    return group == NULL ? 0 : link_group_most(group);
}

vbn_status_t vbn_group_send(vbn_group_t *group, const struct iovec *iov, size_t count)
{
    API_BY_ONE_THREAD(group == NULL ? NULL : link_group_upper_engine(group));
    if (group == NULL || (iov == NULL && count > 0) || count > UINT32_MAX)
        return err_set(VBN_ERR_INVALID, "a datagram needs a group and buffers");
    return link_group_send(group, iov, count);
}
