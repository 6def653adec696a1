// SPDX-License-Identifier: Apache-2.0
// test_explain.cc - what vbn_explain_call says is what then happens.
#include "fixture.h"

namespace {

class ProtoExplain : public Proto {
protected:
    std::string explain(vbn_call_t call, size_t size)
    {
        char text[1000];
        size_t length = proto_explain_call(rig_peer(rig, 0), call, size, text, sizeof(text));
        EXPECT_EQ(length, std::strlen(text));
        return text;
    }
    static bool has(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }
};

TEST_P(ProtoExplain, says_whole_exactly_where_a_message_goes_whole)
{
    for (size_t size : {0u, 1u, 1024u, 1025u, 100000u}) {
        Bytes data = pattern(size), got(size);
        iovec iov{data.data(), size}, to{got.data(), size};
        uint64_t before = rig_counter(rig, 0, "tag.small");
        Op out, in;
        std::string text = explain(VBN_CALL_TAG, size);
        ASSERT_GE(proto_tag_recv(rig_engine(rig, 1), nullptr, 0, 0, &to, 1, nullptr, &in.op), 0);
        ASSERT_GE(proto_tag_send(rig_peer(rig, 0), 0, &iov, 1, 0, &out.op), 0);
        bool whole = rig_counter(rig, 0, "tag.small") > before;
        run();
        EXPECT_EQ(has(text, "is sent eagerly in one packet"), whole) << text;
        EXPECT_EQ(has(text, "is sent by rendezvous"), !whole) << text;
        EXPECT_TRUE(has(text, "proto.am_small_max")) << text;
        EXPECT_TRUE(has(text, "the rig")) << text;
    }
    EXPECT_TRUE(has(explain(VBN_CALL_AM, 100000), "25 packets of at most 4096 bytes, 4 at once (proto.stream_depth)"));
}

TEST_P(ProtoExplain, the_cost_model_sets_the_limit_where_the_setting_does_not_and_never_below_4_kib)
{
    struct Link {
        uint32_t latency_ns;
        size_t low, high;
        const char *why;
    };
    /* A byte copied costs 100 ps, an announcement two latencies: 20 bytes a nanosecond. The best packet: 7920. */
    const Link links[] = {{0, 4096, 4096, "the cost model"},
                          {250, 4990, 5010, "the cost model"},
                          {300, 5990, 6010, "the cost model"},
                          {10000, 7900, 7950, "the transport's best packet"}};
    options.host = MODEL_HOST_DEFAULT;
    options.am_small_max = 0;
    options.packet_max = 8192;
    for (const Link &link : links) {
        options.latency_ns = link.latency_ns;
        open();
        size_t largest = 0;
        for (size_t size = 4000; size < 8100; size++)
            if (has(explain(VBN_CALL_AM, size), "is sent eagerly in one packet"))
                largest = size;
            else
                break;
        EXPECT_GE(largest, link.low);
        EXPECT_LE(largest, link.high);
        EXPECT_TRUE(has(explain(VBN_CALL_AM, 4096), link.why)) << explain(VBN_CALL_AM, 4096);
        for (size_t size : {largest, largest + 1}) {
            inbox.items.clear();
            Bytes data = pattern(size), got(size);
            iovec iov{data.data(), size}, to{got.data(), size};
            Op send, pull;
            ASSERT_GE(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &iov, 1, 0, &send.op), 0);
            run();
            ASSERT_EQ(inbox.items.size(), 1u);
            EXPECT_EQ(inbox.items[0].remote == nullptr, size == largest) << size;
            if (inbox.items[0].remote != nullptr) {
                ASSERT_GE(proto_am_pull(inbox.items[0].remote, &to, 1, &pull.op), 0);
                run();
            }
        }
    }
}

TEST_P(ProtoExplain, prints_what_each_way_would_take_the_chosen_one_first)
{
    options.host = MODEL_HOST_DEFAULT;
    options.latency_ns = 1000;
    open();
    std::string small = explain(VBN_CALL_AM, 1000), large = explain(VBN_CALL_TAG, 1000000);
    EXPECT_TRUE(has(small, "; estimated: eager 1.3 us, ") && has(small, "packets 3.2 us")) << small;
    EXPECT_EQ(has(small, "put 3.1 us"), options.import_fails) << small;
    EXPECT_TRUE(has(large, "; estimated: packets 203.0 us")) << large;
    EXPECT_FALSE(has(large, "eager 1")) << "it does not fit: " << large;
    EXPECT_EQ(has(explain(VBN_CALL_GET, 1000), "estimated: mapped 0.1 us, packets"), options.import_fails);
    EXPECT_EQ(has(explain(VBN_CALL_PUT, 1000), "estimated: packets 2.3 us"), !options.import_fails);
}

TEST_P(ProtoExplain, says_whether_memory_can_be_mapped)
{
    for (auto call : {VBN_CALL_PUT, VBN_CALL_GET, VBN_CALL_ATOMIC}) {
        EXPECT_EQ(has(explain(call, 8), "mapped here"), options.import_fails);
        EXPECT_EQ(has(explain(call, 8), "cannot map"), !options.import_fails);
        EXPECT_EQ(has(explain(call, 8), "not connected yet"), options.not_ready);
    }
}

TEST_P(ProtoExplain, survives_small_buffers_and_nonsense)
{
    std::string whole = explain(VBN_CALL_PUT, 5000);
    for (size_t capacity = 0; capacity <= whole.size() + 2; capacity++) {
        std::vector<char> text(capacity); /* exact, so that AddressSanitizer sees a write beyond */
        EXPECT_EQ(proto_explain_call(rig_peer(rig, 0), VBN_CALL_PUT, 5000, text.data(), capacity), whole.size());
        if (capacity > 0) {
            EXPECT_EQ(whole.substr(0, capacity - 1), text.data());
        }
    }
    char text[100];
    EXPECT_GT(proto_explain_call(nullptr, VBN_CALL_PUT, 1, text, sizeof(text)), 0u);
    EXPECT_GT(proto_explain_call(rig_peer(rig, 0), static_cast<vbn_call_t>(9), 1, text, sizeof(text)), 0u);
}

INSTANTIATE_TEST_SUITE_P(Modes, ProtoExplain, ::testing::ValuesIn(MODES), mode_name);

} // namespace
