// SPDX-License-Identifier: Apache-2.0
// test_calls.cc - random calls of every public function (calls.h) over the real transports. A seed that fails is
// printed; VBN_TEST_SEED=n repeats it alone.
#include <gtest/gtest.h>

#include "calls.h"
#include "full.h"

namespace {

class Calls : public ::testing::TestWithParam<const char *> {};

TEST_P(Calls, of_every_function_in_any_order_keep_what_they_promise)
{
    multi::Seeds seeds(usual_or_full(15, 40));
    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++) {
        auto codes = multi::launch(1, [&](int, multi::Shared &) {
            multi::World world(GetParam(), seed);
            world.run(600);
            world.close();
        });
        ASSERT_EQ(codes[0], 0) << "seed " << seed << " over " << GetParam() << "; VBN_TEST_SEED=" << seed
                               << " repeats it";
    }
}

INSTANTIATE_TEST_SUITE_P(Over, Calls, ::testing::ValuesIn(multi::ways({"self", "shm", "tcp"})),
                         [](const auto &each) { return multi::way_name(each.param); });

} // namespace
