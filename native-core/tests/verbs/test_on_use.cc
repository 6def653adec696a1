// SPDX-License-Identifier: Apache-2.0
// test_on_use.cc - peers that are not dialled before they are used, over the scripted devices.
#include "../multi/on_use.h"
#include "checks.h"

namespace {

using multi::OnUseTest;

class VerbsOnUse : public ::testing::TestWithParam<std::tuple<OnUseTest, const char *>> {};

TEST_P(VerbsOnUse, a_peer)
{
    EXPECT_EQ(verbs::with_fabric(1, [] { std::get<0>(GetParam()).run(std::get<1>(GetParam())); }, 300), 0);
}

INSTANTIATE_TEST_SUITE_P(Transports, VerbsOnUse,
                         ::testing::Combine(::testing::ValuesIn(multi::ON_USE_TESTS),
                                            ::testing::Values("rc", "ud", "rc,ud", "rc,tcp")),
                         [](const auto &each) {
                             return std::string(std::get<0>(each.param).name) + "_" +
                                    multi::way_name(std::get<1>(each.param));
                         });

} // namespace
