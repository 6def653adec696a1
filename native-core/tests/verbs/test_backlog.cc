// SPDX-License-Identifier: Apache-2.0
// test_backlog.cc - bytes queued towards a peer, and the call when they have become few, over the scripted devices.
#include "../multi/backlog.h"
#include "checks.h"

namespace {

using multi::BacklogTest;

class VerbsBacklog : public ::testing::TestWithParam<std::tuple<BacklogTest, const char *, size_t>> {};

TEST_P(VerbsBacklog, of_a_peer)
{
    int code = verbs::with_fabric(
        1, [] { std::get<0>(GetParam()).run(std::get<1>(GetParam()), std::get<2>(GetParam())); }, 300);
    EXPECT_EQ(code, 0);
}

INSTANTIATE_TEST_SUITE_P(Transports, VerbsBacklog,
                         ::testing::Combine(::testing::ValuesIn(multi::BACKLOG_TESTS), ::testing::Values("rc", "ud"),
                                            ::testing::Values(size_t{3000}, size_t{200} << 10)),
                         [](const auto &each) {
                             return std::string(std::get<0>(each.param).name) + "_" + std::get<1>(each.param) +
                                    (std::get<2>(each.param) > 4096 ? "_large" : "_small");
                         });

} // namespace
