// SPDX-License-Identifier: Apache-2.0
// test_error_text.cc - vbn_error_text() says why an operation ended with an error long after its call, and why a peer was
// lost; and whether that loss was one.
#include <gtest/gtest.h>

#include "pair.h"

namespace {

using multi::Half;
using multi::Pair;

bool says(const std::string &text, const char *words)
{
    return text.find(words) != std::string::npos;
}

/* An operation and the text inside its `done`. */
struct Op {
    vbn_op_t op{};
    std::string text;
    Op() { op.done = done, op.user = this; }
    static void done(vbn_op_t *op, vbn_status_t, size_t) { static_cast<Op *>(op->user)->text = vbn_error_text(); }
};

class ErrorText : public ::testing::TestWithParam<const char *> {};

TEST_P(ErrorText, of_an_operation_that_the_peer_refuses_says_why)
{
    Pair pair(GetParam());
    ASSERT_EQ(pair.a.connect(pair.b), VBN_OK);
    ASSERT_EQ(pair.send(8), VBN_OK);
    std::vector<uint8_t> memory(8192), data(64);
    vbn_mem_t *mem = nullptr; /* the user's own: reached by packets over every transport */
    vbn_key_t *key = nullptr;
    uint8_t blob[VBN_KEY_MAX];
    size_t length = sizeof(blob);
    ASSERT_EQ(vbn_mem_register(pair.b.context, memory.data(), memory.size(), VBN_ACCESS_READ | VBN_ACCESS_WRITE, &mem),
              VBN_OK);
    ASSERT_EQ(vbn_key_export(mem, 0, memory.size(), VBN_ACCESS_READ | VBN_ACCESS_WRITE, blob, &length), VBN_OK);
    ASSERT_EQ(vbn_key_import(pair.a.peer, blob, length, &key), VBN_OK);
    ASSERT_EQ(vbn_mem_free(mem), VBN_OK);
    iovec iov{data.data(), data.size()};
    Op put, get;
    EXPECT_EQ(vbn_tag_cancel(nullptr), VBN_ERR_INVALID); /* leaves an older text behind */
    EXPECT_EQ(pair.finish(vbn_put(key, 0, &iov, 1, &put.op), put.op), VBN_ERR_STALE);
    EXPECT_TRUE(says(put.text, "the peer answered") && says(put.text, "VBN_ERR_STALE") &&
                says(put.text, "freed or revoked"))
        << put.text;
    EXPECT_EQ(pair.finish(vbn_get(key, 0, &iov, 1, &get.op), get.op), VBN_ERR_STALE);
    EXPECT_TRUE(says(get.text, "VBN_ERR_STALE")) << get.text;
    vbn_key_release(key);
    pair.close();
}

TEST_P(ErrorText, of_what_was_pending_with_a_lost_peer_says_why_it_is_lost)
{
    Pair pair(GetParam());
    ASSERT_EQ(pair.a.connect(pair.b), VBN_OK);
    ASSERT_EQ(pair.send(8), VBN_OK);
    uint8_t data[8];
    iovec iov{data, sizeof(data)};
    Op receive;
    ASSERT_EQ(vbn_tag_recv(pair.a.worker, pair.a.peer, 5, UINT64_MAX, &iov, 1, nullptr, &receive.op), VBN_INPROGRESS);
    pair.b.close();
    while (pair.a.lost == VBN_OK) /* ended by the time limit of the test */
        (void)vbn_progress(pair.a.worker);
    EXPECT_EQ(receive.op.status, VBN_ERR_PEER_LOST);
    EXPECT_FALSE(pair.a.text.empty());
    EXPECT_EQ(receive.text, pair.a.text);
    EXPECT_EQ(pair.a.text, vbn_error_text());
    pair.a.close();
}

/* A cancelled wait is no failure that anybody recorded: the status is explained, and no older text is left. */
TEST_P(ErrorText, of_an_operation_that_ends_with_its_worker_explains_the_status)
{
    Pair pair(GetParam());
    uint8_t data[8];
    iovec iov{data, sizeof(data)};
    Op receive;
    ASSERT_EQ(vbn_tag_recv(pair.a.worker, nullptr, 5, UINT64_MAX, &iov, 1, nullptr, &receive.op), VBN_INPROGRESS);
    EXPECT_EQ(vbn_tag_cancel(nullptr), VBN_ERR_INVALID);
    pair.close();
    EXPECT_EQ(receive.op.status, VBN_ERR_CLOSED);
    EXPECT_TRUE(says(receive.text, "VBN_ERR_CLOSED") && says(receive.text, "closed while the operation was pending"))
        << receive.text;
}

INSTANTIATE_TEST_SUITE_P(Over, ErrorText, ::testing::ValuesIn(multi::ways({"shm", "tcp"})),
                         [](const auto &each) { return multi::way_name(each.param); });

} // namespace
