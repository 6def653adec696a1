/* SPDX-License-Identifier: Apache-2.0
 * pair.h - two interfaces of shared memory in one process, joined by a connection. */
#ifndef VBN_TESTS_TL_SHM_PAIR_H
#define VBN_TESTS_TL_SHM_PAIR_H

#include <gtest/gtest.h>

#include <random>

#include "side.h"

namespace pair_test {

class ShmPair : public ::testing::Test {
protected:
    void open(const char *settings_a = nullptr, const char *settings_b = nullptr)
    {
        a.reset(side_open("shm", settings_a, 1));
        b.reset(side_open("shm", settings_b != nullptr ? settings_b : settings_a, 2));
        ASSERT_TRUE(a && b) << vbn_error_text();
    }

    lane_t *dial(bool trust = true)
    {
        uint8_t address[256];
        size_t length = side_address(b.get(), address);
        return lane_connect(a.get(), address, length, trust);
    }

    void connect()
    {
        near = dial();
        ASSERT_NE(near, nullptr) << vbn_error_text();
        ASSERT_TRUE(drive_until(a.get(), b.get(), &near->readies, 1));
        far = side_lane(b.get(), 0);
        ASSERT_NE(far, nullptr);
        ASSERT_TRUE(drive_until(a.get(), b.get(), &far->readies, 1));
    }

    // Connects, and both rings have all of their memory.
    void connect_grown()
    {
        connect();
        ASSERT_TRUE(lane_grow(near, a.get(), b.get()));
        ASSERT_TRUE(lane_grow(far, a.get(), b.get()));
        expect_all_right(near, far);
        expect_all_right(far, near);
    }

    // Drives the pair while the ring is full.
    void send_one(lane_t *from, uint32_t bytes, uint32_t parts)
    {
        vbn_status_t status;
        while ((status = lane_send(from, bytes, parts)) == VBN_BUSY) {
            unsigned before = from->tx_readies;
            ASSERT_TRUE(drive_until(a.get(), b.get(), &from->tx_readies, before + 1));
        }
        ASSERT_EQ(status, VBN_OK) << vbn_error_text();
    }

    // The same with packets of all sizes.
    void send_all(lane_t *from, uint32_t packets, uint32_t payload_max, unsigned seed)
    {
        std::mt19937 random(seed);
        for (uint32_t i = 0; i < packets; i++) {
            uint32_t bytes = i % 2 == 0 ? random() % 120 : random() % (payload_max + 1);
            ASSERT_NO_FATAL_FAILURE(send_one(from, bytes, 1 + random() % 3)) << i;
        }
    }

    void expect_all_right(const lane_t *from, const lane_t *to)
    {
        ASSERT_TRUE(drive_rx(a.get(), b.get(), to, from->next_tx));
        drive(a.get(), b.get(), 10);
        EXPECT_EQ(to->next_rx, from->next_tx);
        EXPECT_EQ(to->wrong, 0u);
    }

    Side a;
    Side b;
    lane_t *near = nullptr;
    lane_t *far = nullptr;
};

} // namespace pair_test

#endif
