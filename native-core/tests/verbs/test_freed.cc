// SPDX-License-Identifier: Apache-2.0
// test_freed.cc - nothing touches memory after vbn_mem_free or vbn_mem_revoke has returned, a device neither (freed.h).
#include "../multi/freed.h"
#include "checks.h"

namespace {

class VerbsFreed : public ::testing::TestWithParam<const char *> {};

TEST_P(VerbsFreed, memory_is_not_touched_any_more_wherever_a_put_or_get_of_it_is)
{
    int code = verbs::with_fabric(1, [] {
        multi::Freed f(GetParam());
        f.all();
        f.close();
    });
    ASSERT_EQ(code, 0);
}

INSTANTIATE_TEST_SUITE_P(Transports, VerbsFreed, ::testing::Values("rc", "ud", "rc,ud"),
                         [](const auto &test) { return multi::way_name(test.param); });

} // namespace
