// SPDX-License-Identifier: Apache-2.0
// Tests of the intrusive list and of the queue that takes one pointer.
#include <gtest/gtest.h>

#include <vector>

extern "C" {
#include "base/fifo.h"
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

TEST(Fifo, GivesItsLinksInOrderAndIsEmptyAfterTheLast)
{
    fifo_t fifo = {};
    Item a = {1, {}}, b = {2, {}}, c = {3, {}};
    EXPECT_EQ(fifo_pop(&fifo), nullptr);
    EXPECT_EQ(fifo_first(&fifo), nullptr);
    for (int round = 0; round < 2; round++) {
        fifo_append(&fifo, &a.link);
        fifo_append(&fifo, &b.link);
        EXPECT_EQ(fifo_first(&fifo), &a.link);
        EXPECT_EQ(fifo_pop(&fifo), &a.link);
        fifo_append(&fifo, &c.link);
        EXPECT_EQ(fifo_pop(&fifo), &b.link);
        EXPECT_FALSE(fifo_empty(&fifo));
        EXPECT_EQ(fifo_pop(&fifo), &c.link);
        EXPECT_TRUE(fifo_empty(&fifo));
    }
}

TEST(Fifo, LinkThatWasPoppedMayBeRemovedFromALaterList)
{
    fifo_t fifo = {};
    Item a = {1, {}}, b = {2, {}};
    fifo_append(&fifo, &a.link);
    fifo_append(&fifo, &b.link);
    list_remove(fifo_pop(&fifo));
    EXPECT_EQ(fifo_pop(&fifo), &b.link);
}

} // namespace
