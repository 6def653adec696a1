// SPDX-License-Identifier: Apache-2.0
// test_targets.cc - which of a peer's addresses are tried, in which order.
#include <gtest/gtest.h>

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include "tl/tcp/tcp_targets.h"
}

namespace {

tcp_ip_t ip_of(const char *text)
{
    tcp_ip_t ip = {};
    ip.family = strchr(text, ':') != nullptr ? 6 : 4;
    EXPECT_EQ(1, inet_pton(ip.family == 4 ? AF_INET : AF_INET6, text, ip.bytes)) << text;
    return ip;
}

struct Own {
    const char *ip;
    unsigned prefix;
    tcp_net_kind_t kind;
    uint32_t scope;
};

/* A host with a cable, a bridge of containers and two links of IPv6. */
tcp_nets_t host()
{
    const Own all[] = {{"10.0.0.1", 24, TCP_NET_ROUTE, 0},     {"10.1.16.1", 20, TCP_NET_CABLE, 0},
                       {"fd00:1::1", 64, TCP_NET_CABLE, 0},    {"172.17.0.1", 16, TCP_NET_BRIDGE, 0},
                       {"fe80::1", 64, TCP_NET_LINK_LOCAL, 2}, {"fe80::2", 64, TCP_NET_LINK_LOCAL, 3},
                       {"127.0.0.1", 8, TCP_NET_LOOPBACK, 0}};
    tcp_nets_t nets = {};
    for (const Own &own : all) {
        tcp_net_t &net = nets.net[nets.count++];
        net.ip = ip_of(own.ip);
        net.ip.scope = own.scope;
        net.prefix = static_cast<uint8_t>(own.prefix);
        net.kind = own.kind;
    }
    return nets;
}

/* What is tried, as text; after an address of one link its number. */
std::string tried(const std::vector<const char *> &addresses, bool same_stack = false)
{
    tcp_address_t targets = {};
    tcp_nets_t own = host();
    targets.port = 7;
    for (const char *text : addresses)
        targets.ips[targets.count++] = ip_of(text);
    if (tcp_targets_sort(&own, same_stack, &targets) != VBN_OK)
        return err_text();
    std::string all;
    for (unsigned i = 0; i < targets.count; i++) {
        char text[TCP_ENDPOINT_TEXT];
        tcp_ip_text(&targets.ips[i], 0, text);
        all += (i > 0 ? " " : "") + std::string(text);
        if (targets.ips[i].scope != 0)
            all += "%" + std::to_string(targets.ips[i].scope);
    }
    return all;
}

} // namespace

TEST(TcpTargets, networks_of_this_host_come_first_its_bridges_late_and_others_keep_their_order)
{
    EXPECT_EQ("10.1.31.9 fd00:1::9 192.0.2.9 10.1.32.9 172.17.0.9",
              tried({"172.17.0.9", "192.0.2.9", "10.1.31.9", "10.1.32.9", "fd00:1::9"}));
}

TEST(TcpTargets, addresses_that_mean_this_host_are_tried_last_for_another_and_loopback_never)
{
    EXPECT_EQ("10.0.0.9 172.17.0.1", tried({"172.17.0.1", "127.0.0.1", "10.0.0.9", "::1"}));
    EXPECT_EQ("127.0.0.1 172.17.0.1", tried({"172.17.0.1", "127.0.0.1"}, true));
    EXPECT_NE(std::string::npos, tried({"127.0.0.1"}).find("loopback of another host"));
}

TEST(TcpTargets, a_link_local_address_is_tried_last_and_on_each_link)
{
    EXPECT_EQ("192.0.2.9 fe80::9%2 fe80::9%3", tried({"fe80::9", "192.0.2.9"}));
}

TEST(TcpTargets, as_many_as_an_address_can_hold_are_tried_at_most)
{
    std::vector<const char *> links(TCP_ADDRESS_IPS, "fe80::9");
    std::string all = tried(links);
    EXPECT_EQ(TCP_ADDRESS_IPS - 1, static_cast<unsigned>(std::count(all.begin(), all.end(), ' ')));
}
