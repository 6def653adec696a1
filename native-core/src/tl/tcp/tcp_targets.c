/* SPDX-License-Identifier: Apache-2.0
 * tcp_targets.c - order of a peer's addresses. */
#include "tl/tcp/tcp_targets.h"

typedef enum rank { RANK_NEAR, RANK_ROUTED, RANK_BRIDGE, RANK_LINK_LOCAL, RANK_OWN, RANKS } rank_t;

static rank_t rank_of(const tcp_nets_t *own, bool same_stack, const tcp_ip_t *ip)
{
    if (tcp_ip_is_loopback(ip))
        return same_stack ? RANK_NEAR : RANKS;
    if (tcp_ip_is_link_local(ip))
        return RANK_LINK_LOCAL;
    if (!same_stack && tcp_nets_own(own, ip))
        return RANK_OWN;
    for (unsigned i = 0; i < own->count; i++)
        if (tcp_net_has(&own->net[i], ip))
            return own->net[i].kind > TCP_NET_BRIDGE ? RANK_NEAR : RANK_BRIDGE;
    return RANK_ROUTED;
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

static vbn_status_t none_left(const tcp_address_t *targets)
{
    char text[TCP_ENDPOINT_TEXT];
    tcp_ip_text(&targets->ips[0], targets->port, text);
    if (tcp_ip_is_loopback(&targets->ips[0]))
        return err_set(VBN_ERR_UNREACHABLE, "%s is loopback of another host; set tl.tcp.interface there", text);
    return err_set(VBN_ERR_UNREACHABLE, "%s is an IPv6 link-local address, and no interface here has one", text);
}

vbn_status_t tcp_targets_sort(const tcp_nets_t *own, bool same_stack, tcp_address_t *targets)
{
    tcp_address_t sorted = *targets;
    sorted.count = 0;
    for (unsigned rank = 0; rank < RANKS; rank++)
        for (unsigned i = 0; i < targets->count && sorted.count < TCP_ADDRESS_IPS; i++)
            if (rank_of(own, same_stack, &targets->ips[i]) == (rank_t)rank)
                add(own, &targets->ips[i], &sorted);
    if (sorted.count == 0)
        return none_left(targets);
    *targets = sorted;
    return VBN_OK;
}
