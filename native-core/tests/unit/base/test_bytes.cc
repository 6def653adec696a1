// SPDX-License-Identifier: Apache-2.0
// test_bytes.cc - copies: what they write, and what they leave alone.
#include <gtest/gtest.h>

#include <vector>

extern "C" {
#include "base/bytes.h"
}

namespace {

// Copies length bytes from `from` to `to` of fresh buffers and compares all of both with what memcpy would have left.
void check(size_t to, size_t from, size_t length)
{
    constexpr size_t kPage = 4096;
    const size_t bytes = length + 3 * kPage;
    std::vector<uint8_t> source(bytes), target(bytes, 0xEE), expected(bytes, 0xEE);
    for (size_t i = 0; i < bytes; i++)
        source[i] = static_cast<uint8_t>(i * 31 + i / 251);
    uint8_t *s = source.data() + (kPage - reinterpret_cast<uintptr_t>(source.data()) % kPage) + from;
    size_t at = (kPage - reinterpret_cast<uintptr_t>(target.data()) % kPage) + to;
    bytes_copy(target.data() + at, s, length);
    memcpy(expected.data() + at, s, length);
    EXPECT_TRUE(target == expected) << "to " << to << " from " << from << " length " << length;
}

TEST(Bytes, ShortCopiesOfEveryLengthWriteWhatTheyShould)
{
    for (size_t length = 0; length <= 200; length++)
        check(length % 7, length % 5, length);
}

TEST(Bytes, LongCopiesWriteWhatTheyShouldWhereverBothLieWithinTheirPages)
{
    const size_t kFar[] = {0, 1, 15, 16, 31, 33, 63, 64, 65, 127, 128, 2048, 4095};
    const size_t kLengths[] = {2047, 2048, 2049, 2111, 2112, 4096, 65535, 65536 + 63};
    for (size_t from : {0u, 1u, 48u, 4090u})
        for (size_t far : kFar)
            for (size_t length : kLengths)
                check((from + far) % 4096, from, length);
    check(16, 0, (1 << 20) - 1);
    check(16, 0, (1 << 20) + 1);
}

} // namespace
