// SPDX-License-Identifier: Apache-2.0
// test_ranges.cc - which bytes have been committed: against a map of every byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

extern "C" {
#include "mem/ranges.h"
}

namespace {

TEST(Ranges, AnythingAddedAndNotTakenOutIsThereAndNothingElse)
{
    std::mt19937 random(7);
    for (unsigned round = 0; round < 50; round++) {
        constexpr size_t BYTES = 300;
        mem_ranges_t ranges{};
        mem_ranges_remove(&ranges, 0, 10); // none
        std::vector<bool> there(BYTES);
        for (unsigned step = 0; step < 60; step++) {
            size_t a = random() % BYTES, b = random() % BYTES, start = std::min(a, b);
            size_t end = std::min(start + random() % 30, std::max(a, b));
            mem_ranges_add(&ranges, start, end);
            for (size_t i = start; i < end; i++)
                there[i] = true;
            size_t c = random() % BYTES, d = c + random() % 40; // at times beyond everything
            if (random() % 2 == 0) {
                mem_ranges_remove(&ranges, c, d);
                for (size_t i = c; i < std::min(d, BYTES); i++)
                    there[i] = false;
            }
            size_t from = random() % BYTES, to = from + random() % (BYTES - from), missing = 0;
            for (size_t i = from; i < to; i++)
                missing += !there[i];
            ASSERT_EQ(mem_ranges_missing(&ranges, from, to), missing) << round << " " << step;
            for (size_t i = 1; i < ranges.count; i++)
                ASSERT_LT(ranges.all[i - 1].end, ranges.all[i].start);
            for (size_t i = 0; i < ranges.count; i++)
                ASSERT_LT(ranges.all[i].start, ranges.all[i].end);
        }
        mem_ranges_clear(&ranges);
    }
}

} // namespace
