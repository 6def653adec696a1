// SPDX-License-Identifier: Apache-2.0
// Tests of the handle table.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

extern "C" {
#include "base/handle.h"
}

namespace {

class Handle : public ::testing::Test {
protected:
    void SetUp() override { handle_table_init(&table, 100); }
    void TearDown() override { handle_table_free(&table); }

    uint64_t add(void *object)
    {
        uint64_t handle = 0;
        EXPECT_EQ(handle_new(&table, object, &handle), VBN_OK);
        return handle;
    }

    handle_table_t table;
    int objects[200];
};

TEST_F(Handle, LeadsBackToItsObjectUntilDropped)
{
    uint64_t handle = add(&objects[0]);
    EXPECT_NE(handle, 0u);
    EXPECT_EQ(handle_get(&table, handle), &objects[0]);
    EXPECT_EQ(handle_drop(&table, handle), &objects[0]);
    EXPECT_EQ(handle_get(&table, handle), nullptr);
    EXPECT_EQ(handle_drop(&table, handle), nullptr);
}

TEST_F(Handle, StaysStaleWhenItsEntryIsUsedAgain)
{
    uint64_t old = add(&objects[0]);
    handle_drop(&table, old);
    uint64_t fresh = add(&objects[1]);
    EXPECT_EQ((uint32_t)fresh, (uint32_t)old) << "the entry is reused";
    EXPECT_NE(fresh, old);
    EXPECT_EQ(handle_get(&table, old), nullptr);
    EXPECT_EQ(handle_get(&table, fresh), &objects[1]);
}

TEST_F(Handle, ForgedOnesAreRefused)
{
    EXPECT_EQ(handle_get(&table, 0), nullptr) << "empty table";
    uint64_t handle = add(&objects[0]);
    EXPECT_EQ(handle_get(&table, 0), nullptr);
    EXPECT_EQ(handle_get(&table, handle ^ (UINT64_C(1) << 40)), nullptr);
    EXPECT_EQ(handle_get(&table, handle + 1), nullptr);
    EXPECT_EQ(handle_get(&table, handle | 0xffffffffu), nullptr);
    EXPECT_EQ(handle_get(&table, UINT64_MAX), nullptr);
    EXPECT_EQ(handle_get(&table, handle), &objects[0]);
}

TEST_F(Handle, TheLimitIsEnforcedAndReleasedAgain)
{
    std::vector<uint64_t> handles;
    std::set<uint64_t> distinct;
    for (int i = 0; i < 100; i++)
        handles.push_back(add(&objects[i]));
    distinct.insert(handles.begin(), handles.end());
    EXPECT_EQ(distinct.size(), 100u);
    uint64_t handle = 5;
    EXPECT_EQ(handle_new(&table, &objects[100], &handle), VBN_ERR_LIMIT);
    EXPECT_EQ(handle, 5u) << "the output is untouched on failure";
    EXPECT_NE(std::string(err_text()).find("100"), std::string::npos);
    handle_drop(&table, handles[50]);
    add(&objects[100]);
    for (int i = 0; i < 100; i++) {
        if (i != 50) {
            EXPECT_EQ(handle_get(&table, handles[(size_t)i]), &objects[i]);
        }
    }
}

TEST_F(Handle, GenerationSkipsZeroWhenItWraps)
{
    uint64_t handle = add(&objects[0]);
    table.entries[(uint32_t)handle].generation = UINT32_MAX;
    handle_drop(&table, (uint64_t)UINT32_MAX << 32 | (uint32_t)handle);
    EXPECT_EQ(add(&objects[0]) >> 32, 1u);
}

TEST_F(Handle, NullObjectIsRefused)
{
    uint64_t handle = 0;
    EXPECT_EQ(handle_new(&table, nullptr, &handle), VBN_ERR_INVALID);
}

} // namespace
