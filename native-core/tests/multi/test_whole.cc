// SPDX-License-Identifier: Apache-2.0
// test_whole.cc - tagged messages of 64 KiB over tcp: one packet each while the receiver has room for them, announced else.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "pair.h"

namespace {

constexpr size_t SIZE = 65536;

uint64_t counter(const multi::Half &half, const char *name)
{
    vbn_counter_t all[256];
    size_t count = vbn_counters(half.context, all, 256);
    for (size_t i = 0; i < count; i++)
        if (std::strcmp(all[i].name, name) == 0)
            return all[i].value;
    return 0;
}

struct Transfer {
    std::vector<uint8_t> from, to = std::vector<uint8_t>(SIZE);
    iovec from_iov{nullptr, SIZE}, to_iov{to.data(), SIZE}; /* the core's until the operations end */
    vbn_op_t send{}, receive{};
    vbn_status_t sent = VBN_OK, received = VBN_OK;

    explicit Transfer(uint8_t byte) : from(SIZE, byte) { from_iov.iov_base = from.data(); }
    void post(multi::Pair &pair)
    {
        received = vbn_tag_recv(pair.b.worker, nullptr, 1, UINT64_MAX, &to_iov, 1, nullptr, &receive);
    }
    void start(multi::Pair &pair) { sent = vbn_tag_send(pair.a.peer, 1, &from_iov, 1, 0, &send); }
    void finish(multi::Pair &pair)
    {
        MUST(pair.finish(sent, send) == VBN_OK && pair.finish(received, receive) == VBN_OK && from == to);
    }
};

/* One after the other with a receive posted; packets that the sender sent. */
uint64_t packets_of(multi::Pair &pair, unsigned messages)
{
    uint64_t before = counter(pair.a, "tcp.tx.packets");
    for (unsigned i = 0; i < messages; i++) {
        Transfer t(static_cast<uint8_t>(i + 1));
        t.post(pair);
        t.start(pair);
        t.finish(pair);
    }
    return counter(pair.a, "tcp.tx.packets") - before;
}

void one_packet_each()
{
    multi::Pair pair("self,tcp");
    MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
    (void)packets_of(pair, 8); /* the first ones are announced: they earn the credit for whole ones */
    uint64_t packets = packets_of(pair, 16);
    if (packets < 16 || packets > 20) {
        std::fprintf(stderr, "16 messages took %llu packets\n", static_cast<unsigned long long>(packets));
        MUST(false);
    }
    pair.close();
}

/* More than may wait at the receiver: what is beyond it is announced, and nothing is lost. */
void without_receives()
{
    constexpr unsigned COUNT = 64; /* 4 MiB, a peer's credit is 1 MiB at most */
    multi::Pair pair("self,tcp");
    MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
    (void)packets_of(pair, 8);
    std::vector<std::unique_ptr<Transfer>> all;
    for (unsigned i = 0; i < COUNT; i++) {
        all.push_back(std::make_unique<Transfer>(static_cast<uint8_t>(i + 1)));
        all.back()->start(pair);
    }
    MUST(pair.send(8) == VBN_OK);
    for (auto &t : all)
        t->post(pair);
    for (auto &t : all)
        t->finish(pair);
    pair.close();
}

TEST(Whole, messages_of_64_KiB_over_tcp_to_posted_receives_take_one_packet_each)
{
    EXPECT_EQ(multi::launch(1, [](int, multi::Shared &) { one_packet_each(); })[0], 0);
}

TEST(Whole, messages_of_64_KiB_that_nobody_receives_yet_arrive_in_order_later)
{
    EXPECT_EQ(multi::launch(1, [](int, multi::Shared &) { without_receives(); })[0], 0);
}

} // namespace
