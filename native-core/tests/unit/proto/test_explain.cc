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
    static bool has(const std::string &text, const char *part)
    {
        return text.find(part) != std::string::npos;
    }
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
        EXPECT_EQ(has(text, "whole in one packet"), whole) << text;
        EXPECT_EQ(has(text, "announced and pulled"), !whole) << text;
        EXPECT_TRUE(has(text, "proto.am_small_max")) << text;
        EXPECT_TRUE(has(text, "the rig")) << text;
    }
    EXPECT_TRUE(has(explain(VBN_CALL_AM, 100000), "25 packets of at most 4096 bytes, 4 at once (proto.stream_depth)"));
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
