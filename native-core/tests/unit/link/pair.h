/* SPDX-License-Identifier: Apache-2.0
 * pair.h - two engines of the rig that talk to each other, and what is true of both when a test ends. */
#ifndef VBN_TEST_LINK_PAIR_H
#define VBN_TEST_LINK_PAIR_H
#include <gtest/gtest.h>
#include <poll.h>

#include "rig.h"

const rig_options_t kDefault = {7, 0, 0};
enum { HELLO = 8, CHALLENGE = 9, PROOF = 10, WELCOME = 11 };

struct Pair {
    rig_t *a, *b;
    explicit Pair(rig_options_t first = kDefault, rig_options_t second = kDefault)
        : a(rig_open(&first)), b(rig_open(&second))
    {
    }
    explicit Pair(const char *const *pairs) : a(rig_open_with(&kDefault, pairs)), b(rig_open_with(&kDefault, pairs)) {}
    Pair(const char *const *first, const char *const *second)
        : a(rig_open_with(&kDefault, first)), b(rig_open_with(&kDefault, second))
    {
    }
    ~Pair()
    {
        if (a != nullptr)
            rig_close(a);
        if (b != nullptr)
            rig_close(b);
    }
    Pair(const Pair &) = delete;
    Pair &operator=(const Pair &) = delete;
    /* Until nothing moves any more. */
    void settle()
    {
        for (int quiet = 0, turns = 0; quiet < 20 && turns < 2000000; turns++)
            quiet = rig_progress(a) + rig_progress(b) == 0 ? quiet + 1 : 0;
    }
    /* As settle(), and sleeps where only time is missing. */
    template <typename Condition> bool run_until(Condition condition)
    {
        for (int turns = 0; turns < 200000 && !condition(); turns++) {
            if (rig_progress(a) + rig_progress(b) > 0 || rig_arm(a) != VBN_OK || rig_arm(b) != VBN_OK)
                continue;
            struct pollfd fds[] = {{rig_fd(a), POLLIN, 0}, {rig_fd(b), POLLIN, 0}};
            if (poll(fds, 2, 20000) == 0)
                return false;
        }
        return condition();
    }
};

inline void expect_clean(rig_t *rig)
{
    EXPECT_EQ(rig_result(rig)->misordered, 0u);
    EXPECT_EQ(rig_result(rig)->pending, 0u);
    EXPECT_EQ(rig_result(rig)->twice, 0u);
}

#endif
