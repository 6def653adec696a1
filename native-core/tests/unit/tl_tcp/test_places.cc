// SPDX-License-Identifier: Apache-2.0
// test_places.cc - strangers that hold connections do not keep peers out, however many they are and wherever they come from.
// Each test waits until all strangers have been looked at; a peer that dials then would be the last in the order of arrival.
#include "node.h"

#include <algorithm>

#include <sys/resource.h>

namespace {

constexpr uint32_t LOOPBACK = 0x7f000000; // 127.0.0.0
constexpr const char *TOO_FEW = "too few descriptors for so many strangers: raise ulimit -Hn to 4096";

// Before there is a node, which lets as many strangers wait as the limit allows. Each takes a descriptor here; of the node's own
// ends no more than 1,024 wait.
bool may_come(unsigned strangers)
{
    rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < strangers + 1024 + 200)
        return false;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

class Strangers {
public:
    explicit Strangers(Node &node_) : node(node_) {}
    ~Strangers()
    {
        for (int fd : fds)
            close(fd);
    }
    // `hosts` addresses in turn from 127.`net`.0.1 on; what each says.
    void come(unsigned count, unsigned hosts, unsigned net, const std::string &says = "")
    {
        for (unsigned i = 0; i < count; i++) {
            fds.push_back(raw_connect(node, LOOPBACK | net << 16 | (1 + i % hosts / 200) << 8 | (1 + i % hosts % 200)));
            ssize_t said = ::send(fds.back(), says.data(), says.size(), MSG_NOSIGNAL);
            EXPECT_EQ(static_cast<ssize_t>(says.size()), said);
            harness_progress(node.harness);
        }
        size_t all = fds.size();
        EXPECT_TRUE(
            drive({&node}, [&] { return node.accepted.size() + harness_waiting(node.harness) + closed() >= all; }));
    }

private:
    Node &node;
    std::vector<int> fds;
    // Of the strangers, those that were closed without a place; a place that was taken away has been counted as accepted.
    size_t closed()
    {
        size_t gone = 0, lost = 0;
        for (int fd : fds) {
            char byte;
            ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
            gone += n == 0 || (n < 0 && errno != EAGAIN);
        }
        for (tl_ep *ep : node.accepted)
            lost += node.eps[ep].failed;
        return gone - std::min(gone, lost);
    }
};

// As many of them wait as may, though places fall free meanwhile.
void fill(Strangers &strangers, const Node &server, unsigned hosts)
{
    rlimit limit;
    ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
    strangers.come(1500, hosts, 1, "\1");
    for (int more = 0; more < 15 && harness_waiting(server.harness) < std::min<rlim_t>(1024, limit.rlim_cur / 8);
         more++)
        strangers.come(64, hosts, 1, "\1");
    for (int i = 0; i < 100; i++) // their words are there, and are looked at
        harness_progress(server.harness);
}

// A peer gets a place while strangers that came before it still wait for one.
void expect_it_comes_in(Node &server, Node &peer, const char *why)
{
    tl_ep *ep = peer.connect(server.address());
    ASSERT_EQ(VBN_OK, peer.send(ep, "hello"));
    ASSERT_TRUE(drive({&server, &peer}, [&] { return peer.eps[ep].ready || peer.eps[ep].failed; }));
    EXPECT_TRUE(peer.eps[ep].ready) << why << ": " << peer.eps[ep].error;
    EXPECT_GT(harness_waiting(server.harness), 0u) << why;
}

} // namespace

TEST(TcpPlaces, a_peer_comes_in_past_thousands_of_silent_strangers_of_many_addresses)
{
    if (!may_come(2500))
        GTEST_SKIP() << TOO_FEW;
    Node server, peer;
    Strangers strangers(server);
    strangers.come(2500, 250, 1);
    EXPECT_LE(harness_waiting(server.harness), 1024u) << "what waits is bounded";
    expect_it_comes_in(server, peer, "silent ones of other addresses");
}

TEST(TcpPlaces, interfaces_of_a_process_share_the_descriptors_that_may_wait)
{
    if (!may_come(200))
        GTEST_SKIP() << TOO_FEW;
    rlimit before, limit;
    ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &before));
    limit = before;
    limit.rlim_cur = 8 * 100;
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
    Node server({"tl.tcp.max_unauthenticated", "1"}), other;
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &before));
    Strangers strangers(server);
    strangers.come(200, 1, 1);
    EXPECT_LE(harness_waiting(server.harness), 50u) << "half of an eighth";
}

TEST(TcpPlaces, a_peer_comes_in_past_silent_strangers_of_its_own_address)
{
    if (!may_come(1000))
        GTEST_SKIP() << TOO_FEW;
    Node server, peer;
    Strangers strangers(server);
    strangers.come(1000, 1, 0);
    expect_it_comes_in(server, peer, "silent ones of the same address");
}

TEST(TcpPlaces, strangers_that_have_begun_to_speak_share_by_their_address)
{
    if (!may_come(1000))
        GTEST_SKIP() << TOO_FEW;
    Node server, peer;
    Strangers strangers(server);
    strangers.come(1000, 10, 1, "\1");
    expect_it_comes_in(server, peer, "others of ten addresses");
}

TEST(TcpPlaces, an_address_that_has_proved_the_key_before_comes_first)
{
    if (!may_come(1000))
        GTEST_SKIP() << TOO_FEW;
    Node server, peer;
    Strangers strangers(server);
    join(peer, server);
    strangers.come(1000, 1000, 1, "\1");
    expect_it_comes_in(server, peer, "others of as many addresses");
}

// The strangers that wait are as many as may, and none is silent. Places are few, so that few fall free meanwhile.
TEST(TcpPlaces, an_address_with_fewer_that_wait_comes_in_past_speakers_that_fill_all_room)
{
    if (!may_come(2500))
        GTEST_SKIP() << TOO_FEW;
    Node server({"tl.tcp.max_unauthenticated", "2"}), peer;
    Strangers strangers(server);
    fill(strangers, server, 2);
    expect_it_comes_in(server, peer, "more than may wait of two addresses");
}

TEST(TcpPlaces, a_known_address_comes_in_past_speakers_of_as_many_addresses_as_may_wait)
{
    if (!may_come(2500))
        GTEST_SKIP() << TOO_FEW;
    Node server({"tl.tcp.max_unauthenticated", "2"}), peer;
    Strangers strangers(server);
    join(peer, server);
    fill(strangers, server, 2500);
    expect_it_comes_in(server, peer, "more than may wait, each of its own address");
}

TEST(TcpPlaces, who_ends_while_waiting_is_forgotten)
{
    Node server({"tl.tcp.max_unauthenticated", "1"});
    {
        Strangers strangers(server);
        strangers.come(20, 5, 1);
        EXPECT_GE(harness_waiting(server.harness), 1u);
    }
    EXPECT_TRUE(drive({&server}, [&] { return harness_waiting(server.harness) == 0; }));
    EXPECT_TRUE(drive({&server}, [&] { return harness_arm(server.harness) == VBN_OK; }));
}
