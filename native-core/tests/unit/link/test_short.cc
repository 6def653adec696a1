/* SPDX-License-Identifier: Apache-2.0
 * test_short.cc - short messages over shared memory, which go past the link's queue: order among others, credits, room,
 * statistics, fork. Two workers of one thread. */
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "vbn/vbn.h"

namespace {

using Settings = std::vector<std::pair<const char *, const char *>>;

constexpr int TURNS = 2000000; /* far more than anything here needs */

struct End {
    vbn_context_t *context = nullptr;
    vbn_worker_t *worker = nullptr;
    std::vector<std::vector<uint8_t>> received;
    int lost = 0;

    explicit End(const Settings &settings)
    {
        static const uint8_t key[VBN_JOB_KEY_BYTES] = {1};
        vbn_config_t *config;
        EXPECT_EQ(vbn_config_create(&config), VBN_OK);
        EXPECT_EQ(vbn_config_set(config, "tl.enable", "shm"), VBN_OK);
        for (const auto &[name, value] : settings)
            EXPECT_EQ(vbn_config_set(config, name, value), VBN_OK) << vbn_error_text();
        EXPECT_EQ(vbn_config_set_job_key(config, key), VBN_OK);
        EXPECT_EQ(vbn_open(config, &context), VBN_OK) << vbn_error_text();
        EXPECT_EQ(vbn_worker_create(context, &worker), VBN_OK) << vbn_error_text();
        EXPECT_EQ(vbn_am_handler(worker, 1, on_message, this), VBN_OK);
        vbn_config_destroy(config);
    }
    ~End()
    {
        vbn_worker_destroy(worker);
        EXPECT_EQ(vbn_close(context), VBN_OK) << vbn_error_text();
    }
    End(const End &) = delete;
    End &operator=(const End &) = delete;

    static void on_message(void *arg, const vbn_am_message_t *message)
    {
        const auto *data = static_cast<const uint8_t *>(message->data);
        static_cast<End *>(arg)->received.emplace_back(data, data + message->length);
    }
    static void on_lost(void *arg, vbn_peer_t *, vbn_status_t, const char *text)
    {
        static_cast<End *>(arg)->lost++;
        ADD_FAILURE() << text;
    }
    uint64_t counter(const char *name) const
    {
        vbn_counter_t all[256];
        size_t count = vbn_counters(context, all, 256);
        for (size_t i = 0; i < count && i < 256; i++)
            if (strcmp(all[i].name, name) == 0)
                return all[i].value;
        ADD_FAILURE() << "no counter " << name;
        return 0;
    }
};

struct Pair {
    End a, b;
    vbn_peer_t *peer = nullptr;
    std::deque<std::vector<uint8_t>> sent; /* must not move: operations refer to them */
    std::deque<iovec> iovs;
    std::deque<vbn_op_t> ops;

    explicit Pair(const Settings &settings) : a(settings), b(settings)
    {
        uint8_t blob[VBN_ADDRESS_MAX];
        size_t length = sizeof(blob);
        EXPECT_EQ(vbn_worker_address(b.worker, blob, &length), VBN_OK);
        EXPECT_EQ(vbn_connect(a.worker, blob, length, End::on_lost, &a, &peer), VBN_OK) << vbn_error_text();
        send(8);
        EXPECT_TRUE(all_arrive());
    }
    void send(size_t length)
    {
        std::vector<uint8_t> &data = sent.emplace_back(length);
        for (size_t i = 0; i < length; i++)
            data[i] = static_cast<uint8_t>(sent.size() * 31 + i);
        iovs.push_back({data.data(), length});
        ops.emplace_back();
        EXPECT_GE(vbn_am_send(peer, 1, nullptr, 0, &iovs.back(), 1, 0, &ops.back()), 0) << vbn_error_text();
    }
    bool all_arrive()
    {
        for (int i = 0; i < TURNS && (b.received.size() < sent.size() || !ops.back().complete) && a.lost == 0; i++) {
            (void)vbn_progress(a.worker);
            (void)vbn_progress(b.worker);
        }
        return b.received.size() == sent.size() && a.lost == 0;
    }
    void expect_all_right() const
    {
        ASSERT_EQ(b.received.size(), sent.size());
        for (size_t i = 0; i < sent.size(); i++)
            ASSERT_EQ(b.received[i], sent[i]) << "message " << i;
    }
};

TEST(LinkShort, short_messages_keep_their_order_among_longer_ones_however_full_the_ring_is)
{
    for (const char *slots : {"8", "64", "1024"}) {
        Pair pair(Settings{{"tl.shm.ring_slots", slots}});
        std::mt19937 random(7);
        for (int i = 0; i < 5000; i++) {
            static const size_t most[] = {9, 9, 9, 97, 130, 4000};
            pair.send(1 + random() % most[random() % 6]);
            for (unsigned turns = random() % 3; turns > 0 && random() % 8 == 0; turns--)
                (void)vbn_progress(random() % 2 == 0 ? pair.a.worker : pair.b.worker);
        }
        ASSERT_TRUE(pair.all_arrive()) << slots << " slots";
        pair.expect_all_right();
    }
}

TEST(LinkShort, short_messages_of_every_length_arrive_as_they_were)
{
    Pair pair(Settings{});
    for (size_t length = 1; length <= 200; length++) {
        pair.send(length);
        ASSERT_TRUE(pair.all_arrive());
    }
    pair.expect_all_right();
}

TEST(LinkShort, short_messages_wait_for_credits_where_the_ring_has_room_for_more)
{
    Pair pair(Settings{{"tl.shm.ring_slots", "1024"}, {"link.window", "8"}});
    uint64_t stalls = pair.a.counter("link.credit_stalls");
    for (int i = 0; i < 500; i++)
        pair.send(8); /* more than 8 in the ring would be a lie, which the receiver ends the connection for */
    EXPECT_GT(pair.a.counter("link.credit_stalls"), stalls);
    ASSERT_TRUE(pair.all_arrive());
    pair.expect_all_right();
    EXPECT_EQ(pair.b.counter("peers.lost"), 0u);
}

TEST(LinkShort, the_statistics_of_both_sides_agree_soon_after_the_last_message)
{
    Pair pair(Settings{});
    for (int i = 0; i < 1000; i++) {
        pair.send(i % 3 == 0 ? 300 : 8);
        if (i % 20 == 0) {
            ASSERT_TRUE(pair.all_arrive());
        }
    }
    ASSERT_TRUE(pair.all_arrive());
    for (const char *what : {"packets", "bytes"}) {
        std::string tx = std::string("shm.tx.") + what, rx = std::string("shm.rx.") + what;
        for (int i = 0; i < TURNS && pair.a.counter(tx.c_str()) != pair.b.counter(rx.c_str()); i++) {
            (void)vbn_progress(pair.a.worker);
            (void)vbn_progress(pair.b.worker);
        }
        EXPECT_EQ(pair.a.counter(tx.c_str()), pair.b.counter(rx.c_str()));
    }
    EXPECT_GT(pair.a.counter("shm.tx.packets"), 1000u);
}

TEST(LinkShort, a_child_after_fork_cannot_put_a_short_message_into_its_parents_ring)
{
    Pair pair(Settings{});
    for (int i = 0; i < 10; i++)
        pair.send(8);
    ASSERT_TRUE(pair.all_arrive());
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        uint64_t data = 0;
        iovec iov{&data, sizeof(data)};
        vbn_op_t op{};
        _exit(vbn_am_send(pair.peer, 1, nullptr, 0, &iov, 1, 0, &op) == VBN_ERR_FORKED ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    pair.send(8);
    ASSERT_TRUE(pair.all_arrive());
    pair.expect_all_right();
}

} // namespace
