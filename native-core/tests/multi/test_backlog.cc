// SPDX-License-Identifier: Apache-2.0
// test_backlog.cc - bytes queued towards a peer, and the call when they have become few (backlog.h), over shared memory and TCP,
// with eager and with rendezvous messages.
#include <gtest/gtest.h>

#include "backlog.h"

namespace {

using multi::BacklogTest;
using multi::Shared;

class Backlog : public ::testing::TestWithParam<std::tuple<BacklogTest, const char *, size_t>> {};

TEST_P(Backlog, of_a_peer)
{
    auto codes = multi::launch(
        1, [](int, Shared &) { std::get<0>(GetParam()).run(std::get<1>(GetParam()), std::get<2>(GetParam())); });
    EXPECT_EQ(codes[0], 0);
}

INSTANTIATE_TEST_SUITE_P(Over, Backlog,
                         ::testing::Combine(::testing::ValuesIn(multi::BACKLOG_TESTS),
                                            ::testing::ValuesIn(multi::ways({"shm", "tcp"})),
                                            ::testing::Values(size_t{3000}, size_t{1} << 20)),
                         [](const auto &each) {
                             return std::string(std::get<0>(each.param).name) + "_" +
                                    multi::way_name(std::get<1>(each.param)) +
                                    (std::get<2>(each.param) > 4096 ? "_large" : "_small");
                         });

} // namespace
