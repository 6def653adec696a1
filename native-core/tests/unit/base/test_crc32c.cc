// SPDX-License-Identifier: Apache-2.0
// test_crc32c.cc - CRC-32C: published values, both ways of computing it, in one piece and in many.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

extern "C" {
#include "base/crc32c.h"
}

namespace {

using Sum = uint32_t (*)(uint32_t, const void *, size_t);

TEST(Crc32c, has_the_published_values)
{
    std::string zeros(32, '\0'), ones(32, '\xff'), up;
    for (int i = 0; i < 32; i++)
        up += static_cast<char>(i);
    for (Sum sum : {Sum{crc32c}, Sum{crc32c_by_table}}) {
        EXPECT_EQ(sum(0, "", 0), 0u);
        EXPECT_EQ(sum(0, "123456789", 9), 0xe3069283u);
        EXPECT_EQ(sum(0, zeros.data(), 32), 0x8a9136aau);
        EXPECT_EQ(sum(0, ones.data(), 32), 0x62a8ab43u);
        EXPECT_EQ(sum(0, up.data(), 32), 0x46dd794eu);
    }
}

TEST(Crc32c, is_the_same_by_instruction_and_table_at_every_length_and_alignment)
{
    std::mt19937_64 random(1);
    std::vector<uint8_t> data(600);
    for (auto &byte : data)
        byte = static_cast<uint8_t>(random());
    for (size_t from = 0; from < 9; from++)
        for (size_t length = 0; length + from <= data.size(); length++) {
            uint32_t start = static_cast<uint32_t>(random());
            ASSERT_EQ(crc32c(start, data.data() + from, length), crc32c_by_table(start, data.data() + from, length));
        }
}

TEST(Crc32c, goes_on_where_it_ended)
{
    std::string text = "every piece of a chunk counts, whatever its length";
    for (Sum sum : {Sum{crc32c}, Sum{crc32c_by_table}})
        for (size_t cut = 0; cut <= text.size(); cut++)
            EXPECT_EQ(sum(sum(0, text.data(), cut), text.data() + cut, text.size() - cut),
                      sum(0, text.data(), text.size()));
}

} // namespace
