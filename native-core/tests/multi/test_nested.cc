// SPDX-License-Identifier: Apache-2.0
// test_nested.cc - vbn_progress inside callbacks (nested.h).
#include <gtest/gtest.h>

#include "nested.h"

namespace {

class NestedProgress : public ::testing::TestWithParam<const char *> {};

TEST_P(NestedProgress, callbacks_may_drive_the_worker)
{
    std::vector<int> codes = multi::launch(1, [](int, multi::Shared &) { multi::Nested(GetParam()).run(); }, 300);
    EXPECT_EQ(codes[0], 0);
}

INSTANTIATE_TEST_SUITE_P(Transports, NestedProgress, ::testing::ValuesIn(multi::ways({"self", "shm", "tcp"})),
                         [](const auto &test) { return multi::way_name(test.param); });

} // namespace
