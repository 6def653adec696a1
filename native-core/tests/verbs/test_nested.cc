// SPDX-License-Identifier: Apache-2.0
// test_nested.cc - vbn_progress inside callbacks, over devices (tests/multi/nested.h).
#include "../multi/nested.h"
#include "checks.h"

namespace {

class VerbsNested : public ::testing::TestWithParam<const char *> {};

TEST_P(VerbsNested, callbacks_may_drive_the_worker)
{
    int code = verbs::with_fabric(1, [] { multi::Nested(GetParam()).run(); }, 300);
    ASSERT_EQ(code, 0);
}

INSTANTIATE_TEST_SUITE_P(Transports, VerbsNested, ::testing::Values("rc", "ud", "rc,ud"),
                         [](const auto &test) { return multi::way_name(test.param); });

} // namespace
