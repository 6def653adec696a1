// SPDX-License-Identifier: Apache-2.0
// test_itree.cc - the interval tree: small cases by hand, and random histories against a list of intervals.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "full.h"

extern "C" {
#include "base/itree.h"
}

namespace {

using Nodes = std::vector<itree_node_t *>;

Nodes overlaps(const itree_t &tree, uintptr_t start, uintptr_t end)
{
    Nodes found;
    for (itree_node_t *at = nullptr; (at = itree_overlap(&tree, start, end, at)) != nullptr;)
        found.push_back(at);
    return found;
}

TEST(Itree, TouchingIntervalsDoNotOverlap)
{
    itree_t tree;
    itree_node_t node;
    itree_init(&tree);
    EXPECT_EQ(itree_overlap(&tree, 0, UINTPTR_MAX, nullptr), nullptr);
    itree_insert(&tree, &node, 100, 200);
    EXPECT_EQ(itree_overlap(&tree, 0, 100, nullptr), nullptr);
    EXPECT_EQ(itree_overlap(&tree, 200, 300, nullptr), nullptr);
    EXPECT_EQ(itree_overlap(&tree, 199, 200, nullptr), &node);
    EXPECT_EQ(itree_overlap(&tree, 99, 101, nullptr), &node);
    itree_remove(&tree, &node);
    EXPECT_EQ(tree.count, 0u);
    EXPECT_EQ(itree_overlap(&tree, 0, UINTPTR_MAX, nullptr), nullptr);
}

TEST(Itree, EqualIntervalsAreAllFoundAndRemovedOneByOne)
{
    itree_t tree;
    itree_node_t nodes[5];
    itree_init(&tree);
    for (auto &node : nodes)
        itree_insert(&tree, &node, 10, 20);
    for (size_t left = 5; left > 0; left--) {
        EXPECT_EQ(overlaps(tree, 15, 16).size(), left);
        EXPECT_TRUE(itree_valid(&tree));
        itree_remove(&tree, &nodes[left - 1]);
    }
    EXPECT_TRUE(overlaps(tree, 0, 100).empty());
}

TEST(Itree, AscendingInsertsStayBalanced)
{
    itree_t tree;
    std::vector<itree_node_t> nodes(4096);
    itree_init(&tree);
    for (size_t i = 0; i < nodes.size(); i++)
        itree_insert(&tree, &nodes[i], i * 10, i * 10 + 10);
    EXPECT_TRUE(itree_valid(&tree));
    EXPECT_LE(tree.root->height, 18) << "1.44 * log2(4096)";
}

TEST(Itree, RandomHistoriesEqualAListOfIntervals)
{
    for (unsigned seed = 1, seeds = usual_or_full(60, 300); seed <= seeds; seed++) {
        std::mt19937 random(seed);
        itree_t tree;
        itree_init(&tree);
        std::vector<std::unique_ptr<itree_node_t>> model;
        const uintptr_t span = 1 + random() % 400;
        for (int step = 0; step < 300; step++) {
            if (model.empty() || random() % 5 < 3) {
                model.push_back(std::make_unique<itree_node_t>());
                uintptr_t start = random() % span;
                itree_insert(&tree, model.back().get(), start, start + 1 + random() % (random() % 8 == 0 ? span : 10));
            } else {
                size_t victim = random() % model.size();
                itree_remove(&tree, model[victim].get());
                model.erase(model.begin() + static_cast<long>(victim));
            }
            ASSERT_TRUE(itree_valid(&tree)) << "seed " << seed << " step " << step;
            uintptr_t start = random() % (span + 10), end = start + 1 + random() % 40;
            Nodes expected;
            for (const auto &node : model)
                if (node->start < end && node->end > start)
                    expected.push_back(node.get());
            Nodes found = overlaps(tree, start, end);
            ASSERT_TRUE(
                std::is_sorted(found.begin(), found.end(), [](auto *a, auto *b) { return a->start < b->start; }));
            std::sort(expected.begin(), expected.end());
            std::sort(found.begin(), found.end());
            ASSERT_EQ(found, expected) << "seed " << seed << " step " << step;
        }
    }
}

} // namespace
