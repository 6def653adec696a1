// SPDX-License-Identifier: Apache-2.0
// test_address.cc - encoding of TCP addresses, and the choice of the address to listen on.
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "carrier.h"

extern "C" {
#include "tl/tcp/tcp_address.h"
#include "tl/tcp/tcp_route.h"
}

static tcp_address_t two_addresses()
{
    tcp_address_t address = {};
    address.host_id = 0x1122334455667788u;
    address.netns_id = 42;
    address.port = 4711;
    address.count = 2;
    address.ips[0].family = 4;
    inet_pton(AF_INET, "10.1.2.3", address.ips[0].bytes);
    address.ips[1].family = 6;
    inet_pton(AF_INET6, "fd00::7", address.ips[1].bytes);
    return address;
}

TEST(TcpAddress, what_is_encoded_is_decoded)
{
    tcp_address_t in = two_addresses();
    uint8_t bytes[TCP_ADDRESS_BYTES_MAX];
    size_t length = tcp_address_encode(&in, bytes);
    EXPECT_EQ(20u + 5u + 17u, length);
    tcp_address_t out;
    ASSERT_EQ(VBN_OK, tcp_address_decode(bytes, length, &out));
    EXPECT_EQ(in.host_id, out.host_id);
    EXPECT_EQ(in.netns_id, out.netns_id);
    EXPECT_EQ(in.port, out.port);
    ASSERT_EQ(2, out.count);
    EXPECT_TRUE(tcp_ip_equal(&in.ips[0], &out.ips[0]));
    EXPECT_TRUE(tcp_ip_equal(&in.ips[1], &out.ips[1]));
}

TEST(TcpAddress, every_truncation_and_extension_is_refused)
{
    tcp_address_t in = two_addresses();
    uint8_t bytes[TCP_ADDRESS_BYTES_MAX + 8] = {};
    size_t length = tcp_address_encode(&in, bytes);
    tcp_address_t out;
    for (size_t n = 0; n < sizeof(bytes); n++) {
        std::string exact(reinterpret_cast<char *>(bytes), n); // its own allocation: an overread is seen
        EXPECT_EQ(n == length ? VBN_OK : VBN_ERR_PROTOCOL, tcp_address_decode(exact.data(), n, &out)) << n;
    }
}

TEST(TcpAddress, addresses_nobody_listens_on_are_refused)
{
    const char *bad[] = {"0.0.0.0", "255.255.255.255", "224.0.0.1", "::", "ff02::1"};
    for (const char *text : bad) {
        tcp_address_t in = two_addresses();
        in.count = 1;
        in.ips[0].family = strchr(text, ':') ? 6 : 4;
        ASSERT_EQ(1, inet_pton(in.ips[0].family == 4 ? AF_INET : AF_INET6, text, in.ips[0].bytes));
        uint8_t bytes[TCP_ADDRESS_BYTES_MAX];
        size_t length = tcp_address_encode(&in, bytes);
        tcp_address_t out;
        EXPECT_EQ(VBN_ERR_PROTOCOL, tcp_address_decode(bytes, length, &out)) << text;
    }
}

TEST(TcpAddress, another_version_is_named)
{
    tcp_address_t in = two_addresses();
    uint8_t bytes[TCP_ADDRESS_BYTES_MAX];
    size_t length = tcp_address_encode(&in, bytes);
    bytes[0] = 9;
    tcp_address_t out;
    EXPECT_EQ(VBN_ERR_VERSION, tcp_address_decode(bytes, length, &out));
    EXPECT_NE(nullptr, strstr(err_text(), "version 9")) << err_text();
}

TEST(TcpAddress, random_bytes_are_refused_or_within_bounds)
{
    std::mt19937 random(7);
    for (int i = 0; i < 100000; i++) {
        std::string bytes(random() % (TCP_ADDRESS_BYTES_MAX + 4), '\0');
        for (char &byte : bytes)
            byte = static_cast<char>(random() % 8 == 0 ? random() : random() % 8);
        if (bytes.size() > 0)
            bytes[0] = 1;
        tcp_address_t out;
        if (tcp_address_decode(bytes.data(), bytes.size(), &out) != VBN_OK)
            continue;
        ASSERT_GE(out.count, 1);
        ASSERT_LE(out.count, TCP_ADDRESS_IPS);
        ASSERT_NE(0, out.port);
    }
}

TEST(TcpRoute, an_unknown_interface_lists_those_present)
{
    tcp_choice_t choice;
    EXPECT_EQ(VBN_ERR_SETTING, tcp_route_choose("nosuch0", &choice));
    EXPECT_NE(nullptr, strstr(err_text(), "nosuch0")) << err_text();
    EXPECT_NE(nullptr, strstr(err_text(), "lo (127.0.0.1)")) << err_text();
}

TEST(TcpRoute, the_wildcard_address_is_refused)
{
    tcp_choice_t choice;
    EXPECT_EQ(VBN_ERR_SETTING, tcp_route_choose("0.0.0.0", &choice));
    EXPECT_EQ(VBN_ERR_SETTING, tcp_route_choose("::", &choice));
}

TEST(TcpRoute, loopback_can_be_asked_for_by_name_and_by_address)
{
    tcp_choice_t choice;
    ASSERT_EQ(VBN_OK, tcp_route_choose("lo", &choice)) << err_text();
    EXPECT_TRUE(tcp_ip_is_loopback(&choice.ips[0]));
    ASSERT_EQ(VBN_OK, tcp_route_choose("127.0.0.1", &choice)) << err_text();
    EXPECT_TRUE(tcp_ip_is_loopback(&choice.ips[0]));
    ASSERT_EQ(VBN_OK, tcp_route_choose("127.200.0.2", &choice))
        << "no interface names it, but Linux has it: " << err_text();
    EXPECT_EQ(200, choice.ips[0].bytes[1]);
    EXPECT_EQ(VBN_ERR_SETTING, tcp_route_choose("198.51.100.2", &choice));
}

TEST(TcpRoute, the_default_choice_is_a_concrete_address_with_a_reason)
{
    tcp_choice_t choice = {};
    ASSERT_EQ(VBN_OK, tcp_route_choose("", &choice)) << err_text();
    static const uint8_t zero[16] = {};
    EXPECT_NE(0, memcmp(zero, choice.ips[0].bytes, 16));
    EXPECT_NE('\0', choice.why[0]);
    EXPECT_EQ(VBN_OK, tcp_route_check(&choice.ips[0], 1));
}

static constexpr const char *VETH = "ip link add v0 type veth peer name v1 && ip addr add 10.9.8.7/24 dev v0 && "
                                    "ip link set v1 up && ip link set v0 up";

/* In a network namespace of its own: a pair of virtual links says 10 Gb/s. 77: there can be none here. */
static int speeds_in_a_namespace()
{
    tcp_choice_t choice = {};
    if (unshare(CLONE_NEWNET) != 0 || system(VETH) != 0 || system("ip link set lo up") != 0)
        return 77;
    for (const char *wanted : {"v0", "10.9.8.7"}) {
        choice.mbytes_per_s = 1;
        if (tcp_route_choose(wanted, &choice) != VBN_OK || choice.mbytes_per_s != 1250)
            return 1;
    }
    if (tcp_route_choose("lo", &choice) != VBN_OK || choice.mbytes_per_s != 0)
        return 2;
    return system("ip route add default dev v0") == 0 && tcp_route_choose("", &choice) == VBN_OK &&
                   choice.mbytes_per_s == 1250
               ? 0
               : 3;
}

static bool chooses(const char *what, const char *why, const char *wanted = "")
{
    tcp_choice_t choice = {};
    std::string all;
    if (tcp_route_choose(wanted, &choice) != VBN_OK)
        all = err_text();
    for (unsigned i = 0; i < choice.count; i++) {
        char text[TCP_ENDPOINT_TEXT];
        tcp_ip_text(&choice.ips[i], 0, text);
        all += (i > 0 ? " " : "") + std::string(text);
    }
    bool right = all == what && strstr(choice.why, why) != nullptr;
    if (!right)
        fprintf(stderr, "chose %s (%s), not %s (%s)\n", all.c_str(), choice.why, what, why);
    return right;
}

static bool run(const char *command)
{
    return system(command) == 0;
}

/* The kernel gives a link its own link-local address at a time that it chooses: none here. A host's setting may say that new
 * namespaces have no IPv6. */
static bool alone_with_links()
{
    return unshare(CLONE_NEWNET) == 0 &&
           run("sysctl -qw net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.addr_gen_mode=1 && ip link set lo up") &&
           run("ip link add v0 type veth peer name v1 && ip link add a0 type bridge");
}

/* A namespace as of a compute node: no default route, a bridge of containers, one cable. */
static int choices_without_a_route()
{
    if (!alone_with_links())
        return 77;
    if (!chooses("127.0.0.1", "no other address is up"))
        return 1;
    if (!run("ip link set v0 up && ip addr add 10.1.1.1/24 dev v0") ||
        !chooses("10.1.1.1", "no interface has a carrier"))
        return 2;
    if (!run("ip addr del 10.1.1.1/24 dev v0 && ip link set v1 up && ip addr add fe80::7/64 dev v0 nodad") ||
        !has_carrier("v0"))
        return 3;
    if (!chooses("fe80::7 127.0.0.1", "link-local") || !chooses("fe80::7", "set by", "v0"))
        return 4;
    if (!run("ip link add w0 type veth peer name w1 && ip link set w1 master a0 up && ip link set w0 up") ||
        !run("ip addr add 172.17.0.1/16 dev a0 && ip link set a0 up") || !has_carrier("a0") ||
        !chooses("172.17.0.1", "on a0, a bridge"))
        return 5;
    if (!run("ip addr add fd00::7/64 dev v0 nodad") || !chooses("fd00::7 172.17.0.1", "on v0"))
        return 6;
    return run("ip addr add 10.9.8.7/24 dev v0") && chooses("10.9.8.7 fd00::7 172.17.0.1", "on v0") ? 0 : 7;
}

/* A host with a default route beside it. */
static int choices_with_a_route()
{
    if (!alone_with_links() ||
        !run("ip link add w0 type veth peer name w1 && ip link set w1 up && ip link set w0 up") ||
        !run("ip addr add 10.1.1.1/24 dev v0 && ip link set v1 up && ip link set v0 up"))
        return 77;
    if (!run(
            "ip addr add 10.2.2.2/24 dev w0 && ip addr add 10.2.2.3/24 dev w0 && ip addr add fd00::7/64 dev w0 nodad") ||
        !run("ip route add default dev w0") || !has_carrier("v0") || !has_carrier("w0"))
        return 1;
    if (!chooses("10.2.2.2 10.1.1.1 fd00::7", "default route by w0"))
        return 2;
    if (!chooses("10.2.2.2 fd00::7", "set by tl.tcp.interface", "w0") || !chooses("10.2.2.3", "on w0", "10.2.2.3"))
        return 3;
    for (int i = 0; i < 20; i++)
        if (!run(("ip addr add 10.9." + std::to_string(i) + ".1/24 dev v0").c_str()))
            return 4;
    return chooses("10.2.2.2 10.1.1.1 10.9.0.1 10.9.1.1 10.9.2.1 10.9.3.1 10.9.4.1 10.9.5.1", "default route") ? 0 : 5;
}

static void expect_in_a_child(int (*role)())
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(role());
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        GTEST_SKIP()
            << "no network namespace, ip command or IPv6: run as root, with iproute2, procps and IPv6 in the kernel";
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(TcpRoute, the_speed_of_the_interface_comes_with_the_choice)
{
    expect_in_a_child(speeds_in_a_namespace);
}

TEST(TcpRoute, without_a_default_route_all_that_are_up_are_chosen_bridges_last)
{
    expect_in_a_child(choices_without_a_route);
}

TEST(TcpRoute, the_default_route_comes_first_and_the_setting_restricts)
{
    expect_in_a_child(choices_with_a_route);
}
