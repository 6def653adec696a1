/* SPDX-License-Identifier: Apache-2.0
 * tcp_nets.h - the networks of this host: addresses of interfaces that are up, best first. */
#ifndef VBN_TL_TCP_NETS_H
#define VBN_TL_TCP_NETS_H

#include <net/if.h>

#include "tl/tcp/tcp_address.h"

#define TCP_NETS 16u

/* From the worst to the best. */
typedef enum tcp_net_kind {
    TCP_NET_LOOPBACK,
    TCP_NET_DOWN,       /* the interface has no carrier: the address reaches this host alone */
    TCP_NET_LINK_LOCAL, /* IPv6, of one network only */
    TCP_NET_BRIDGE,     /* bridges of containers (docker0, virbr0): alike on every host, and they lead to no other */
    TCP_NET_CABLE,
    TCP_NET_ROUTE, /* the default route goes by its interface */
} tcp_net_kind_t;

typedef struct tcp_net {
    tcp_ip_t ip;
    uint8_t prefix; /* bits that all addresses of the network share */
    tcp_net_kind_t kind;
    char name[IF_NAMESIZE];
} tcp_net_t;

typedef struct tcp_nets {
    unsigned count;
    tcp_net_t net[TCP_NETS]; /* better kinds first, then IPv4, then in the kernel's order */
} tcp_nets_t;

/* name: an interface, or "" for all. One address of each network of an interface (all link-local ones); of more than TCP_NETS
 * the best ones. Any thread. */
vbn_status_t tcp_nets_list(const char *name, tcp_nets_t *nets_p);
/* The interface with that address. VBN_OK; 1: there is none; below 0: an error. Any thread. */
vbn_status_t tcp_nets_find(const tcp_ip_t *ip, tcp_net_t *net_p);
bool tcp_nets_own(const tcp_nets_t *nets, const tcp_ip_t *ip); /* is it an address of this host? */
bool tcp_net_has(const tcp_net_t *net, const tcp_ip_t *ip);
/* As the interface says; 0: it does not (loopback, most virtual ones). */
uint32_t tcp_net_mbytes_per_s(const char *name);

#endif
