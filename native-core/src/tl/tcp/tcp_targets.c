/* SPDX-License-Identifier: Apache-2.0
 * tcp_targets.c - order of a peer's addresses. */
#include "tl/tcp/tcp_targets.h"

typedef enum rank { RANK_NEAR, RANK_ROUTED, RANK_BRIDGE, RANK_LINK_LOCAL, RANKS } rank_t;

static rank_t rank_of(const tcp_nets_t *own, const tcp_ip_t *ip)
{
    if (tcp_ip_is_loopback(ip))
        return RANK_NEAR;
    if (tcp_ip_is_link_local(ip))
        return RANK_LINK_LOCAL;
    for (unsigned i = 0; i < own->count; i++)
        if (tcp_net_has(&own->net[i], ip))
            return own->net[i].kind > TCP_NET_BRIDGE ? RANK_NEAR : RANK_BRIDGE;
    return RANK_ROUTED;
}

static vbn_status_t check(const tcp_nets_t *own, const tcp_ip_t *ip, uint16_t port)
{
    char text[TCP_ENDPOINT_TEXT];
    tcp_ip_text(ip, port, text);
    if (tcp_ip_is_loopback(ip))
        return err_set(VBN_ERR_UNREACHABLE, "%s is loopback of another host; set tl.tcp.interface there", text);
    if (tcp_nets_own(own, ip))
        return err_set(VBN_ERR_UNREACHABLE, "%s is an address of this host, too; set tl.tcp.interface there", text);
    return VBN_OK;
}

static void add(const tcp_nets_t *own, const tcp_ip_t *ip, tcp_address_t *to)
{
    if (!tcp_ip_is_link_local(ip)) {
        to->ips[to->count++] = *ip;
        return;
    }
    for (unsigned i = 0; i < own->count && to->count < TCP_ADDRESS_IPS; i++) {
        if (!tcp_ip_is_link_local(&own->net[i].ip))
            continue;
        to->ips[to->count] = *ip;
        to->ips[to->count++].scope = own->net[i].ip.scope;
    }
}

vbn_status_t tcp_targets_sort(const tcp_nets_t *own, bool same_stack, tcp_address_t *targets)
{
    tcp_address_t sorted = *targets;
    vbn_status_t status = VBN_OK;
    bool linked = false;
    sorted.count = 0;
    for (unsigned rank = 0; rank < RANKS; rank++) {
        for (unsigned i = 0; i < targets->count && sorted.count < TCP_ADDRESS_IPS; i++) {
            const tcp_ip_t *ip = &targets->ips[i];
            if (rank_of(own, ip) != (rank_t)rank)
                continue;
            vbn_status_t one = same_stack ? VBN_OK : check(own, ip, targets->port);
            if (one == VBN_OK)
                add(own, ip, &sorted);
            else
                status = one;
            linked |= rank == RANK_LINK_LOCAL;
        }
    }
    if (sorted.count == 0 && status == VBN_OK && linked)
        status = err_set(VBN_ERR_UNREACHABLE,
                         "the peer has IPv6 link-local addresses alone, and no interface here has one");
    *targets = sorted;
    return sorted.count > 0 ? VBN_OK : status;
}
