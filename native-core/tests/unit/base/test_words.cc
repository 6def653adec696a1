// SPDX-License-Identifier: Apache-2.0
// test_words.cc - copies that others see: each word by one load and one store, each byte once (vbn_copy_words).
#include <gtest/gtest.h>

#include "../../step.h"

extern "C" {
#include "base/bytes.h"
}

namespace {

constexpr size_t kWidths[] = {1, 2, 4, 8};
constexpr const char *NO_STEPS =
    "no single steps here: they need x86-64 and its trap flag; run the tests on such a host, not in an emulator";

struct Copy {
    void *to;
    const void *from;
    size_t length;
    const void *seen;
};

void run(void *arg)
{
    auto *copy = static_cast<Copy *>(arg);
    bytes_copy_seen(copy->to, copy->from, copy->length, copy->seen);
}

// Elements of `width` bytes from place `first` on; the other side lies at an odd address.
void store(size_t width, size_t first, size_t count)
{
    alignas(64) uint8_t seen[192], own[200];
    memset(seen, 0x11, sizeof(seen));
    memset(own, 0x22, sizeof(own));
    Copy copy{seen + first * width, own + 3, count * width, seen + first * width};
    step_words_t words{seen + first * width, width, count, 0x11, 0x22, 0, {}};
    step_through(run, &copy, step_watch, &words);
    ASSERT_TRUE(step_each_once(&words)) << count << " elements of " << width << " bytes from " << first << ", torn "
                                        << words.torn;
}

void load(size_t width, size_t first, size_t count)
{
    alignas(64) uint8_t seen[192], own[200];
    memset(seen, 0x0F, sizeof(seen));
    Copy copy{own + 3, seen + first * width, count * width, seen + first * width};
    step_source_t source{seen, sizeof(seen), 0x0F};
    step_through(run, &copy, step_change, &source);
    for (size_t i = 0; i < count * width; i++)
        ASSERT_EQ(own[3 + i], own[3 + i / width * width]) << width << " bytes, " << count << " from " << first;
}

bool steps()
{
    alignas(8) uint8_t one[8] = {0}, other[8] = {0};
    Copy copy{one, other, 8, one};
    step_words_t words{one, 8, 1, 0, 1, 0, {}};
    return step_through(run, &copy, step_watch, &words) > 0;
}

void each_shape(void (*check)(size_t width, size_t first, size_t count))
{
    for (size_t width : kWidths)
        for (size_t first = 0; first < 8; first++)
            for (size_t count = 1; count * width <= VBN_WORDS_MAX; count = count < 4 ? count + 1 : count * 2 + 1)
                check(width, first, count);
}

TEST(Words, EachElementOfAShortCopyIsOneStore)
{
    if (!steps())
        GTEST_SKIP() << NO_STEPS;
    each_shape(store);
}

TEST(Words, EachElementOfAShortCopyIsOneLoad)
{
    if (!steps())
        GTEST_SKIP() << NO_STEPS;
    each_shape(load);
}

TEST(Words, EveryLengthAndPlaceIsCopiedWhole)
{
    for (size_t length = 0; length <= 130; length++)
        for (size_t place = 0; place < 9; place++) {
            uint8_t to[160], from[160], expected[160];
            for (size_t i = 0; i < sizeof(from); i++)
                from[i] = static_cast<uint8_t>(i * 7 + 1);
            memset(to, 0xEE, sizeof(to));
            memset(expected, 0xEE, sizeof(expected));
            vbn_copy_words(to + place, from + 1, length, to + place);
            memcpy(expected + place, from + 1, length);
            ASSERT_EQ(memcmp(to, expected, sizeof(to)), 0) << length << " bytes at " << place;
        }
}

} // namespace
