// SPDX-License-Identifier: Apache-2.0
// test_reuse.cc - one vbn_op_t, zeroed once, for every kind of operation after every kind (reuse.h).
#include <gtest/gtest.h>

#include "reuse.h"

namespace {

class Reused : public ::testing::TestWithParam<const char *> {};

TEST_P(Reused, operations_of_every_kind_follow_every_kind_without_being_zeroed)
{
    std::vector<int> codes = multi::launch(
        1,
        [](int, multi::Shared &) {
            multi::Reuse r(GetParam());
            multi::reuse_all(r);
            r.close();
        },
        300);
    EXPECT_EQ(codes[0], 0);
}

INSTANTIATE_TEST_SUITE_P(Transports, Reused, ::testing::ValuesIn(multi::ways({"self", "shm", "tcp"})),
                         [](const auto &test) { return multi::way_name(test.param); });

} // namespace
