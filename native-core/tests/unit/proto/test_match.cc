// SPDX-License-Identifier: Apache-2.0
// test_match.cc - the matching tables against a model that just walks lists, and their growth.
#include <gtest/gtest.h>

#include <cstdlib>
#include <list>
#include <random>

#include "full.h"
#include "match.h"

namespace {

struct Receive {
    unsigned id;
    uint64_t source, tag, mask;
    bool takes(uint64_t from, uint64_t with) const
    {
        return (source == 0 || source == from) && ((with ^ tag) & mask) == 0;
    }
};

struct Message {
    unsigned id;
    uint64_t source, tag;
};

/* One seed: messages arrive, receives are posted, cancelled, messages probed and taken, in random order. */
class Trial {
public:
    explicit Trial(unsigned seed) : random(seed), match(match_new(STEPS)) {}
    ~Trial() { match_free(match); }
    void run()
    {
        for (unsigned step = 0; step < STEPS && !::testing::Test::HasFailure(); step++) {
            switch (random() % 8) {
            case 0:
            case 1:
            case 2: arrives({step, pick_source(), pick_tag()}); break;
            case 3:
            case 4:
            case 5: receives({step, random() % 3 == 0 ? 0 : pick_source(), pick_tag(), pick_mask()}); break;
            case 6: cancels(); break;
            default: probes({step, random() % 3 == 0 ? 0 : pick_source(), pick_tag(), pick_mask()}); break;
            }
        }
    }

private:
    static constexpr unsigned STEPS = 200;
    std::mt19937 random;
    match_t *match;
    std::list<Receive> posted;
    std::list<Message> kept;
    uint64_t pick_source() { return 1 + random() % 4; }
    uint64_t pick_tag() { return static_cast<uint64_t>(random() % 2) << 60 | random() % 4; }
    uint64_t pick_mask()
    {
        const uint64_t masks[] = {UINT64_MAX, UINT64_MAX, UINT64_MAX << 32, 0, 1, UINT64_C(1) << 60 | 2};
        return masks[random() % 6];
    }
    int first_kept(const Receive &r)
    {
        for (auto &m : kept)
            if (r.takes(m.source, m.tag))
                return static_cast<int>(m.id);
        return -1;
    }
    void forget(int id)
    {
        match_unkeep(match, static_cast<unsigned>(id));
        kept.remove_if([&](const Message &m) { return static_cast<int>(m.id) == id; });
    }
    void arrives(const Message &m)
    {
        int expected = -1;
        for (auto &r : posted)
            if (expected < 0 && r.takes(m.source, m.tag))
                expected = static_cast<int>(r.id);
        ASSERT_EQ(match_find_posted(match, m.source, m.tag), expected);
        if (expected < 0) {
            kept.push_back(m);
            match_keep(match, m.id, m.source, m.tag);
            return;
        }
        match_unpost(match, static_cast<unsigned>(expected));
        posted.remove_if([&](const Receive &r) { return static_cast<int>(r.id) == expected; });
    }
    void receives(const Receive &r)
    {
        int expected = first_kept(r);
        ASSERT_EQ(match_find_message(match, r.source, r.tag, r.mask), expected);
        if (expected >= 0) {
            forget(expected);
            return;
        }
        posted.push_back(r);
        match_post(match, r.id, r.source, r.tag, r.mask);
    }
    void cancels()
    {
        if (posted.empty())
            return;
        auto at = std::next(posted.begin(), static_cast<long>(random() % posted.size()));
        match_unpost(match, at->id);
        posted.erase(at);
    }
    void probes(const Receive &r)
    {
        int expected = first_kept(r);
        ASSERT_EQ(match_find_message(match, r.source, r.tag, r.mask), expected);
        if (expected >= 0 && random() % 2 == 0)
            forget(expected);
    }
};

/* VBN_TEST_SEED=n runs one seed. */
TEST(TagMatch, agrees_with_a_simple_model_for_many_seeds)
{
    const char *only = std::getenv("VBN_TEST_SEED");
    unsigned first = only != nullptr ? static_cast<unsigned>(std::atoi(only)) : 0;
    for (unsigned seed = first; seed < (only != nullptr ? first + 1 : usual_or_full(500, 2000)); seed++) {
        Trial(seed).run();
        ASSERT_FALSE(HasFailure()) << "seed " << seed << "; VBN_TEST_SEED=" << seed << " repeats it";
    }
}

/* The cost of an exact match is the length of a chain. */
TEST(TagMatch, chains_stay_short_with_ten_thousand_sources_and_tags)
{
    constexpr unsigned COUNT = 100000;
    match_t *match = match_new(COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        match_post(match, i, 1 + i % 10000, i / 10000, UINT64_MAX);
        match_keep(match, i, 1 + i % 10000, (UINT64_C(1) << 40) + i / 10000);
    }
    for (unsigned i = 0; i < COUNT; i += 997) {
        EXPECT_EQ(match_find_posted(match, 1 + i % 10000, i / 10000), static_cast<int>(i));
        EXPECT_EQ(match_find_message(match, 1 + i % 10000, (UINT64_C(1) << 40) + i / 10000, UINT64_MAX),
                  static_cast<int>(i));
    }
    EXPECT_LE(match_longest_chain(match), 16u);
    match_free(match);
}

/* As MPI_ANY_SOURCE with MPI_ANY_TAG in a communicator (the upper half) whose messages came after those of others. */
TEST(TagMatch, a_receive_from_any_source_with_a_mask_meets_only_messages_that_suit)
{
    constexpr unsigned OTHERS = 10000, OWN = 1000;
    constexpr uint64_t MASK = UINT64_MAX << 32;
    match_t *match = match_new(OTHERS + OWN);
    for (unsigned i = 0; i < OTHERS; i++)
        match_keep(match, i, 1 + i % 7, static_cast<uint64_t>(100 + i % 50) << 32 | i);
    for (unsigned i = OTHERS; i < OTHERS + OWN; i++)
        match_keep(match, i, 1 + i % 7, UINT64_C(7) << 32 | i);
    for (unsigned i = OTHERS; i < OTHERS + OWN; i++) {
        ASSERT_EQ(match_find_message(match, 0, UINT64_C(7) << 32, MASK), static_cast<int>(i)) << "the earliest";
        match_unkeep(match, i);
    }
    uint64_t most = 6 * (OTHERS + OWN) + 4 * OWN; /* until the mask has its table; then what else its chain holds */
    EXPECT_LE(match_looked(match), most);
    match_free(match);
}

TEST(TagMatch, the_table_goes_to_the_mask_that_is_used)
{
    constexpr unsigned COUNT = 4000;
    match_t *match = match_new(COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        match_keep(match, i, 1, i);
    for (uint64_t mask : {UINT64_C(0xffff), UINT64_C(0xfffff), UINT64_C(0xffff)}) {
        for (unsigned round = 0; round < 10; round++)
            EXPECT_EQ(match_find_message(match, 0, COUNT - 1, mask), static_cast<int>(COUNT - 1));
        uint64_t before = match_looked(match);
        for (unsigned round = 0; round < 100; round++)
            EXPECT_EQ(match_find_message(match, 0, COUNT - 1, mask), static_cast<int>(COUNT - 1));
        EXPECT_LE(match_looked(match) - before, 100u * 16);
    }
    match_free(match);
}

} // namespace
