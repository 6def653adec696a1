/* SPDX-License-Identifier: Apache-2.0
 * tcp_route.h - which local addresses to listen on, and why. */
#ifndef VBN_TL_TCP_ROUTE_H
#define VBN_TL_TCP_ROUTE_H

#include "tl/tcp/tcp_nets.h"

typedef struct tcp_choice {
    unsigned count; /* 1 .. TCP_ADDRESS_IPS */
    tcp_ip_t ips[TCP_ADDRESS_IPS];
    char why[128];         /* one clause about the first: "default route by eth0" */
    uint32_t mbytes_per_s; /* of the first one's interface, as it says; 0 = it does not (loopback, most virtual ones) */
} tcp_choice_t;

/* wanted: the setting tl.tcp.interface - an address or interface name of this host; "" = all addresses that are up: those of
 * the default route first, bridges of containers last. IPv6 link-local ones only where there are no others, then with loopback;
 * loopback alone where there is nothing else. Never the wildcard address. VBN_ERR_SETTING lists the names that exist. Any
 * thread. */
vbn_status_t tcp_route_choose(const char *wanted, tcp_choice_t *choice_p);
/* Asks the kernel's routing table, without sending: VBN_OK when ip can be routed to, else VBN_ERR_UNREACHABLE. */
vbn_status_t tcp_route_check(const tcp_ip_t *ip, uint16_t port);

#endif
