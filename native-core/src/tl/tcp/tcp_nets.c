/* SPDX-License-Identifier: Apache-2.0
 * tcp_nets.c - this host's addresses, and how good they are for others. */
#include "tl/tcp/tcp_nets.h"

#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUTE_UP 0x0001u
#define ROUTE_REJECT 0x0200u

typedef struct routes {
    char v4[IF_NAMESIZE]; /* interface of the default route, "" = none */
    char v6[IF_NAMESIZE];
} routes_t;

/* Interface of the IPv4 default route with the lowest metric. */
static void default_route_v4(char name[IF_NAMESIZE])
{
    char line[256];
    unsigned long best = ULONG_MAX;
    FILE *file = fopen("/proc/net/route", "re");
    while (file && fgets(line, sizeof(line), file)) {
        char interface[IF_NAMESIZE];
        unsigned long destination, flags, metric, mask;
        if (sscanf(line, "%15s %lx %*s %lx %*s %*s %lu %lx", interface, &destination, &flags, &metric, &mask) != 5)
            continue;
        if (destination || mask || !(flags & ROUTE_UP) || (flags & ROUTE_REJECT) || metric >= best)
            continue;
        best = metric;
        memcpy(name, interface, IF_NAMESIZE);
    }
    if (file)
        fclose(file);
}

static void default_route_v6(char name[IF_NAMESIZE])
{
    char line[256];
    unsigned long best = ULONG_MAX;
    FILE *file = fopen("/proc/net/ipv6_route", "re");
    while (file && fgets(line, sizeof(line), file)) {
        char interface[IF_NAMESIZE];
        char destination[33];
        unsigned long prefix, metric, flags;
        if (sscanf(line, "%32s %lx %*s %*s %*s %lx %*s %*s %lx %15s", destination, &prefix, &metric, &flags,
                   interface) != 5)
            continue;
        if (prefix || strspn(destination, "0") != 32 || !(flags & ROUTE_UP) || (flags & ROUTE_REJECT) || metric >= best)
            continue;
        best = metric;
        memcpy(name, interface, IF_NAMESIZE);
    }
    if (file)
        fclose(file);
}

/* Asks the driver of an interface; command: a struct of ethtool with its number. */
static bool ask_driver(const char *name, void *command)
{
    struct ifreq request = {.ifr_data = command};
    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool known = fd >= 0 && ioctl(fd, SIOCETHTOOL, &request) == 0;
    if (fd >= 0)
        close(fd);
    return known;
}

uint32_t tcp_net_mbytes_per_s(const char *name)
{
    struct ethtool_cmd command = {.cmd = ETHTOOL_GSET};
    uint32_t mbits = ask_driver(name, &command) ? (uint32_t)command.speed_hi << 16 | command.speed : 0;
    return mbits == (uint32_t)SPEED_UNKNOWN ? 0 : (mbits + 7) / 8;
}

static bool is_bridge(const char *name)
{
    struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
    return ask_driver(name, &info) && strcmp(info.driver, "bridge") == 0;
}

static tcp_net_kind_t kind_of(const struct ifaddrs *entry, const tcp_ip_t *ip, const routes_t *routes)
{
    if (tcp_ip_is_loopback(ip))
        return TCP_NET_LOOPBACK;
    if ((entry->ifa_flags & IFF_RUNNING) == 0)
        return TCP_NET_DOWN;
    if (tcp_ip_is_link_local(ip))
        return TCP_NET_LINK_LOCAL;
    if (strcmp(entry->ifa_name, ip->family == 4 ? routes->v4 : routes->v6) == 0)
        return TCP_NET_ROUTE;
    bool routed = strcmp(entry->ifa_name, routes->v4) == 0 || strcmp(entry->ifa_name, routes->v6) == 0;
    return !routed && is_bridge(entry->ifa_name) ? TCP_NET_BRIDGE : TCP_NET_CABLE;
}

static uint8_t prefix_of(const struct ifaddrs *entry, const tcp_ip_t *ip)
{
    tcp_ip_t mask;
    unsigned bytes = ip->family == 4 ? 4 : 16, bits = 0;
    if (!entry->ifa_netmask || !tcp_ip_from_sockaddr(entry->ifa_netmask, &mask, NULL))
        return (uint8_t)(bytes * 8);
    while (bits < bytes * 8 && (mask.bytes[bits / 8] & 0x80u >> bits % 8) != 0)
        bits++;
    return (uint8_t)bits;
}

static bool is_up(const struct ifaddrs *entry, tcp_ip_t *ip)
{
    return entry->ifa_addr && (entry->ifa_flags & IFF_UP) && tcp_ip_from_sockaddr(entry->ifa_addr, ip, NULL);
}

bool tcp_net_has(const tcp_net_t *net, const tcp_ip_t *ip)
{
    unsigned whole = net->prefix / 8u, rest = net->prefix % 8u;
    if (net->ip.family != ip->family || memcmp(net->ip.bytes, ip->bytes, whole) != 0)
        return false;
    return rest == 0 || ((net->ip.bytes[whole] ^ ip->bytes[whole]) & 0xFF00u >> rest & 0xFFu) == 0;
}

bool tcp_nets_own(const tcp_nets_t *nets, const tcp_ip_t *ip)
{
    for (unsigned i = 0; i < nets->count; i++)
        if (tcp_ip_equal(&nets->net[i].ip, ip))
            return true;
    return false;
}

static bool is_better(const tcp_net_t *a, const tcp_net_t *b)
{
    return a->kind != b->kind ? a->kind > b->kind : a->ip.family < b->ip.family;
}

static void insert(tcp_nets_t *nets, const tcp_net_t *net)
{
    unsigned at = nets->count;
    bool link_local = tcp_ip_is_link_local(&net->ip); /* the kernel's own may not be usable yet */
    for (unsigned i = 0; i < nets->count && !link_local; i++)
        if (strcmp(nets->net[i].name, net->name) == 0 && tcp_net_has(&nets->net[i], &net->ip))
            return; /* another address of a network that is known */
    while (at > 0 && is_better(net, &nets->net[at - 1]))
        at--;
    if (at == TCP_NETS)
        return;
    nets->count += nets->count < TCP_NETS ? 1 : 0;
    memmove(&nets->net[at + 1], &nets->net[at], (nets->count - 1 - at) * sizeof(*net));
    nets->net[at] = *net;
}

static void fill(const struct ifaddrs *entry, const tcp_ip_t *ip, const routes_t *routes, tcp_net_t *net_p)
{
    *net_p = (tcp_net_t){.ip = *ip, .prefix = prefix_of(entry, ip), .kind = kind_of(entry, ip, routes)};
    snprintf(net_p->name, sizeof(net_p->name), "%s", entry->ifa_name);
}

vbn_status_t tcp_nets_list(const char *name, tcp_nets_t *nets_p)
{
    struct ifaddrs *all;
    routes_t routes = {0};
    nets_p->count = 0;
    if (getifaddrs(&all) != 0)
        return err_sys(errno, "cannot list the network interfaces");
    default_route_v4(routes.v4);
    default_route_v6(routes.v6);
    for (const struct ifaddrs *entry = all; entry; entry = entry->ifa_next) {
        tcp_ip_t ip;
        tcp_net_t net;
        if (!is_up(entry, &ip) || (*name && strcmp(entry->ifa_name, name) != 0))
            continue;
        fill(entry, &ip, &routes, &net);
        insert(nets_p, &net);
    }
    freeifaddrs(all);
    return VBN_OK;
}

/* Linux takes every address of 127.0.0.0/8 for the loopback interface's, named or not. */
static bool is_address_of(const struct ifaddrs *entry, const tcp_ip_t *present, const tcp_ip_t *ip)
{
    bool loopback = (entry->ifa_flags & IFF_LOOPBACK) && present->family == 4 && ip->family == 4;
    return tcp_ip_equal(present, ip) || (loopback && present->bytes[0] == 127 && ip->bytes[0] == 127);
}

vbn_status_t tcp_nets_find(const tcp_ip_t *ip, tcp_net_t *net_p)
{
    struct ifaddrs *all;
    bool found = false;
    const routes_t none = {0};
    if (getifaddrs(&all) != 0)
        return err_sys(errno, "cannot list the network interfaces");
    for (const struct ifaddrs *entry = all; entry && !found; entry = entry->ifa_next) {
        tcp_ip_t present;
        found = is_up(entry, &present) && is_address_of(entry, &present, ip);
        if (!found)
            continue;
        tcp_ip_t own = *ip;
        own.scope = present.scope;
        fill(entry, &own, &none, net_p);
    }
    freeifaddrs(all);
    return found ? VBN_OK : 1;
}
