// SPDX-License-Identifier: Apache-2.0
// test_batches.cc - packets of one turn whose sender comes back for their completion leave together.
#include "node.h"

#include <algorithm>

namespace {

const unsigned kAlone = 2; // written at once, whatever follows
// The socket takes a batch whole, whatever the MTU of lo; most hosts give so much (wmem_max).
const char *const kRoomy = "200K";

class Batch {
public:
    std::vector<std::string> data;
    std::vector<iovec> iov;

    Batch(unsigned packets, size_t bytes) : data(packets), iov(packets)
    {
        for (unsigned i = 0; i < packets; i++) {
            data[i] = pattern(bytes, i);
            iov[i] = {&data[i][0], data[i].size()};
        }
    }
    vbn_status_t send(tl_ep *ep, unsigned i)
    {
        std::string header = std::to_string(i);
        return harness_send(ep, header.data(), static_cast<uint32_t>(header.size()), &iov[i], 1, &iov[i]);
    }
    void expect_at(const Ep &ep) const
    {
        ASSERT_EQ(data.size(), ep.rx.size());
        for (size_t i = 0; i < data.size(); i++) {
            EXPECT_EQ(std::to_string(i), ep.rx[i].header);
            EXPECT_TRUE(data[i] == ep.rx[i].payload) << i;
        }
    }
};

TEST(TcpBatches, packets_of_one_turn_leave_together_in_the_next_one)
{
    Node a({"tl.tcp.socket_buffer", kRoomy}), b;
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    Batch batch(12, 4000);
    uint64_t before = a.counter("tcp.tx.writes");
    unsigned open = 0;
    for (unsigned i = 0; i < 12; i++)
        open += batch.send(ea, i) == VBN_INPROGRESS;
    EXPECT_EQ(a.counter("tcp.tx.writes") - before, kAlone);
    EXPECT_EQ(open, 12 - kAlone);
    EXPECT_EQ(VBN_BUSY, harness_arm(a.harness)) << "its owner would sleep on them";
    harness_progress(a.harness);
    EXPECT_EQ(a.counter("tcp.tx.writes") - before, kAlone + 1);
    EXPECT_EQ(a.eps[ea].done.size(), open);
    ASSERT_TRUE(drive({&a, &b}, [&] { return b.eps[eb].rx.size() == 12; }));
    batch.expect_at(b.eps[eb]);
}

TEST(TcpBatches, a_full_batch_is_written_at_once_and_reported_in_progress)
{
    Node a({"tl.tcp.socket_buffer", kRoomy}), b;
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    Batch batch(2 * 8 + kAlone, 8192);
    uint64_t before = a.counter("tcp.tx.writes");
    for (unsigned i = 0; i < batch.data.size(); i++)
        ASSERT_GE(batch.send(ea, i), VBN_OK) << i;
    EXPECT_EQ(a.counter("tcp.tx.writes") - before, kAlone + 2);
    EXPECT_TRUE(a.eps[ea].done.empty()) << "an upcall from inside send()";
    ASSERT_TRUE(drive({&a, &b}, [&] { return b.eps[eb].rx.size() == batch.data.size(); }));
    batch.expect_at(b.eps[eb]);
    ASSERT_EQ(a.eps[ea].done.size(), batch.data.size() - kAlone);
    for (size_t i = 0; i < a.eps[ea].done.size(); i++)
        EXPECT_EQ(std::make_pair(static_cast<void *>(&batch.iov[i + kAlone]), VBN_OK), a.eps[ea].done[i]);
}

TEST(TcpBatches, a_batch_that_the_socket_does_not_take_whole_goes_on_when_there_is_room)
{
    Node a({"tl.tcp.socket_buffer", "4K"});
    Node b({"tl.tcp.socket_buffer", "4K"});
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    Batch batch(4, 32700);
    unsigned sent = 0;
    ASSERT_EQ(VBN_OK, a.send(ea, "x"));
    ASSERT_EQ(VBN_OK, a.send(ea, "y"));
    for (; sent < 4; sent++)
        ASSERT_EQ(VBN_INPROGRESS, batch.send(ea, sent));
    ASSERT_TRUE(drive({&a, &b}, [&] { return b.eps[eb].rx.size() == 6 && a.eps[ea].done.size() == 4; }));
    b.eps[eb].rx.erase(b.eps[eb].rx.begin(), b.eps[eb].rx.begin() + 2);
    batch.expect_at(b.eps[eb]);
}

TEST(TcpBatches, a_packet_that_nobody_comes_back_for_waits_for_nothing)
{
    Node a, b;
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    uint64_t before = a.counter("tcp.tx.writes");
    for (unsigned i = 0; i < 10; i++)
        ASSERT_EQ(VBN_OK, a.send(ea, std::to_string(i), "small"));
    EXPECT_EQ(a.counter("tcp.tx.writes") - before, 10u);
    for (unsigned i = 0; i < 10; i++)
        ASSERT_EQ(VBN_OK, harness_send_patient(ea, "request", 7));
    EXPECT_EQ(a.counter("tcp.tx.writes") - before, 10u) << "requests wait for progress()";
    ASSERT_TRUE(drive({&a, &b}, [&] { return b.eps[eb].rx.size() == 20; }));
    EXPECT_EQ(a.counter("tcp.tx.writes") - before, 11u);
}

TEST(TcpBatches, a_packet_behind_waiting_ones_does_not_overtake_them)
{
    Node a, b;
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    Batch batch(6, 3000);
    for (unsigned i = 0; i < 6; i++)
        ASSERT_GE(batch.send(ea, i), VBN_OK);
    ASSERT_EQ(VBN_OK, a.send(ea, "6", "tail"));
    batch.data.push_back("tail");
    ASSERT_TRUE(drive({&a, &b}, [&] { return b.eps[eb].rx.size() == 7; }));
    batch.expect_at(b.eps[eb]);
}

TEST(TcpBatches, flush_delivers_them_although_the_caller_frees_them)
{
    Node a, b;
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    Batch expected(15, 8192);
    {
        Batch batch(15, 8192); // some are written and not reported yet, the others wait
        for (unsigned i = 0; i < 15; i++)
            ASSERT_GE(batch.send(ea, i), VBN_OK);
        harness_disconnect(ea, VBN_CLOSE_FLUSH, LONG_FLUSH);
        for (std::string &data : batch.data)
            std::fill(data.begin(), data.end(), 'X');
    }
    a.eps.erase(ea); // an upcall for it would throw
    ASSERT_TRUE(drive({&a, &b}, [&] { return b.eps[eb].failed; }));
    expected.expect_at(b.eps[eb]);
    harness_disconnect(eb, VBN_CLOSE_NOW, 0);
}

TEST(TcpBatches, each_is_reported_once_when_the_peer_ends)
{
    Node a, b;
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    Batch batch(15, 8192);
    std::vector<void *> open;
    harness_disconnect(eb, VBN_CLOSE_NOW, 0);
    b.eps.erase(eb);
    for (unsigned i = 0; i < 15; i++) {
        vbn_status_t status = batch.send(ea, i);
        if (status == VBN_INPROGRESS)
            open.push_back(&batch.iov[i]);
    }
    ASSERT_TRUE(drive({&a, &b}, [&] { return a.eps[ea].failed; }));
    std::vector<void *> done;
    for (auto &one : a.eps[ea].done)
        done.push_back(one.first);
    EXPECT_EQ(open, done);
    harness_disconnect(ea, VBN_CLOSE_NOW, 0);
}

} // namespace
