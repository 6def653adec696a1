// SPDX-License-Identifier: Apache-2.0
// test_alive.cc - a peer that does not read is waited for, one whose host has gone is noticed. The host goes by filters of
// both sockets that drop whatever comes: no kernel hears the other any more.
#include <linux/filter.h>

#include "node.h"

namespace {

const std::vector<const char *> kShort = {"link.peer_timeout", "1s", "tl.tcp.socket_buffer", "16K"};

struct Connected {
    Node a{kShort}, b{kShort};
    tl_ep *from = nullptr, *to = nullptr;
    unsigned sent = 0;
    std::string payload = std::string(100000, 'x');
    Connected() { std::tie(from, to) = join(a, b); }
    // Turns of a alone, b computes. False when the time is up before the condition holds.
    bool alone(double seconds, const std::function<bool()> &condition)
    {
        auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        while (!condition()) {
            if (std::chrono::steady_clock::now() > end)
                return false;
            harness_progress(a.harness);
            usleep(1000);
        }
        return true;
    }
    // Until neither socket nor queue takes more, also when the kernel has moved what it can.
    void fill()
    {
        do {
            a.eps[from].tx_ready = 0;
            while (a.send(from, std::to_string(sent), payload) == VBN_OK)
                ASSERT_LT(++sent, 10000u) << "never busy";
        } while (alone(0.3, [&] { return a.eps[from].tx_ready > 0; }));
    }
    bool failed() { return a.eps[from].failed; }
    const std::string &error() { return a.eps[from].error; }
    // The peer's host is gone.
    void drop_all() const
    {
        sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
        sock_fprog program = {1, &nothing};
        unsigned found = 0;
        for (int fd = 0; fd < 1024; fd++) {
            sockaddr_in own = {}, other = {};
            socklen_t length = sizeof(own);
            if (getsockname(fd, reinterpret_cast<sockaddr *>(&own), &length) != 0 || own.sin_family != AF_INET)
                continue;
            length = sizeof(other);
            if (getpeername(fd, reinterpret_cast<sockaddr *>(&other), &length) != 0 ||
                (ntohs(own.sin_port) != b.port() && ntohs(other.sin_port) != b.port()))
                continue;
            EXPECT_EQ(0, setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)));
            found++;
        }
        EXPECT_EQ(2u, found);
    }
};

} // namespace

TEST(TcpAlive, a_peer_that_does_not_read_for_long_is_waited_for)
{
    Connected pair;
    pair.fill();
    ASSERT_GT(pair.sent, 2u);
    EXPECT_FALSE(pair.alone(6, [&] { return pair.failed(); })) << pair.error();
    std::vector<Packet> &came = pair.b.eps[pair.to].rx;
    ASSERT_TRUE(drive({&pair.a, &pair.b}, [&] { return came.size() == pair.sent; })) << came.size();
    for (unsigned i = 0; i < pair.sent; i++)
        EXPECT_EQ(std::to_string(i), came[i].header);
}

TEST(TcpAlive, a_host_that_vanishes_with_data_under_way_is_noticed)
{
    Connected pair;
    pair.drop_all();
    ASSERT_EQ(VBN_OK, pair.a.send(pair.from, "word"));
    ASSERT_TRUE(pair.alone(60, [&] { return pair.failed(); }));
    EXPECT_NE(std::string::npos, pair.error().find("link.peer_timeout=1000 ms")) << pair.error();
}

TEST(TcpAlive, a_host_that_vanishes_while_its_window_is_full_is_noticed)
{
    Connected pair;
    pair.fill();
    EXPECT_FALSE(pair.alone(2, [&] { return pair.failed(); })) << pair.error();
    pair.drop_all();
    ASSERT_TRUE(pair.alone(90, [&] { return pair.failed(); }));
    EXPECT_NE(std::string::npos, pair.error().find("link.peer_timeout=1000 ms")) << pair.error();
}

TEST(TcpAlive, a_host_that_vanishes_while_nothing_is_under_way_is_noticed)
{
    Connected pair;
    pair.drop_all();
    EXPECT_TRUE(pair.alone(60, [&] { return pair.failed(); }));
}

TEST(TcpAlive, nobody_looks_at_a_connection_whose_bytes_have_arrived)
{
    Connected pair;
    ASSERT_EQ(VBN_OK, pair.a.send(pair.from, "word"));
    EXPECT_EQ(1u, harness_watched(pair.a.harness));
    ASSERT_TRUE(drive({&pair.a, &pair.b}, [&] { return pair.b.eps[pair.to].rx.size() == 1; }));
    ASSERT_TRUE(pair.alone(60, [&] { return harness_watched(pair.a.harness) == 0; }));
    ASSERT_EQ(VBN_OK, pair.a.send(pair.from, "word"));
    EXPECT_EQ(1u, harness_watched(pair.a.harness));
}
