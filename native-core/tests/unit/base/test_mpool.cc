// SPDX-License-Identifier: Apache-2.0
// Tests of the object pool.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

extern "C" {
#include "base/mpool.h"
}

TEST(Mpool, GivesDistinctAlignedObjectsOfFullSize)
{
    mpool_t pool;
    mpool_init(&pool, 100, 7, 0);
    std::vector<char *> objects;
    for (int i = 0; i < 50; i++) {
        objects.push_back((char *)mpool_get(&pool));
        ASSERT_NE(objects.back(), nullptr);
        EXPECT_EQ((uintptr_t)objects.back() % 64, 0u);
        memset(objects.back(), i, 100);
    }
    for (int i = 0; i < 50; i++)
        for (int k = 0; k < 100; k++)
            ASSERT_EQ(objects[(size_t)i][k], i) << "objects overlap";
    EXPECT_EQ(pool.used, 50u);
    EXPECT_EQ(pool.object_bytes, 128u);
    mpool_free(&pool);
}

TEST(Mpool, ReusesWhatWasPutBack)
{
    mpool_t pool;
    mpool_init(&pool, 64, 4, 0);
    void *first = mpool_get(&pool);
    mpool_put(&pool, first);
    EXPECT_EQ(mpool_get(&pool), first);
    EXPECT_EQ(pool.total, 4u);
    mpool_free(&pool);
}

TEST(Mpool, TheLimitHoldsAlsoWhenABlockIsLarger)
{
    mpool_t pool;
    mpool_init(&pool, 8, 64, 10);
    std::set<void *> objects;
    for (int i = 0; i < 10; i++)
        objects.insert(mpool_get(&pool));
    EXPECT_EQ(objects.size(), 10u);
    EXPECT_EQ(objects.count(nullptr), 0u);
    EXPECT_EQ(mpool_get(&pool), nullptr);
    EXPECT_NE(std::string(err_text()).find("10 objects"), std::string::npos);
    mpool_put(&pool, *objects.begin());
    EXPECT_EQ(mpool_get(&pool), *objects.begin());
    mpool_free(&pool);
}

TEST(Mpool, ImpossibleSizesAreRefused)
{
    mpool_t pool;
    mpool_init(&pool, SIZE_MAX / 2, 4, 0);
    EXPECT_EQ(mpool_get(&pool), nullptr);
    mpool_init(&pool, SIZE_MAX, 4, 0);
    EXPECT_EQ(mpool_get(&pool), nullptr);
    mpool_free(&pool);
}

TEST(Mpool, CanBeUsedAgainAfterFree)
{
    mpool_t pool;
    mpool_init(&pool, 64, 4, 0);
    mpool_get(&pool);
    mpool_free(&pool);
    EXPECT_EQ(pool.used, 0u);
    EXPECT_NE(mpool_get(&pool), nullptr);
    mpool_free(&pool);
}

/* Remembers what it gave. */
struct Source {
    std::vector<size_t> given;
    size_t live = 0;
    bool empty = false;
    static void *get(void *arg, size_t bytes)
    {
        auto *self = static_cast<Source *>(arg);
        if (self->empty)
            return nullptr;
        self->given.push_back(bytes);
        self->live += bytes;
        return aligned_alloc(64, (bytes + 63) / 64 * 64);
    }
    static void put(void *arg, void *block, size_t bytes)
    {
        static_cast<Source *>(arg)->live -= bytes;
        free(block);
    }
};

TEST(Mpool, BlocksOfASourceDoubleUpToTheirMaximumAndGoBack)
{
    Source source;
    mpool_source_t functions = {Source::get, Source::put, &source};
    mpool_t pool;
    mpool_init_from(&pool, 4096, 4, 0, &functions);
    for (int i = 0; i < 3000; i++)
        ASSERT_NE(mpool_get(&pool), nullptr);
    ASSERT_GT(source.given.size(), 9u);
    EXPECT_EQ(source.given[0], 4 * 4096 + 64u);
    EXPECT_EQ(source.given[1], 8 * 4096 + 64u);
    for (size_t bytes : source.given)
        EXPECT_LE(bytes, MPOOL_BLOCK_MAX);
    EXPECT_GT(source.given.back(), MPOOL_BLOCK_MAX - 4096 - 64);
    source.empty = true;
    while (pool.free_list != nullptr)
        ASSERT_NE(mpool_get(&pool), nullptr);
    EXPECT_EQ(mpool_get(&pool), nullptr);
    mpool_free(&pool);
    EXPECT_EQ(source.live, 0u);
}
