// SPDX-License-Identifier: Apache-2.0
// test_tls.cc - TLS on TCP connections: what arrives, what somebody on the wire sees and can do, and what is said when the
// two sides differ.
#include "node.h"

#include <poll.h>

namespace {

const std::vector<const char *> kTls = {"tl.tcp.tls", "true"};

std::vector<const char *> tls_and(const char *key, const char *value)
{
    return {"tl.tcp.tls", "true", key, value};
}

// Somebody between the two, who forwards what comes and may change it.
class Wire {
public:
    std::string seen;    // from the initiator
    size_t spoil_at = 0; // this byte of `seen` is changed; 0: none

    explicit Wire(const Node &server) : server_port_(server.port())
    {
        listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        sockaddr_in name = here(0);
        EXPECT_EQ(0, bind(listener_, reinterpret_cast<sockaddr *>(&name), sizeof(name)));
        EXPECT_EQ(0, listen(listener_, 1));
        socklen_t length = sizeof(name);
        getsockname(listener_, reinterpret_cast<sockaddr *>(&name), &length);
        port_ = ntohs(name.sin_port);
    }

    ~Wire()
    {
        for (int fd : {listener_, near_, far_})
            if (fd >= 0)
                close(fd);
    }

    // The server's address with the port of the wire.
    std::string address(const Node &server) const
    {
        tcp_address_t decoded = {};
        uint8_t bytes[TCP_ADDRESS_BYTES_MAX];
        std::string blob = server.address();
        EXPECT_EQ(VBN_OK, tcp_address_decode(blob.data(), blob.size(), &decoded));
        decoded.port = port_;
        return std::string(reinterpret_cast<char *>(bytes), tcp_address_encode(&decoded, bytes));
    }

    void pump()
    {
        if (near_ < 0 && (near_ = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
            sockaddr_in name = here(server_port_);
            far_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            EXPECT_EQ(0, connect(far_, reinterpret_cast<sockaddr *>(&name), sizeof(name)));
        }
        if (near_ < 0)
            return;
        char bytes[65536];
        ssize_t n = recv(near_, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n > 0) {
            size_t before = seen.size();
            if (spoil_at >= before && spoil_at < before + static_cast<size_t>(n) && spoil_at > 0)
                bytes[spoil_at - before] ^= 1;
            seen.append(bytes, static_cast<size_t>(n));
            forward(far_, bytes, n);
        } else if (n == 0) {
            shutdown(far_, SHUT_WR);
        }
        n = recv(far_, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n > 0)
            forward(near_, bytes, n);
        else if (n == 0)
            shutdown(near_, SHUT_WR);
    }

private:
    static sockaddr_in here(uint16_t port)
    {
        sockaddr_in name = {};
        name.sin_family = AF_INET;
        name.sin_port = htons(port);
        name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return name;
    }

    static void forward(int fd, const char *bytes, ssize_t count)
    {
        for (ssize_t at = 0; at < count;) {
            ssize_t n = send(fd, bytes + at, static_cast<size_t>(count - at), MSG_NOSIGNAL);
            if (n <= 0 && errno != EAGAIN)
                return;
            at += n > 0 ? n : 0;
        }
    }

    uint16_t server_port_, port_ = 0;
    int listener_ = -1, near_ = -1, far_ = -1;
};

TEST(TcpTls, packets_of_all_sizes_arrive_in_order_both_ways)
{
    for (const char *buffer : {"0", "8K"}) {
        Node a(tls_and("tl.tcp.socket_buffer", buffer)), b(tls_and("tl.tcp.socket_buffer", buffer));
        ASSERT_EQ(VBN_OK, a.opened) << err_text();
        b.use_sink = true;
        b.sink_memory.resize(300000);
        tl_ep *ea, *eb;
        std::tie(ea, eb) = join(a, b);
        const size_t sizes[] = {0, 1, 100, 4096, 16383, 16384, 16385, 60000, 65537, 262144};
        unsigned index = 0;
        for (int round = 0; round < 3; round++)
            for (size_t size : sizes) {
                std::string header = "h" + std::to_string(index);
                std::string payload = pattern(size, index++);
                for (const auto &[node, ep] : {std::pair<Node *, tl_ep *>{&a, ea}, {&b, eb}}) {
                    vbn_status_t status;
                    while ((status = node->send(ep, header, payload)) == VBN_BUSY)
                        drive({&a, &b}, [n = 0]() mutable { return n++ > 0; });
                    ASSERT_EQ(VBN_OK, status) << err_text();
                }
                ASSERT_TRUE(
                    drive({&a, &b}, [&] { return a.eps[ea].rx.size() == index && b.eps[eb].rx.size() == index; }));
            }
        for (unsigned i = 0; i < index; i++) {
            std::string payload = pattern(sizes[i % 10], i);
            ASSERT_TRUE(payload == a.eps[ea].rx[i].payload) << i;
            ASSERT_TRUE(payload == b.eps[eb].rx[i].payload) << i;
        }
    }
}

TEST(TcpTls, who_reads_the_wire_sees_nothing_of_it)
{
    const std::string secret = "the salary of the director is 12345";
    for (bool tls : {false, true}) {
        Node a(tls ? kTls : std::vector<const char *>{}), b(tls ? kTls : std::vector<const char *>{});
        Wire wire(b);
        tl_ep *ea = a.connect(wire.address(b));
        ASSERT_EQ(VBN_OK, a.send(ea, "hello"));
        ASSERT_TRUE(drive({&a, &b}, [&] {
            wire.pump();
            return a.eps[ea].ready;
        }));
        ASSERT_EQ(VBN_OK, a.send(ea, "h", secret));
        ASSERT_TRUE(drive({&a, &b}, [&] {
            wire.pump();
            return b.eps[b.accepted[0]].rx.size() == 1;
        }));
        EXPECT_EQ(secret, b.eps[b.accepted[0]].rx[0].payload);
        EXPECT_EQ(tls, wire.seen.find(secret) == std::string::npos);
        EXPECT_EQ(tls, wire.seen.find("hello") == std::string::npos);
    }
}

TEST(TcpTls, a_byte_changed_on_the_wire_ends_the_connection_and_nothing_of_it_arrives)
{
    Node a(kTls), b(kTls);
    Wire wire(b);
    tl_ep *ea = a.connect(wire.address(b));
    ASSERT_EQ(VBN_OK, a.send(ea, "hello"));
    ASSERT_TRUE(drive({&a, &b}, [&] {
        wire.pump();
        return a.eps[ea].ready;
    }));
    wire.spoil_at = wire.seen.size() + 500;
    ASSERT_EQ(VBN_OK, a.send(ea, "h", pattern(1000, 1)));
    Ep &eb = b.eps[b.accepted[0]];
    ASSERT_TRUE(drive({&a, &b}, [&] {
        wire.pump();
        return eb.failed;
    }));
    EXPECT_EQ(VBN_ERR_AUTH, eb.status);
    EXPECT_NE(std::string::npos, eb.error.find("TLS failed")) << eb.error;
    EXPECT_EQ(0u, eb.rx.size());
}

TEST(TcpTls, sides_with_different_keys_do_not_meet_and_are_told_why)
{
    static const uint8_t other[32] = {8};
    const uint8_t *mine = harness_job_key;
    Node a(kTls);
    harness_job_key = other;
    Node b(kTls);
    harness_job_key = mine;
    tl_ep *ea = a.connect(b.address());
    ASSERT_EQ(VBN_OK, a.send(ea, "hello"));
    ASSERT_TRUE(drive({&a, &b}, [&] { return a.eps[ea].failed; }));
    EXPECT_EQ(VBN_ERR_AUTH, a.eps[ea].status);
    EXPECT_NE(std::string::npos, a.eps[ea].error.find("the job key must be the same on both sides")) << a.eps[ea].error;
    for (auto &entry : b.eps)
        EXPECT_EQ(0u, entry.second.rx.size());
}

TEST(TcpTls, a_side_without_tls_is_refused_with_the_setting_by_name)
{
    Node a(kTls), b;
    char reason[200];
    std::string blob = b.address();
    EXPECT_EQ(VBN_ERR_UNREACHABLE, harness_reachable(a.harness, blob.data(), blob.size(), reason, sizeof(reason)));
    EXPECT_STREQ("tl.tcp.tls is off there and on here; set it alike in the whole job", reason);
    blob = a.address();
    EXPECT_EQ(VBN_ERR_UNREACHABLE, harness_reachable(b.harness, blob.data(), blob.size(), reason, sizeof(reason)));
    EXPECT_STREQ("tl.tcp.tls is on there and off here; set it alike in the whole job", reason);
}

TEST(TcpTls, a_side_without_tls_that_comes_anyway_is_refused)
{
    for (bool tls_dials : {false, true}) {
        Node a(kTls), b;
        Node &from = tls_dials ? a : b, &to = tls_dials ? b : a;
        tl_ep *ep = from.connect(to.address());
        ASSERT_EQ(VBN_OK, from.send(ep, "hello"));
        ASSERT_TRUE(drive({&a, &b}, [&] { return from.eps[ep].failed; }));
        ASSERT_EQ(1u, to.accepted.size());
        ASSERT_TRUE(drive({&a, &b}, [&] { return to.eps[to.accepted[0]].failed; }));
        EXPECT_NE(std::string::npos, to.eps[to.accepted[0]].error.find("tl.tcp.tls")) << to.eps[to.accepted[0]].error;
        EXPECT_EQ(0u, to.eps[to.accepted[0]].rx.size());
        EXPECT_FALSE(to.eps[to.accepted[0]].ready);
    }
}

TEST(TcpTls, it_needs_a_job_key)
{
    const uint8_t *mine = harness_job_key;
    harness_job_key = nullptr;
    Node a(kTls);
    harness_job_key = mine;
    EXPECT_EQ(VBN_ERR_SETTING, a.opened);
    EXPECT_NE(nullptr, strstr(err_text(), "security.auth=job-key")) << err_text();
}

TEST(TcpTls, what_was_sent_before_a_flushing_end_arrives)
{
    Node a(tls_and("tl.tcp.socket_buffer", "8K")), b(kTls);
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    for (unsigned i = 0; i < 10; i++)
        ASSERT_GE(a.send(ea, "h", pattern(30000, i)), VBN_OK);
    harness_disconnect(ea, VBN_CLOSE_FLUSH, LONG_FLUSH);
    a.eps.erase(ea);
    Ep &state = b.eps[eb];
    ASSERT_TRUE(drive({&a, &b}, [&] { return state.failed; }));
    EXPECT_EQ(VBN_ERR_PEER_LOST, state.status);
    EXPECT_NE(std::string::npos, state.error.find("closed the connection")) << state.error;
    ASSERT_EQ(10u, state.rx.size());
    for (unsigned i = 0; i < 10; i++)
        EXPECT_TRUE(pattern(30000, i) == state.rx[i].payload) << i;
}

} // namespace
