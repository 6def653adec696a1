/* SPDX-License-Identifier: Apache-2.0
 * tcp_route.c - choice of the listening address from the host's interfaces and routes. */
#include "tl/tcp/tcp_route.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ROUTE_UP 0x0001u
#define ROUTE_REJECT 0x0200u

/* Interface of the IPv4 default route with the lowest metric. */
static bool default_route_v4(char name[IF_NAMESIZE])
{
    char line[256];
    unsigned long best = ULONG_MAX;
    FILE *file = fopen("/proc/net/route", "re");
    if (!file)
        return false;
    while (fgets(line, sizeof(line), file)) {
        char interface[IF_NAMESIZE];
        unsigned long destination, flags, metric, mask;
        if (sscanf(line, "%15s %lx %*s %lx %*s %*s %lu %lx", interface, &destination, &flags, &metric, &mask) != 5)
            continue;
        if (destination || mask || !(flags & ROUTE_UP) || (flags & ROUTE_REJECT) || metric >= best)
            continue;
        best = metric;
        memcpy(name, interface, IF_NAMESIZE);
    }
    fclose(file);
    return best != ULONG_MAX;
}

static bool default_route_v6(char name[IF_NAMESIZE])
{
    char line[256];
    unsigned long best = ULONG_MAX;
    FILE *file = fopen("/proc/net/ipv6_route", "re");
    if (!file)
        return false;
    while (fgets(line, sizeof(line), file)) {
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
    fclose(file);
    return best != ULONG_MAX;
}

static bool is_link_local(const tcp_ip_t *ip)
{
    return ip->family == 6 && ip->bytes[0] == 0xFE && (ip->bytes[1] & 0xC0) == 0x80;
}

static bool is_up(const struct ifaddrs *entry, tcp_ip_t *ip)
{
    return entry->ifa_addr && (entry->ifa_flags & IFF_UP) && tcp_ip_from_sockaddr(entry->ifa_addr, ip, NULL);
}

/* IPv6 link-local addresses need a scope that means nothing to the peer. */
static bool is_usable(const struct ifaddrs *entry, tcp_ip_t *ip)
{
    return is_up(entry, ip) && !is_link_local(ip);
}

/* First address of an interface, IPv4 before IPv6; family 0 = any. */
static bool address_of(const struct ifaddrs *all, const char *name, uint8_t family, tcp_ip_t *ip_p)
{
    bool found = false;
    for (const struct ifaddrs *entry = all; entry; entry = entry->ifa_next) {
        tcp_ip_t ip;
        if (!is_usable(entry, &ip) || strcmp(entry->ifa_name, name) != 0)
            continue;
        if ((family && ip.family != family) || (found && ip_p->family <= ip.family))
            continue;
        *ip_p = ip;
        found = true;
    }
    return found;
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

static uint32_t speed_of(const char *name)
{
    struct ethtool_cmd command = {.cmd = ETHTOOL_GSET};
    uint32_t mbits = ask_driver(name, &command) ? (uint32_t)command.speed_hi << 16 | command.speed : 0;
    return mbits == (uint32_t)SPEED_UNKNOWN ? 0 : (mbits + 7) / 8;
}

/* Bridges of containers (docker0, br-..., virbr0): alike on every host, and they lead to no other. */
static bool is_bridge(const char *name)
{
    struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
    return ask_driver(name, &info) && strcmp(info.driver, "bridge") == 0;
}

/* An interface whose only address that is up is IPv6 link-local; `name` NULL: any. NULL: there is none. */
static const char *only_link_local(const struct ifaddrs *all, const char *name)
{
    const char *found = NULL;
    for (const struct ifaddrs *entry = all; entry; entry = entry->ifa_next) {
        tcp_ip_t ip, usable;
        if (is_up(entry, &ip) && is_link_local(&ip) && (name == NULL || strcmp(entry->ifa_name, name) == 0) &&
            !address_of(all, entry->ifa_name, 0, &usable))
            found = entry->ifa_name;
    }
    return found;
}

static vbn_status_t unknown_interface(const struct ifaddrs *all, const char *wanted)
{
    if (only_link_local(all, wanted) != NULL)
        return err_set(
            VBN_ERR_SETTING,
            "tl.tcp.interface \"%s\" has an IPv6 link-local address alone, which means nothing to other hosts; give it "
            "another address (ip addr add fd00::1/64 dev %s), or name another interface",
            wanted, wanted);

    char present[512] = "";
    size_t used = 0;
    for (const struct ifaddrs *entry = all; entry; entry = entry->ifa_next) {
        tcp_ip_t ip;
        char text[TCP_ENDPOINT_TEXT];
        if (!is_usable(entry, &ip) || used >= sizeof(present) - 1)
            continue;
        tcp_ip_text(&ip, 0, text);
        int n = snprintf(present + used, sizeof(present) - used, "%s%s (%s)", used ? ", " : "", entry->ifa_name, text);
        used += n > 0 ? (size_t)n : 0;
    }
    return err_set(VBN_ERR_SETTING,
                   "tl.tcp.interface \"%s\" is no address or name of an interface here that is up; "
                   "present: %s",
                   wanted, present);
}

/* Linux takes every address of 127.0.0.0/8 for the loopback interface's, named or not. */
static bool is_address_of(const struct ifaddrs *entry, const tcp_ip_t *ip)
{
    tcp_ip_t present;
    if (!is_usable(entry, &present))
        return false;
    bool loopback = (entry->ifa_flags & IFF_LOOPBACK) && present.family == 4 && ip->family == 4;
    return tcp_ip_equal(&present, ip) || (loopback && present.bytes[0] == 127 && ip->bytes[0] == 127);
}

static vbn_status_t choose_wanted(const struct ifaddrs *all, const char *wanted, tcp_choice_t *choice)
{
    tcp_ip_t ip = {0};
    if (inet_pton(AF_INET, wanted, ip.bytes) == 1)
        ip.family = 4;
    else if (inet_pton(AF_INET6, wanted, ip.bytes) == 1)
        ip.family = 6;
    for (const struct ifaddrs *entry = all; entry && ip.family; entry = entry->ifa_next) {
        if (is_address_of(entry, &ip)) {
            choice->ip = ip;
            choice->mbytes_per_s = speed_of(entry->ifa_name);
            snprintf(choice->why, sizeof(choice->why), "set by tl.tcp.interface, on %s", entry->ifa_name);
            return VBN_OK;
        }
    }
    if (!address_of(all, wanted, 0, &choice->ip))
        return unknown_interface(all, wanted);
    choice->mbytes_per_s = speed_of(wanted);
    snprintf(choice->why, sizeof(choice->why), "interface %s set by tl.tcp.interface", wanted);
    return VBN_OK;
}

/* How good an address is where no default route tells; 0: not at all. Cables before bridges, running ones before others,
 * then IPv4. */
static unsigned rank_of(const struct ifaddrs *entry, tcp_ip_t *ip)
{
    if (!is_usable(entry, ip) || tcp_ip_is_loopback(ip))
        return 0;
    return 1u + (is_bridge(entry->ifa_name) ? 0u : 4u) + (entry->ifa_flags & IFF_RUNNING ? 2u : 0u) +
           (ip->family == 4 ? 1u : 0u);
}

/* Compute nodes often have no default route. */
static bool choose_first(const struct ifaddrs *all, tcp_choice_t *choice)
{
    unsigned best = 0;
    for (const struct ifaddrs *entry = all; entry; entry = entry->ifa_next) {
        tcp_ip_t ip;
        unsigned rank = rank_of(entry, &ip);
        if (rank <= best)
            continue;
        best = rank;
        choice->ip = ip;
        choice->mbytes_per_s = speed_of(entry->ifa_name);
        snprintf(choice->why, sizeof(choice->why),
                 "no default route: first address that is up, on %s; tl.tcp.interface chooses another",
                 entry->ifa_name);
    }
    return best > 0;
}

static void say_loopback(const struct ifaddrs *all, tcp_choice_t *choice)
{
    const char *local = only_link_local(all, NULL);
    if (local == NULL)
        snprintf(choice->why, sizeof(choice->why), "no other address is up: loopback only");
    else
        snprintf(choice->why, sizeof(choice->why),
                 "loopback only: %s has an IPv6 link-local address alone; give it another", local);
}

static vbn_status_t choose_default(const struct ifaddrs *all, tcp_choice_t *choice)
{
    char name[IF_NAMESIZE];
    if ((default_route_v4(name) && address_of(all, name, 4, &choice->ip)) ||
        (default_route_v6(name) && address_of(all, name, 6, &choice->ip))) {
        choice->mbytes_per_s = speed_of(name);
        snprintf(choice->why, sizeof(choice->why), "default route by %s", name);
        return VBN_OK;
    }
    if (choose_first(all, choice))
        return VBN_OK;
    for (const struct ifaddrs *entry = all; entry; entry = entry->ifa_next) {
        tcp_ip_t ip;
        if (is_usable(entry, &ip) && tcp_ip_is_loopback(&ip)) {
            choice->ip = ip;
            say_loopback(all, choice);
            return VBN_OK;
        }
    }
    return err_set(VBN_ERR_UNSUPPORTED, "no network interface is up, not even loopback; run \"ip link set lo up\"");
}

vbn_status_t tcp_route_choose(const char *wanted, tcp_choice_t *choice_p)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0)
        return err_sys(errno, "cannot list the network interfaces");
    vbn_status_t status = *wanted ? choose_wanted(all, wanted, choice_p) : choose_default(all, choice_p);
    freeifaddrs(all);
    return status;
}

vbn_status_t tcp_route_check(const tcp_ip_t *ip, uint16_t port)
{
    struct sockaddr_storage address;
    socklen_t length = tcp_ip_to_sockaddr(ip, port, &address);
    int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(errno, "no %s socket", ip->family == 4 ? "IPv4" : "IPv6");
    int error = connect(fd, (struct sockaddr *)&address, length) == 0 ? 0 : errno;
    close(fd);
    if (error == 0)
        return VBN_OK;
    char text[TCP_ENDPOINT_TEXT];
    tcp_ip_text(ip, port, text);
    return err_set(VBN_ERR_UNREACHABLE, "no route to %s: %s", text, strerror(error));
}
