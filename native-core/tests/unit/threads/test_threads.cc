// SPDX-License-Identifier: Apache-2.0
// test_threads.cc - what the threads of one process share: a context, its workers' wake-ups, shared-memory peers. The
// suite core-tsan runs it under the race detector.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>

#include "vbn/vbn.h"

namespace {

constexpr int LIMIT_MS = 60000;

struct Context {
    vbn_config_t *config = nullptr;
    vbn_context_t *context = nullptr;

    explicit Context(const char *transports)
    {
        uint8_t key[VBN_JOB_KEY_BYTES] = {1};
        EXPECT_EQ(vbn_config_create(&config), VBN_OK) << vbn_error_text();
        EXPECT_EQ(vbn_config_set(config, "tl.enable", transports), VBN_OK) << vbn_error_text();
        EXPECT_EQ(vbn_config_set(config, "tl.tcp.interface", "lo"), VBN_OK) << vbn_error_text();
        EXPECT_EQ(vbn_config_set_job_key(config, key), VBN_OK);
        EXPECT_EQ(vbn_open(config, &context), VBN_OK) << vbn_error_text();
    }
    ~Context()
    {
        EXPECT_EQ(vbn_close(context), VBN_OK) << vbn_error_text();
        vbn_config_destroy(config);
    }
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;
};

/* Progresses, and sleeps when there is nothing to do, until the condition holds. False after a minute of silence. */
bool run_until(vbn_worker_t *worker, const std::function<bool()> &condition)
{
    while (!condition()) {
        if (vbn_progress(worker) > 0 || vbn_arm(worker) != VBN_OK)
            continue;
        pollfd waiting{vbn_event_fd(worker), POLLIN, 0};
        if (poll(&waiting, 1, LIMIT_MS) == 0)
            return false;
    }
    return true;
}

TEST(Threads, AWakeUpOfAnotherThreadIsNeverLost)
{
    constexpr unsigned ROUNDS = 1000;
    Context context("self");
    vbn_worker_t *worker = nullptr;
    std::atomic<unsigned> asked{0}, woken{0};
    std::atomic<bool> silent{false};
    ASSERT_EQ(vbn_worker_create(context.context, &worker), VBN_OK) << vbn_error_text();
    std::thread sleeper([&] {
        for (unsigned i = 1; i <= ROUNDS && !silent; i++) {
            silent = !run_until(worker, [&] { return asked.load() >= i; });
            woken = i;
        }
    });
    for (unsigned i = 1; i <= ROUNDS; i++) {
        asked = i;
        vbn_worker_wake(worker);
        while (woken < i && !silent)
            std::this_thread::yield();
    }
    sleeper.join();
    EXPECT_FALSE(silent);
    EXPECT_EQ(woken, ROUNDS);
    vbn_worker_destroy(worker);
}

/* One worker and what it has received. Its thread only, but for the address. */
struct Player {
    vbn_worker_t *worker = nullptr;
    uint8_t address[VBN_ADDRESS_MAX];
    size_t address_bytes = sizeof(address);
    unsigned pings = 0, answers = 0, others = 0;
    vbn_peer_t *sender = nullptr;
    std::vector<uint8_t> large;
    uint8_t key[VBN_KEY_MAX];
    size_t key_bytes = 0;
    bool bye = false;
    vbn_op_t answer{}, pull{};
    iovec room{}; /* the pull's */

    explicit Player(Context &context)
    {
        EXPECT_EQ(vbn_worker_create(context.context, &worker), VBN_OK) << vbn_error_text();
        EXPECT_EQ(vbn_worker_address(worker, address, &address_bytes), VBN_OK) << vbn_error_text();
        for (unsigned id = 1; id <= 4; id++)
            EXPECT_EQ(vbn_am_handler(worker, id, on[id - 1], this), VBN_OK);
    }

    static void on_ping(void *arg, const vbn_am_message_t *m)
    {
        auto *self = static_cast<Player *>(arg);
        self->pings++;
        self->sender = m->peer;
        EXPECT_GE(vbn_am_send(m->peer, 2, m->header, m->header_length, nullptr, 0, 0, &self->answer), 0);
    }
    static void on_answer(void *arg, const vbn_am_message_t *m)
    {
        auto *self = static_cast<Player *>(arg);
        unsigned number = 0;
        ASSERT_EQ(m->header_length, sizeof(number));
        memcpy(&number, m->header, sizeof(number));
        EXPECT_EQ(number, self->answers++);
    }
    static void on_large(void *arg, const vbn_am_message_t *m)
    {
        auto *self = static_cast<Player *>(arg);
        ASSERT_NE(m->remote, nullptr);
        self->large.resize(m->length);
        self->room = {self->large.data(), self->large.size()};
        self->pull.done = [](vbn_op_t *op, vbn_status_t status, size_t) {
            EXPECT_EQ(status, VBN_OK);
            op->user = op;
        };
        EXPECT_EQ(vbn_am_pull(m->remote, &self->room, 1, &self->pull), VBN_INPROGRESS);
    }
    static void on_key(void *arg, const vbn_am_message_t *m)
    {
        auto *self = static_cast<Player *>(arg);
        self->bye = m->length == 0;
        self->key_bytes = m->length;
        if (m->length > 0)
            memcpy(self->key, m->data, m->length);
    }
    static constexpr vbn_am_func_t on[] = {on_ping, on_answer, on_large, on_key};
};

void wait_for(Player &player, vbn_op_t &op, vbn_status_t status)
{
    ASSERT_GE(status, 0) << vbn_error_text();
    bool complete = status == VBN_OK || run_until(player.worker, [&] { return op.complete == 1; });
    ASSERT_TRUE(complete);
}

void send(Player &player, vbn_peer_t *peer, unsigned id, const void *header, size_t header_bytes, void *data,
          size_t bytes)
{
    vbn_op_t op{};
    iovec iov{data, bytes};
    wait_for(player, op, vbn_am_send(peer, id, header, header_bytes, &iov, 1, 0, &op));
}

/* Asks: messages one by one, then a large one, then reads the other's memory; goes on until the other has finished. */
void lead(Player &me, const Player &other, unsigned rounds, const std::atomic<bool> &finished)
{
    vbn_peer_t *peer = nullptr;
    ASSERT_EQ(vbn_connect(me.worker, other.address, other.address_bytes, nullptr, nullptr, &peer), VBN_OK);
    for (unsigned i = 0; i < rounds; i++) {
        send(me, peer, 1, &i, sizeof(i), nullptr, 0);
        ASSERT_TRUE(run_until(me.worker, [&] { return me.answers == i + 1; }));
    }
    std::vector<uint8_t> large(300000, 0x5A);
    send(me, peer, 3, nullptr, 0, large.data(), large.size());
    ASSERT_TRUE(run_until(me.worker, [&] { return me.key_bytes > 0; }));
    vbn_key_t *key = nullptr;
    ASSERT_EQ(vbn_key_import(peer, me.key, me.key_bytes, &key), VBN_OK) << vbn_error_text();
    std::vector<uint8_t> read(50000);
    vbn_op_t op{};
    iovec iov{read.data(), read.size()};
    wait_for(me, op, vbn_get(key, 1000, &iov, 1, &op));
    EXPECT_EQ(std::count(read.begin(), read.end(), 0xA5), 50000);
    vbn_key_release(key);
    send(me, peer, 4, nullptr, 0, nullptr, 0);
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(LIMIT_MS);
    while (!finished && std::chrono::steady_clock::now() < end)
        (void)vbn_progress(me.worker);
    EXPECT_TRUE(finished);
    vbn_disconnect(peer, VBN_CLOSE_NOW);
}

void follow(Player &me, Context &context, unsigned rounds)
{
    ASSERT_TRUE(run_until(me.worker, [&] { return me.pull.user != nullptr; }));
    EXPECT_EQ(me.pings, rounds);
    EXPECT_EQ(me.large.size(), 300000u);
    EXPECT_EQ(std::count(me.large.begin(), me.large.end(), 0x5A), 300000);
    vbn_mem_t *mem = nullptr;
    uint8_t key[VBN_KEY_MAX];
    size_t bytes = sizeof(key);
    ASSERT_EQ(vbn_mem_alloc(context.context, 65536, VBN_BACKING_MEMFD, nullptr, &mem), VBN_OK) << vbn_error_text();
    memset(vbn_mem_address(mem), 0xA5, 65536);
    ASSERT_EQ(vbn_key_export(mem, 0, 65536, VBN_ACCESS_READ, key, &bytes), VBN_OK) << vbn_error_text();
    send(me, me.sender, 4, nullptr, 0, key, bytes);
    ASSERT_TRUE(run_until(me.worker, [&] { return me.bye; }));
    EXPECT_EQ(vbn_mem_free(mem), VBN_OK);
}

class Workers : public ::testing::TestWithParam<const char *> {};

TEST_P(Workers, OfOneContextTalkToEachOtherInThreadsOfTheirOwn)
{
    constexpr unsigned ROUNDS = 500;
    Context context(GetParam());
    Player first(context), second(context);
    std::atomic<bool> finished{false};
    std::thread leader([&] { lead(first, second, ROUNDS, finished); });
    std::thread follower([&] {
        follow(second, context, ROUNDS);
        finished = true;
    });
    leader.join();
    follower.join();
    vbn_worker_destroy(first.worker);
    vbn_worker_destroy(second.worker);
}

INSTANTIATE_TEST_SUITE_P(Over, Workers, ::testing::Values("shm", "tcp"),
                         [](const auto &test) { return std::string(test.param); });

} // namespace
