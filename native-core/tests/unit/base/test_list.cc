// SPDX-License-Identifier: Apache-2.0
// Tests of the intrusive list.
#include <gtest/gtest.h>

#include <vector>

extern "C" {
#include "base/list.h"
}

namespace {

struct Item {
    int id;
    list_link_t link;
};

std::vector<int> ids(const list_link_t *head)
{
    std::vector<int> found;
    list_for_each(at, head)
        found.push_back(container_of(at, Item, link)->id);
    return found;
}

TEST(List, KeepsOrderOfAppendAndPrepend)
{
    list_link_t head;
    Item a = {1, {}}, b = {2, {}}, c = {3, {}};
    list_init(&head);
    EXPECT_TRUE(list_empty(&head));
    EXPECT_EQ(list_pop(&head), nullptr);
    list_append(&head, &a.link);
    list_append(&head, &b.link);
    list_prepend(&head, &c.link);
    EXPECT_EQ(ids(&head), std::vector<int>({3, 1, 2}));
    EXPECT_EQ(list_pop(&head), &c.link);
    EXPECT_EQ(ids(&head), std::vector<int>({1, 2}));
}

TEST(List, RemovingTwiceIsHarmless)
{
    list_link_t head;
    Item a = {1, {}}, b = {2, {}};
    list_init(&head);
    list_append(&head, &a.link);
    list_append(&head, &b.link);
    list_remove(&a.link);
    list_remove(&a.link);
    EXPECT_EQ(ids(&head), std::vector<int>({2}));
    list_remove(&b.link);
    EXPECT_TRUE(list_empty(&head));
}

} // namespace
