// SPDX-License-Identifier: Apache-2.0
// test_transport.cc - two TCP interfaces in one process: order, sizes, queueing, placement, closing.
#include "node.h"

#include <poll.h>

#include <algorithm>
#include <deque>

TEST(Tcp, packets_of_all_sizes_arrive_in_order_both_ways)
{
    Node a, b;
    ASSERT_EQ(VBN_OK, a.opened) << err_text();
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    const size_t sizes[] = {0, 1, 7, 100, 511, 4096, 16383, 16384, 16385, 60000, 65536, 65537, 200000, 262144};
    std::deque<std::string> sent;
    unsigned index = 0;
    for (int round = 0; round < 20; round++) {
        for (size_t size : sizes) {
            std::string header = "h" + std::to_string(index);
            std::string payload = pattern(size, index++);
            for (const auto &[node, ep] : {std::pair<Node *, tl_ep *>{&a, ea}, {&b, eb}}) {
                vbn_status_t status;
                while ((status = node->send(ep, header, payload)) == VBN_BUSY)
                    drive({&a, &b}, [n = 0]() mutable { return n++ > 0; });
                ASSERT_EQ(VBN_OK, status) << err_text();
            }
        }
    }
    Ep &sa = a.eps[ea];
    Ep &sb = b.eps[eb];
    ASSERT_TRUE(drive({&a, &b}, [&] { return sa.rx.size() == index && sb.rx.size() == index; }));
    for (unsigned i = 0; i < index; i++) {
        std::string payload = pattern(sizes[i % (sizeof(sizes) / sizeof(sizes[0]))], i);
        for (Ep *ep : {&sa, &sb}) {
            ASSERT_EQ("h" + std::to_string(i), ep->rx[i].header);
            ASSERT_TRUE(payload == ep->rx[i].payload) << i;
        }
    }
    EXPECT_EQ(index + 1u, a.counter("tcp.tx.packets"));
    EXPECT_EQ(index + 1u, b.counter("tcp.rx.packets"));
    EXPECT_EQ(b.counter("tcp.tx.bytes"), a.counter("tcp.rx.bytes"));
}

TEST(Tcp, packets_sent_while_connecting_arrive_first)
{
    Node a, b;
    tl_ep *ea = a.connect(b.address());
    ASSERT_EQ(VBN_OK, a.send(ea, "one", "1"));
    ASSERT_EQ(VBN_OK, a.send(ea, "two", std::string(500, '2')));
    ASSERT_EQ(VBN_OK, a.send(ea, "hello"));
    ASSERT_TRUE(drive({&a, &b}, [&] { return a.eps[ea].ready; }));
    Ep &sb = b.eps[b.accepted.at(0)];
    ASSERT_EQ(2u, sb.rx.size());
    EXPECT_EQ("one", sb.rx[0].header);
    EXPECT_EQ("two", sb.rx[1].header);
}

TEST(Tcp, an_idle_connection_has_no_receive_buffer)
{
    Node a, b;
    std::vector<tl_ep *> eps;
    for (int i = 0; i < 8; i++) {
        eps.push_back(a.connect(b.address()));
        ASSERT_EQ(VBN_OK, a.send(eps.back(), "hello"));
    }
    ASSERT_TRUE(drive({&a, &b}, [&] { return b.accepted.size() == eps.size(); }));
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < eps.size(); i++) {
            tl_ep *to = b.accepted[i];
            ASSERT_TRUE(drive({&a, &b}, [&] { return a.eps[eps[i]].ready && b.eps[to].ready; }));
            size_t before = a.eps[eps[i]].rx.size(), last = i + 1 < eps.size() ? 0 : 1;
            ASSERT_EQ(VBN_OK, b.send(to, "h", pattern(100 + 30000 * last, 1)));
            ASSERT_EQ(VBN_OK, a.send(eps[i], "h", pattern(200, 2)));
            ASSERT_TRUE(drive({&a, &b}, [&] { return a.eps[eps[i]].rx.size() > before; }));
        }
        ASSERT_TRUE(drive({&a, &b}, [&] { return harness_buffers(a.harness) + harness_buffers(b.harness) == 0; }));
    }
}

TEST(Tcp, large_packets_wait_for_trust)
{
    Node a, b;
    tl_ep *ea = a.connect(b.address());
    EXPECT_EQ(VBN_ERR_INVALID, a.send(ea, "h", std::string(512, 'x')));
    EXPECT_EQ(VBN_OK, a.send(ea, "h", std::string(511, 'x')));
    ASSERT_EQ(VBN_OK, a.send(ea, "hello"));
    ASSERT_TRUE(drive({&a, &b}, [&] { return a.eps[ea].ready; }));
    EXPECT_EQ(VBN_OK, a.send(ea, "h", std::string(512, 'x')));
    uint32_t most = harness_packet_max(a.harness);
    EXPECT_EQ(VBN_ERR_INVALID, a.send(ea, "h", std::string(most, 'x')));
    EXPECT_EQ(VBN_ERR_INVALID, a.send(ea, std::string(321, 'h')));
    EXPECT_EQ(VBN_ERR_INVALID, a.send(ea, ""));
}

TEST(Tcp, a_gather_list_and_its_cookie_are_held_until_tx_done)
{
    Node a({"tl.tcp.socket_buffer", "4K"});
    Node b({"tl.tcp.socket_buffer", "4K"});
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    std::string data = pattern(200000, 3);
    std::vector<struct iovec> iov;
    for (size_t at = 0; at < data.size(); at += 1000) { // 200 pieces: more than one sendmsg takes
        iov.push_back({&data[at], 1000});
        iov.push_back({&data[at], 0});
    }
    int cookie = 0;
    ASSERT_EQ(VBN_INPROGRESS, harness_send(ea, "g", 1, iov.data(), static_cast<uint32_t>(iov.size()), &cookie));
    EXPECT_TRUE(a.eps[ea].done.empty());
    ASSERT_TRUE(drive({&a, &b}, [&] { return !b.eps[eb].rx.empty(); }));
    EXPECT_TRUE(data == b.eps[eb].rx[0].payload);
    ASSERT_EQ(1u, a.eps[ea].done.size());
    EXPECT_EQ(&cookie, a.eps[ea].done[0].first);
    EXPECT_EQ(VBN_OK, a.eps[ea].done[0].second);
    EXPECT_GT(a.counter("tcp.tx.socket_full"), 0u);
}

TEST(Tcp, without_a_cookie_the_payload_is_copied)
{
    Node a({"tl.tcp.socket_buffer", "4K"});
    Node b({"tl.tcp.socket_buffer", "4K"});
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    std::string data = pattern(200000, 4);
    std::string expected = data;
    ASSERT_EQ(VBN_OK, a.send(ea, "c", data));
    std::fill(data.begin(), data.end(), 'X');
    ASSERT_TRUE(drive({&a, &b}, [&] { return !b.eps[eb].rx.empty(); }));
    EXPECT_TRUE(expected == b.eps[eb].rx[0].payload);
}

TEST(Tcp, a_full_queue_says_busy_and_then_ready)
{
    Node a({"tl.tcp.socket_buffer", "4K"});
    Node b({"tl.tcp.socket_buffer", "4K"});
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    unsigned sent = 0;
    std::string payload(10000, 'q');
    while (a.send(ea, std::to_string(sent), payload) == VBN_OK)
        ASSERT_LT(++sent, 1000u) << "never busy";
    EXPECT_EQ(VBN_BUSY, a.send(ea, "x", payload));
    EXPECT_EQ(0u, a.eps[ea].tx_ready);
    a.on_tx_ready = [&](tl_ep *ep) { EXPECT_EQ(VBN_OK, a.send(ep, std::to_string(sent++), payload)); };
    ASSERT_TRUE(drive({&a, &b}, [&] { return a.eps[ea].tx_ready > 0 && b.eps[eb].rx.size() == sent; }));
    for (unsigned i = 0; i < sent; i++)
        EXPECT_EQ(std::to_string(i), b.eps[eb].rx[i].header);
}

TEST(Tcp, bulk_waits_in_the_core_and_not_in_the_socket)
{
    Node a, b;
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    const unsigned chunk = 256 << 10;
    unsigned count = 0;
    std::string data = pattern(chunk, 5);
    struct iovec iov = {&data[0], chunk};
    for (unsigned i = 0; i < 100; i++) { // b does not read
        vbn_status_t status = harness_send(ea, "b", 1, &iov, 1, &iov);
        ASSERT_TRUE(status == VBN_OK || status == VBN_INPROGRESS || status == VBN_BUSY) << err_text();
        count += status != VBN_BUSY;
        harness_progress(a.harness);
    }
    ASSERT_GT(count, 16u);
    EXPECT_LE(harness_unsent(ea), static_cast<int>(3 * chunk)) << "a request would wait behind that";
    ASSERT_TRUE(drive({&a, &b}, [&] { return b.eps[eb].rx.size() == count; }));
}

/* 64 MiB in bulk packets; returns how many of them were placed by the sink. */
static unsigned bulk(bool use_sink, const char *socket_buffer, size_t total)
{
    Node a({"tl.tcp.socket_buffer", socket_buffer});
    Node b({"tl.tcp.socket_buffer", socket_buffer});
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    const size_t chunk = 256 << 10;
    std::string data = pattern(chunk + total / chunk, 99);
    unsigned received = 0;
    unsigned placed = 0;
    bool damaged = false;
    b.use_sink = use_sink;
    b.sink_memory.resize(chunk);
    b.on_packet = [&](tl_ep *, Packet &&packet) {
        damaged |= packet.header != std::to_string(received) || packet.payload.size() != chunk ||
                   memcmp(packet.payload.data(), data.data() + received, chunk) != 0;
        placed += packet.in_sink;
        received++;
    };
    unsigned sent = 0;
    unsigned count = static_cast<unsigned>(total / chunk);
    std::vector<struct iovec> iov(count);
    while (sent < count) {
        iov[sent] = {&data[sent], chunk};
        std::string header = std::to_string(sent);
        vbn_status_t status = harness_send(ea, header.data(), static_cast<uint32_t>(header.size()), &iov[sent], 1,
                                           &iov[sent]);
        if (status == VBN_OK || status == VBN_INPROGRESS)
            sent++;
        else if (status != VBN_BUSY)
            break;
        harness_progress(a.harness);
        harness_progress(b.harness);
    }
    EXPECT_TRUE(drive({&a, &b}, [&] { return received == count; })) << received << " of " << count;
    EXPECT_FALSE(damaged);
    return placed;
}

TEST(Tcp, bulk_arrives_intact_in_the_places_the_sink_names)
{
    EXPECT_GT(bulk(true, "0", 64 << 20), 200u);
}

TEST(Tcp, bulk_arrives_intact_without_a_sink)
{
    EXPECT_EQ(0u, bulk(false, "0", 64 << 20));
}

TEST(Tcp, bulk_survives_tiny_socket_buffers)
{
    EXPECT_EQ(16u, bulk(true, "2K", 4 << 20));
}

TEST(Tcp, a_place_that_is_taken_back_while_its_packet_comes_is_not_written_to_any_more)
{
    for (bool same : {true, false}) {
        Node a({"tl.tcp.socket_buffer", "4K"});
        Node b({"tl.tcp.socket_buffer", "4K"});
        tl_ep *ea, *eb;
        std::tie(ea, eb) = join(a, b);
        std::string data = pattern(256 << 10, 5);
        b.use_sink = true;
        b.sink_memory.assign(data.size(), 0);
        ASSERT_GE(a.send(ea, "first", data), 0);
        ASSERT_TRUE(drive({&a, &b}, [&] { return b.sink_memory[0] == data[0]; }));
        ASSERT_TRUE(b.eps[eb].rx.empty()) << "all of it has come at once";
        b.use_sink = same;
        harness_resink(eb);
        b.sink_memory.assign(data.size(), 0);
        ASSERT_GE(a.send(ea, "second"), 0);
        ASSERT_TRUE(drive({&a, &b}, [&] { return b.eps[eb].rx.size() == 2; }));
        EXPECT_EQ(b.eps[eb].rx[0].in_sink, same);
        EXPECT_EQ(b.sink_memory == std::vector<char>(data.size(), 0), !same);
        EXPECT_EQ(b.counter("tcp.rx.placed_bytes"), same ? data.size() : 0u);
        EXPECT_EQ(b.eps[eb].rx[1].header, "second");
    }
}

TEST(Tcp, a_place_that_may_not_be_written_any_more_is_left_alone_in_the_middle_of_its_packet)
{
    Node a({"tl.tcp.socket_buffer", "4K"});
    Node b({"tl.tcp.socket_buffer", "4K"});
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    std::string data = pattern(256 << 10, 5);
    b.use_sink = true;
    b.sink_memory.assign(data.size(), 0);
    ASSERT_GE(a.send(ea, "first", data), 0);
    ASSERT_TRUE(drive({&a, &b}, [&] { return b.sink_memory[0] == data[0]; }));
    ASSERT_TRUE(b.eps[eb].rx.empty()) << "all of it has come at once";
    b.may_write = false;
    b.sink_memory.assign(data.size(), 0);
    ASSERT_GE(a.send(ea, "second"), 0);
    ASSERT_GE(a.send(ea, "third", data), 0); // has a place, and may not be written to it from the beginning
    ASSERT_TRUE(drive({&a, &b}, [&] { return b.eps[eb].rx.size() == 3; }));
    EXPECT_FALSE(b.eps[eb].rx[0].in_sink);
    EXPECT_EQ(b.eps[eb].rx[1].header, "second");
    EXPECT_EQ(b.eps[eb].rx[2].payload, data);
    EXPECT_EQ(b.sink_memory, std::vector<char>(data.size(), 0));
    EXPECT_EQ(b.counter("tcp.rx.placed_bytes"), 0u);
}

TEST(Tcp, answers_to_packets_that_came_together_leave_together_and_a_single_one_at_once)
{
    Node a, b;
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    const unsigned kPackets = 200;
    std::string large = pattern(4000, 3);
    iovec iov = {&large[0], large.size()};
    unsigned answered = 0;
    b.on_packet = [&](tl_ep *ep, Packet &&packet) {
        bool with_payload = answered++ % 2 == 1;
        vbn_status_t status = harness_send(ep, packet.header.data(), static_cast<uint32_t>(packet.header.size()), &iov,
                                           with_payload ? 1 : 0, &iov);
        EXPECT_GE(status, 0) << "packet " << answered;
        EXPECT_NE(status, VBN_BUSY);
    };
    uint64_t before = b.counter("tcp.tx.writes");
    ASSERT_EQ(a.send(ea, "one"), VBN_OK);
    ASSERT_TRUE(drive({&a, &b}, [&] { return a.eps[ea].rx.size() == 1; }));
    EXPECT_EQ(b.counter("tcp.tx.writes") - before, 1u);
    for (unsigned i = 1; i < kPackets; i++)
        ASSERT_EQ(a.send(ea, std::to_string(i)), VBN_OK);
    before = b.counter("tcp.tx.writes");
    ASSERT_TRUE(drive({&a, &b}, [&] { return a.eps[ea].rx.size() == kPackets; }));
    EXPECT_LE(b.counter("tcp.tx.writes") - before, kPackets / 8) << "16 packets wait at most";
    for (unsigned i = 1; i < kPackets; i++) {
        EXPECT_EQ(a.eps[ea].rx[i].header, std::to_string(i));
        EXPECT_EQ(a.eps[ea].rx[i].payload, i % 2 == 1 ? large : "");
    }
    EXPECT_EQ(b.counter("tcp.tx.socket_full"), 0u);
}

TEST(Tcp, an_endpoint_closed_while_answers_wait_delivers_them_with_flush)
{
    Node a, b;
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    unsigned answered = 0;
    b.on_packet = [&](tl_ep *ep, Packet &&packet) {
        EXPECT_EQ(b.send(ep, packet.header), VBN_OK);
        if (++answered == 5)
            harness_disconnect(ep, VBN_CLOSE_FLUSH, LONG_FLUSH);
    };
    for (unsigned i = 0; i < 10; i++)
        ASSERT_EQ(a.send(ea, std::to_string(i)), VBN_OK);
    ASSERT_TRUE(drive({&a, &b}, [&] { return a.eps[ea].failed; }));
    EXPECT_EQ(a.eps[ea].rx.size(), 5u);
    EXPECT_EQ(answered, 5u);
}

TEST(Tcp, flush_delivers_what_was_sent_although_the_caller_frees_it)
{
    Node a({"tl.tcp.socket_buffer", "4K"});
    Node b({"tl.tcp.socket_buffer", "4K"});
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    std::string expected = pattern(250000, 8);
    {
        std::vector<char> data(expected.begin(), expected.end());
        struct iovec iov = {data.data(), data.size()};
        ASSERT_EQ(VBN_INPROGRESS, harness_send(ea, "f", 1, &iov, 1, &iov));
        ASSERT_EQ(VBN_OK, a.send(ea, "last"));
        harness_disconnect(ea, VBN_CLOSE_FLUSH, LONG_FLUSH);
    }
    a.eps.erase(ea); // an upcall for it would throw
    Ep &sb = b.eps[eb];
    ASSERT_TRUE(drive({&a, &b}, [&] { return sb.failed; }));
    ASSERT_EQ(2u, sb.rx.size());
    EXPECT_TRUE(expected == sb.rx[0].payload);
    EXPECT_EQ("last", sb.rx[1].header);
    EXPECT_EQ(VBN_ERR_PEER_LOST, sb.status);
    EXPECT_NE(std::string::npos, sb.error.find("127.0.0.1:")) << sb.error;
    harness_disconnect(eb, VBN_CLOSE_NOW, 0);
}

TEST(Tcp, flush_before_the_connection_exists_delivers_too)
{
    Node a, b;
    tl_ep *ea = a.connect(b.address());
    ASSERT_EQ(VBN_OK, a.send(ea, "early"));
    harness_disconnect(ea, VBN_CLOSE_FLUSH, LONG_FLUSH);
    a.eps.erase(ea);
    ASSERT_TRUE(drive({&a, &b}, [&] { return b.accepted.size() == 1 && b.eps[b.accepted[0]].failed; }));
    ASSERT_EQ(1u, b.eps[b.accepted[0]].rx.size());
}

TEST(Tcp, both_sides_may_flush_at_once)
{
    Node a, b;
    size_t descriptors = open_descriptors();
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    EXPECT_EQ(descriptors + 2, open_descriptors());
    ASSERT_EQ(VBN_OK, a.send(ea, "x", std::string(100000, 'x')));
    ASSERT_EQ(VBN_OK, b.send(eb, "y", std::string(100000, 'y')));
    harness_disconnect(ea, VBN_CLOSE_FLUSH, LONG_FLUSH);
    harness_disconnect(eb, VBN_CLOSE_FLUSH, LONG_FLUSH);
    a.eps.clear();
    b.eps.clear();
    EXPECT_TRUE(drive({&a, &b}, [&] { return open_descriptors() == descriptors; }));
}

TEST(Tcp, a_peer_that_never_ends_does_not_hold_a_flush_beyond_its_time)
{
    Node b;
    int fd = raw_connect(b);
    ASSERT_TRUE(drive({&b}, [&] { return b.accepted.size() == 1; }));
    harness_disconnect(b.accepted[0], VBN_CLOSE_FLUSH, 50000000u);
    b.eps.clear();
    struct timeval limit = {0, 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    // After the time the socket is closed, so that writing to it fails in the end.
    EXPECT_TRUE(drive({&b}, [&] { return ::send(fd, "z", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EAGAIN; }));
    close(fd);
}

TEST(Tcp, closing_now_fails_the_other_side_once)
{
    Node a, b;
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    harness_disconnect(ea, VBN_CLOSE_NOW, 0);
    a.eps.erase(ea);
    ASSERT_TRUE(drive({&a, &b}, [&] { return b.eps[eb].failed; }));
    EXPECT_EQ(VBN_ERR_PEER_LOST, b.eps[eb].status);
    EXPECT_LT(b.send(eb, "x"), 0);
    harness_disconnect(eb, VBN_CLOSE_FLUSH, 1000000000u);
    drive({&a, &b}, [n = 0]() mutable { return n++ > 100; });
}

TEST(Tcp, queued_cookies_fail_before_the_endpoint_does)
{
    Node a({"tl.tcp.socket_buffer", "4K"});
    Node b({"tl.tcp.socket_buffer", "4K"});
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    std::string data(100000, 'd');
    struct iovec iov = {&data[0], data.size()};
    ASSERT_EQ(VBN_INPROGRESS, harness_send(ea, "1", 1, &iov, 1, &iov));
    ASSERT_EQ(VBN_INPROGRESS, harness_send(ea, "2", 1, &iov, 1, &data));
    harness_disconnect(eb, VBN_CLOSE_NOW, 0);
    ASSERT_TRUE(drive({&a, &b}, [&] { return a.eps[ea].failed; }));
    ASSERT_EQ(2u, a.eps[ea].done.size());
    EXPECT_EQ(VBN_ERR_PEER_LOST, a.eps[ea].done[0].second);
    EXPECT_EQ(&data, a.eps[ea].done[1].first);
}

TEST(Tcp, an_endpoint_may_be_disconnected_by_its_own_packet)
{
    Node a, b;
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    unsigned seen = 0;
    b.on_packet = [&](tl_ep *ep, Packet &&) {
        EXPECT_EQ(eb, ep);
        seen++;
        harness_disconnect(ep, VBN_CLOSE_NOW, 0);
        b.eps.erase(ep);
    };
    for (int i = 0; i < 10; i++)
        ASSERT_EQ(VBN_OK, a.send(ea, "p" + std::to_string(i)));
    ASSERT_TRUE(drive({&a, &b}, [&] { return a.eps[ea].failed; }));
    EXPECT_EQ(1u, seen);
}

TEST(Tcp, a_sleeping_worker_is_woken_by_a_packet)
{
    Node a, b;
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    ASSERT_TRUE(drive({&a, &b}, [&] { return harness_arm(b.harness) == VBN_OK && harness_arm(a.harness) == VBN_OK; }));
    struct pollfd waiting = {harness_event_fd(b.harness), POLLIN, 0};
    EXPECT_EQ(0, poll(&waiting, 1, 0));
    ASSERT_EQ(VBN_OK, a.send(ea, "wake"));
    ASSERT_EQ(1, poll(&waiting, 1, 10000));
    EXPECT_EQ(VBN_BUSY, harness_arm(b.harness));
    EXPECT_GT(harness_progress(b.harness), 0u);
    EXPECT_EQ(1u, b.eps[eb].rx.size());
}

TEST(Tcp, more_packets_than_one_turn_delivers_are_announced)
{
    Node a, b;
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    for (int i = 0; i < 500; i++)
        ASSERT_EQ(VBN_OK, a.send(ea, std::to_string(i)));
    Ep &sb = b.eps[eb];
    for (int i = 0; i < 1000 && sb.rx.size() < 500; i++) { // as a sleeper does: never sleeps over work
        struct pollfd waiting = {harness_event_fd(b.harness), POLLIN, 0};
        if (harness_arm(b.harness) == VBN_OK) {
            ASSERT_EQ(1, poll(&waiting, 1, 10000));
        }
        size_t before = sb.rx.size();
        harness_progress(b.harness);
        ASSERT_LE(sb.rx.size() - before, 128u);
    }
    EXPECT_EQ(500u, sb.rx.size());
}

TEST(Tcp, ipv6_loopback_works)
{
    Node probe({"tl.tcp.interface", "::1"});
    if (probe.opened != VBN_OK)
        GTEST_SKIP() << "no IPv6 loopback here: " << err_text();
    Node a;
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, probe);
    ASSERT_EQ(VBN_OK, a.send(ea, "six", "6"));
    ASSERT_TRUE(drive({&a, &probe}, [&] { return probe.eps[eb].rx.size() == 1; }));
}

TEST(Tcp, the_reason_of_reachability_is_said)
{
    Node a, b;
    char reason[200] = "";
    std::string address = b.address();
    EXPECT_EQ(VBN_OK, harness_reachable(a.harness, address.data(), address.size(), reason, sizeof(reason)));
    EXPECT_NE(nullptr, strstr(reason, "same host")) << reason;
    address[4] = static_cast<char>(address[4] ^ 1); // another host's loopback
    EXPECT_EQ(VBN_ERR_UNREACHABLE,
              harness_reachable(a.harness, address.data(), address.size(), reason, sizeof(reason)));
    EXPECT_NE(nullptr, strstr(reason, "tl.tcp.interface")) << reason;
    EXPECT_EQ(VBN_ERR_PROTOCOL, harness_reachable(a.harness, address.data(), 5, reason, sizeof(reason)));
}

TEST(Tcp, a_taken_port_is_named_with_its_cure)
{
    Node a;
    std::string port = std::to_string(a.port());
    Node b({"tl.tcp.port", port.c_str()});
    EXPECT_LT(b.opened, 0);
    EXPECT_NE(nullptr, strstr(err_text(), "tl.tcp.port=0")) << err_text();
}
