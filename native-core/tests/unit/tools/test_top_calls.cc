// SPDX-License-Identifier: Apache-2.0
// test_top_calls.cc - a look of vbn-top at what it knows takes few system calls, and misses nothing for it.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "vbn/vbn.h"

extern "C" {
#include "top_harness.h"
}

namespace {

constexpr unsigned LOOKS_ALL = 10; /* as in pages.c */

struct Context {
    vbn_context_t *context = nullptr;
    Context()
    {
        vbn_config_t *config;
        uint8_t key[VBN_JOB_KEY_BYTES] = {1};
        EXPECT_EQ(VBN_OK, vbn_config_create(&config));
        EXPECT_EQ(VBN_OK, vbn_config_set_job_key(config, key));
        EXPECT_EQ(VBN_OK, vbn_open(config, &context)) << vbn_error_text();
        vbn_config_destroy(config);
    }
    ~Context() { EXPECT_EQ(VBN_OK, vbn_close(context)); }
};

} // namespace

TEST(TopCalls, a_known_process_is_not_searched_again_and_a_new_page_of_it_is_found)
{
    std::vector<int> many;
    for (int i = 0; i < 300; i++)
        many.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
    {
        Context one;
        look_t first = top_harness_look(getpid());
        EXPECT_EQ(1u, first.pages);
        EXPECT_GT(first.calls, 300u);
        for (unsigned i = 1; i < LOOKS_ALL; i++)
            EXPECT_LE(top_harness_look(getpid()).calls, 6u) << i;
        EXPECT_GT(top_harness_look(getpid()).calls, 300u) << "every tenth look reads all";
        Context two;
        EXPECT_EQ(2u, top_harness_look(getpid()).pages);
        EXPECT_EQ(2u, top_harness_look(getpid()).pages);
    }
    EXPECT_EQ(0u, top_harness_look(getpid()).pages);
    top_harness_end();
    for (int fd : many)
        close(fd);
}

TEST(TopCalls, a_process_that_has_ended_is_not_one_that_may_not_be_looked_at)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    ASSERT_EQ(child, waitpid(child, nullptr, 0));
    look_t look = top_harness_look(child);
    EXPECT_EQ(0u, look.denied);
    EXPECT_EQ(0, look.failed);
    top_harness_end();
}
