// SPDX-License-Identifier: Apache-2.0
// The word of a window's lock: who may pass, who is told of a return, and threads that exclude each other.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

extern "C" {
#include "win/gate.h"
}

namespace {

constexpr int SHARED = 0, EXCLUSIVE = 1;

TEST(Gate, readers_share_and_a_writer_is_alone)
{
    win_gate_t gate = 0;
    EXPECT_EQ(win_gate_enter(&gate, SHARED, 0), WIN_PASS_GOT);
    EXPECT_EQ(win_gate_enter(&gate, SHARED, 0), WIN_PASS_GOT);
    EXPECT_EQ(win_gate_enter(&gate, EXCLUSIVE, 0), WIN_PASS_WAIT);
    EXPECT_EQ(win_gate_grant(&gate, EXCLUSIVE), 0);
    EXPECT_EQ(win_gate_leave(&gate, SHARED), 0);
    EXPECT_EQ(win_gate_enter(&gate, EXCLUSIVE, 0), WIN_PASS_WAIT);
    EXPECT_EQ(win_gate_leave(&gate, SHARED), 0);
    EXPECT_EQ(win_gate_enter(&gate, EXCLUSIVE, 0), WIN_PASS_GOT);
    EXPECT_EQ(win_gate_is_exclusive(&gate), 1);
    EXPECT_EQ(win_gate_enter(&gate, SHARED, 1), WIN_PASS_WAIT);
    EXPECT_EQ(win_gate_enter(&gate, EXCLUSIVE, 0), WIN_PASS_WAIT);
    EXPECT_EQ(win_gate_leave(&gate, EXCLUSIVE), 0);
    EXPECT_EQ(gate, 0u);
}

TEST(Gate, nobody_passes_the_queue_but_a_promised_reader_among_readers)
{
    win_gate_t gate = 0;
    EXPECT_EQ(win_gate_enter(&gate, SHARED, 0), WIN_PASS_GOT);
    win_gate_queue(&gate, 1);
    EXPECT_EQ(win_gate_enter(&gate, SHARED, 0), WIN_PASS_WAIT);
    EXPECT_EQ(win_gate_enter(&gate, SHARED, 1), WIN_PASS_GOT);
    EXPECT_EQ(win_gate_leave(&gate, SHARED), 0); /* one is left */
    EXPECT_EQ(win_gate_leave(&gate, SHARED), 1); /* the last one tells the target */
    EXPECT_EQ(win_gate_enter(&gate, SHARED, 1), WIN_PASS_WAIT);
    EXPECT_EQ(win_gate_enter(&gate, EXCLUSIVE, 0), WIN_PASS_WAIT);
    EXPECT_EQ(win_gate_grant(&gate, EXCLUSIVE), 1);
    EXPECT_EQ(win_gate_grant(&gate, SHARED), 0);
    EXPECT_EQ(win_gate_leave(&gate, EXCLUSIVE), 1);
    EXPECT_EQ(win_gate_grant(&gate, SHARED), 1);
    win_gate_queue(&gate, 0);
    EXPECT_EQ(win_gate_leave(&gate, SHARED), 0);
    EXPECT_EQ(gate, 0u);
}

TEST(Gate, an_exposed_memory_is_not_locked)
{
    win_gate_t gate = 0;
    win_gate_expose(&gate, 1);
    EXPECT_EQ(win_gate_enter(&gate, SHARED, 0), WIN_PASS_EXPOSED);
    EXPECT_EQ(win_gate_enter(&gate, EXCLUSIVE, 0), WIN_PASS_EXPOSED);
    win_gate_expose(&gate, 0);
    EXPECT_EQ(win_gate_enter(&gate, EXCLUSIVE, 0), WIN_PASS_GOT);
}

/* Writers read, add and write two numbers; readers see them equal. */
TEST(Gate, threads_exclude_each_other)
{
    constexpr int THREADS = 4, ROUNDS = 2000;
    win_gate_t gate = 0;
    long first = 0, second = 0;
    std::atomic<int> unequal{0};
    auto rounds = [&](int self) {
        for (int i = 0; i < ROUNDS; i++) {
            const int kind = (i + self) % 3 == 0 ? EXCLUSIVE : SHARED;
            while (win_gate_enter(&gate, kind, 0) != WIN_PASS_GOT)
                std::this_thread::yield();
            unequal += first != second;
            if (kind == EXCLUSIVE) {
                first++;
                second = first;
            }
            EXPECT_EQ(win_gate_leave(&gate, kind), 0);
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < THREADS; i++)
        threads.emplace_back(rounds, i);
    for (auto &thread : threads)
        thread.join();
    EXPECT_EQ(unequal, 0);
    EXPECT_EQ(first, second);
    EXPECT_EQ(gate, 0u);
}

} // namespace
