// SPDX-License-Identifier: Apache-2.0
// test_on_use.cc - peers that are not dialled before they are used (on_use.h), over shared memory and TCP.
#include <gtest/gtest.h>

#include "on_use.h"

namespace {

using multi::OnUseTest;
using multi::Shared;

class OnUse : public ::testing::TestWithParam<std::tuple<OnUseTest, const char *>> {};

TEST_P(OnUse, a_peer)
{
    auto codes = multi::launch(1, [](int, Shared &) { std::get<0>(GetParam()).run(std::get<1>(GetParam())); });
    EXPECT_EQ(codes[0], 0);
}

/* Over TCP also with packets that are kept until acknowledged. */
TEST_P(OnUse, a_peer_that_resumes)
{
    auto codes = multi::launch(1, [](int, Shared &) {
        setenv("VBN_LINK_RESUME_TIMEOUT", "300ms", 1);
        std::get<0>(GetParam()).run(std::get<1>(GetParam()));
    });
    EXPECT_EQ(codes[0], 0);
}

INSTANTIATE_TEST_SUITE_P(Over, OnUse,
                         ::testing::Combine(::testing::ValuesIn(multi::ON_USE_TESTS),
                                            ::testing::ValuesIn(multi::ways({"shm", "tcp", "shm,tcp"}))),
                         [](const auto &each) {
                             return std::string(std::get<0>(each.param).name) + "_" +
                                    multi::way_name(std::get<1>(each.param));
                         });

TEST(OnUseOfSelf, a_worker_is_always_there_for_itself)
{
    multi::Half half;
    ASSERT_EQ(half.open("self"), VBN_OK);
    half.peer = multi::on_use(half, half);
    EXPECT_STREQ(vbn_peer_transport(half.peer), "self");
    uint8_t blob[VBN_ADDRESS_MAX];
    size_t length = sizeof(blob);
    vbn_peer_t *peer = nullptr;
    ASSERT_EQ(vbn_worker_address(half.worker, blob, &length), VBN_OK);
    EXPECT_EQ(vbn_connect_flags(half.worker, blob, length, 2, nullptr, nullptr, &peer), VBN_ERR_INVALID);
    half.close();
}

} // namespace
