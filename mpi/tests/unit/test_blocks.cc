// SPDX-License-Identifier: Apache-2.0
// Blocks of a range: fragments, alignment, exhaustion, against a map of every grain; equal calls give equal offsets.
#include <gtest/gtest.h>

#include <random>
#include <vector>

extern "C" {
#include "rt/blocks.h"
}

namespace {

constexpr size_t GRAIN = 64;

struct Blocks : rt_blocks_t {
    explicit Blocks(size_t bytes, size_t begin = 0) { EXPECT_EQ(rt_blocks_open(this, begin, bytes, GRAIN), 0); }
    ~Blocks() { rt_blocks_close(this); }
};

/* B1, and the sums. */
void check(const Blocks &blocks, const std::vector<char> &grains)
{
    size_t at = 0, taken = 0, count = 0;
    for (const rt_block_t *one = blocks.first; one != nullptr; one = one->after) {
        ASSERT_EQ(one->offset, at);
        ASSERT_TRUE(one->after == nullptr || one->after->before == one);
        ASSERT_FALSE(one->after != nullptr && !one->used && !one->after->used) << "two free neighbours";
        for (size_t i = at / GRAIN; i < (at + one->size) / GRAIN; i++)
            ASSERT_EQ(grains[i] != 0, one->used != 0);
        at += one->size;
        taken += one->used ? one->size : 0;
        count += one->used != 0;
    }
    ASSERT_EQ(at, blocks.size);
    ASSERT_EQ(taken, blocks.taken);
    ASSERT_EQ(count, blocks.count);
}

void mark(std::vector<char> &grains, const rt_block_t *block, char used)
{
    for (size_t i = block->offset / GRAIN; i < (block->offset + block->size) / GRAIN; i++) {
        ASSERT_NE(grains[i], used) << "handed out twice";
        grains[i] = used;
    }
}

TEST(Blocks, any_mix_of_calls_hands_out_aligned_ranges_that_do_not_overlap)
{
    for (unsigned seed = 0; seed < 60; seed++) {
        std::mt19937 random(seed);
        const size_t bytes = 64 * 1024 + random() % GRAIN, begin = (random() % 64) * 4096;
        Blocks blocks(bytes, begin);
        std::vector<char> grains(bytes / GRAIN);
        std::vector<rt_block_t *> used;
        for (unsigned step = 0; step < 400; step++) {
            if (random() % 5 < 3) {
                const size_t alignment = size_t{1} << random() % 15, size = 1 + random() % (1u << random() % 14);
                rt_block_t *block = rt_blocks_take(&blocks, alignment, size);
                if (block == nullptr)
                    continue;
                ASSERT_GE(block->size, size);
                ASSERT_EQ((begin + block->offset) % alignment, 0u);
                mark(grains, block, 1);
                used.push_back(block);
            } else if (!used.empty()) {
                const size_t i = random() % used.size();
                ASSERT_EQ(rt_blocks_at(&blocks, used[i]->offset), used[i]);
                mark(grains, used[i], 0);
                ASSERT_FALSE(rt_blocks_give(&blocks, used[i])->used);
                used.erase(used.begin() + static_cast<std::ptrdiff_t>(i));
            }
            check(blocks, grains);
        }
        for (rt_block_t *block : used)
            (void)rt_blocks_give(&blocks, block);
        EXPECT_EQ(rt_blocks_largest(&blocks), blocks.size) << "fragments stay, seed " << seed;
    }
}

TEST(Blocks, a_full_range_gives_nothing_until_something_is_freed)
{
    Blocks blocks(100 * GRAIN);
    std::vector<rt_block_t *> used;
    while (rt_block_t *block = rt_blocks_take(&blocks, 1, 1))
        used.push_back(block);
    EXPECT_EQ(used.size(), 100u);
    EXPECT_EQ(rt_blocks_largest(&blocks), 0u);
    for (size_t i = 0; i < used.size(); i += 2)
        (void)rt_blocks_give(&blocks, used[i]);
    EXPECT_EQ(rt_blocks_take(&blocks, 1, GRAIN + 1), nullptr) << "free grains that are no neighbours";
    (void)rt_blocks_give(&blocks, used[51]);
    rt_block_t *block = rt_blocks_take(&blocks, 1, 3 * GRAIN);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(block->offset, 50 * GRAIN);
}

TEST(Blocks, sizes_that_cannot_be_are_refused)
{
    Blocks blocks(1000), none(10);
    EXPECT_EQ(blocks.size, 960u);
    for (size_t size : {size_t{0}, size_t{961}, SIZE_MAX, SIZE_MAX - 62})
        EXPECT_EQ(rt_blocks_take(&blocks, 1, size), nullptr) << size;
    EXPECT_EQ(rt_blocks_take(&blocks, size_t{1} << 40, 1)->offset, 0u) << "0 is aligned to anything";
    EXPECT_EQ(rt_blocks_take(&blocks, size_t{1} << 40, 1), nullptr);
    EXPECT_EQ(rt_blocks_take(&none, 1, 1), nullptr);
    EXPECT_EQ(rt_blocks_at(&blocks, 64), nullptr) << "free";
    EXPECT_EQ(rt_blocks_at(&blocks, SIZE_MAX), nullptr);
}

TEST(Blocks, equal_calls_give_equal_offsets)
{
    Blocks one(1 << 20), other(1 << 20);
    std::mt19937 random(5);
    std::vector<rt_block_t *> used[2];
    for (unsigned step = 0; step < 2000; step++) {
        const size_t alignment = size_t{1} << random() % 12, size = 1 + random() % 3000, pick = random();
        for (int side = 0; side < 2; side++) {
            Blocks &blocks = side == 0 ? one : other;
            if (step % 3 == 2 && !used[side].empty()) {
                (void)rt_blocks_give(&blocks, used[side][pick % used[side].size()]);
                used[side].erase(used[side].begin() + static_cast<std::ptrdiff_t>(pick % used[side].size()));
            } else if (rt_block_t *block = rt_blocks_take(&blocks, alignment, size)) {
                used[side].push_back(block);
            }
        }
        ASSERT_EQ(used[0].size(), used[1].size());
        if (!used[0].empty()) {
            ASSERT_EQ(used[0].back()->offset, used[1].back()->offset);
        }
    }
}

} // namespace
