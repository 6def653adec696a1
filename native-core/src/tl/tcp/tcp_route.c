/* SPDX-License-Identifier: Apache-2.0
 * tcp_route.c - choice of the listening addresses from the host's networks. */
#include "tl/tcp/tcp_route.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static vbn_status_t unknown_interface(const char *wanted)
{
    char present[512] = "";
    size_t used = 0;
    tcp_nets_t nets;
    vbn_status_t status = tcp_nets_list("", &nets);
    for (unsigned i = 0; i < nets.count && used < sizeof(present) - 1; i++) {
        char text[TCP_ENDPOINT_TEXT];
        tcp_ip_text(&nets.net[i].ip, 0, text);
        int n = snprintf(present + used, sizeof(present) - used, "%s%s (%s)", used ? ", " : "", nets.net[i].name, text);
        used += n > 0 ? (size_t)n : 0;
    }
    return status < 0 ? status
                      : err_set(VBN_ERR_SETTING,
                                "tl.tcp.interface \"%s\" is no address or name of an interface here that is up; "
                                "present: %s",
                                wanted, present);
}

/* Those that others may reach all together; where there are none, those of the best kind. Of loopback one is enough. */
static void take(const tcp_nets_t *nets, tcp_choice_t *choice)
{
    tcp_net_kind_t best = nets->net[0].kind, least = best > TCP_NET_BRIDGE ? TCP_NET_BRIDGE : best;
    bool loopback = best == TCP_NET_LINK_LOCAL;
    choice->count = 0;
    for (unsigned i = 0; i < nets->count && choice->count < TCP_ADDRESS_IPS; i++) {
        const tcp_net_t *net = &nets->net[i];
        if (net->kind >= least || (net->kind == TCP_NET_LOOPBACK && loopback))
            choice->ips[choice->count++] = net->ip;
        if (net->kind == TCP_NET_LOOPBACK && choice->count > 0)
            break;
    }
    choice->mbytes_per_s = tcp_net_mbytes_per_s(nets->net[0].name);
}

static vbn_status_t choose_address(const char *wanted, const tcp_ip_t *ip, tcp_choice_t *choice)
{
    tcp_net_t net;
    vbn_status_t status = tcp_nets_find(ip, &net);
    if (status != VBN_OK)
        return status < 0 ? status : unknown_interface(wanted);
    choice->count = 1;
    choice->ips[0] = net.ip;
    choice->mbytes_per_s = tcp_net_mbytes_per_s(net.name);
    snprintf(choice->why, sizeof(choice->why), "set by tl.tcp.interface, on %s", net.name);
    return VBN_OK;
}

static vbn_status_t choose_wanted(const char *wanted, tcp_choice_t *choice)
{
    tcp_ip_t ip = {0};
    tcp_nets_t nets;
    if (inet_pton(AF_INET, wanted, ip.bytes) == 1)
        ip.family = 4;
    else if (inet_pton(AF_INET6, wanted, ip.bytes) == 1)
        ip.family = 6;
    if (ip.family != 0)
        return choose_address(wanted, &ip, choice);
    vbn_status_t status = tcp_nets_list(wanted, &nets);
    if (status != VBN_OK)
        return status;
    if (nets.count == 0)
        return unknown_interface(wanted);
    take(&nets, choice);
    snprintf(choice->why, sizeof(choice->why), "interface %s set by tl.tcp.interface", wanted);
    return VBN_OK;
}

static vbn_status_t choose_default(tcp_choice_t *choice)
{
    static const struct {
        const char *before, *after; /* the name of the interface */
    } WHY[] = {
        [TCP_NET_LOOPBACK] = {"no other address is up than those of ", ""},
        [TCP_NET_DOWN] = {"no interface has a carrier, so only this host is reached; first on ", ""},
        [TCP_NET_LINK_LOCAL] = {"only IPv6 link-local addresses are up, each for one network; first on ", ""},
        [TCP_NET_BRIDGE] = {"no default route: all that are up, first on ", ", a bridge"},
        [TCP_NET_CABLE] = {"no default route: all that are up, first on ", ""},
        [TCP_NET_ROUTE] = {"default route by ", ""},
    };
    tcp_nets_t nets;
    vbn_status_t status = tcp_nets_list("", &nets);
    if (status != VBN_OK)
        return status;
    if (nets.count == 0)
        return err_set(VBN_ERR_UNSUPPORTED, "no network interface is up, not even loopback; run \"ip link set lo up\"");
    take(&nets, choice);
    const tcp_net_t *first = &nets.net[0];
    snprintf(choice->why, sizeof(choice->why), "%s%s%s", WHY[first->kind].before, first->name, WHY[first->kind].after);
    return VBN_OK;
}

vbn_status_t tcp_route_choose(const char *wanted, tcp_choice_t *choice_p)
{
    return *wanted ? choose_wanted(wanted, choice_p) : choose_default(choice_p);
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
