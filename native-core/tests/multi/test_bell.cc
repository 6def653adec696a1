// SPDX-License-Identifier: Apache-2.0
// test_bell.cc - many workers of several processes send one message now and then to one worker, which polls at times and
// sleeps at times: most of its rings are cold when a message comes, and none may be missed.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>

#include "launch.h"

namespace {

using multi::Clock;
using multi::launch;
using multi::Node;
using multi::Shared;

constexpr int kProcesses = 4, kWorkers = 6, kMessages = 60;
constexpr auto kMissed = std::chrono::seconds(30); /* an answer takes microseconds, and milliseconds under load */

/* A worker that asks, waits for the answer, pauses, and asks again. */
struct Asker {
    vbn_worker_t *worker = nullptr;
    vbn_peer_t *peer = nullptr;
    uint64_t data = 0;
    iovec iov{&data, sizeof(data)};
    vbn_op_t op{};
    int asked = 0, answered = 0, lost = 0;
    Clock::time_point next = Clock::now(), since;

    Asker(Node &node, Shared &shared)
    {
        MUST(vbn_worker_create(node.context, &worker) == VBN_OK);
        MUST(vbn_am_handler(worker, 2, on_answer, this) == VBN_OK);
        MUST(vbn_connect(worker, shared.blob[0], shared.length[0], Node::on_lost, &lost, &peer) == VBN_OK);
    }
    static void on_answer(void *arg, const vbn_am_message_t *message)
    {
        auto *asker = static_cast<Asker *>(arg);
        MUST(message->length == 8 && memcmp(message->data, &asker->data, 8) == 0);
        asker->answered++;
    }
    void turn(std::mt19937 &random)
    {
        (void)vbn_progress(worker);
        MUST(lost == 0);
        if (answered < asked) {
            MUST(Clock::now() - since < kMissed);
            return;
        }
        if (asked == kMessages || Clock::now() < next)
            return;
        data = data + 1;
        since = Clock::now();
        next = since + std::chrono::microseconds(random() % 6000);
        asked++;
        MUST(vbn_am_send(peer, 1, nullptr, 0, &iov, 1, 0, &op) >= 0);
    }
};

void ask(int rank, Shared &shared)
{
    Node node(shared, rank, kProcesses, "shm");
    std::mt19937 random(static_cast<unsigned>(rank));
    std::vector<std::unique_ptr<Asker>> askers;
    for (int i = 0; i < kWorkers; i++)
        askers.push_back(std::make_unique<Asker>(node, shared));
    for (bool done = false; !done; usleep(50)) {
        done = true;
        for (auto &asker : askers) {
            asker->turn(random);
            done = done && asker->answered == kMessages;
        }
    }
    shared.stage[rank] = 1;
    for (auto &asker : askers)
        vbn_worker_destroy(asker->worker);
    node.close();
}

struct Answer {
    uint64_t data = 0;
    iovec iov{&data, sizeof(data)};
    vbn_op_t op{};
};

void answer_one(void *arg, const vbn_am_message_t *message)
{
    auto *answers = static_cast<std::deque<Answer> *>(arg);
    MUST(message->length == 8);
    answers->emplace_back();
    Answer &answer = answers->back();
    memcpy(&answer.data, message->data, 8);
    answer.iov.iov_base = &answer.data;
    (void)vbn_am_send(message->peer, 2, nullptr, 0, &answer.iov, 1, 0, &answer.op);
}

void answer(Shared &shared)
{
    std::deque<Answer> answers; /* operations stay where they are until the end */
    Node node(shared, 0, kProcesses, "shm");
    MUST(vbn_am_handler(node.worker, 1, answer_one, &answers) == VBN_OK);
    auto end = Clock::now() + std::chrono::seconds(80);
    for (int others = 0; others < kProcesses - 1;) {
        MUST(Clock::now() < end);
        for (auto phase = Clock::now() + std::chrono::milliseconds(10); Clock::now() < phase;)
            (void)vbn_progress(node.worker);
        for (auto phase = Clock::now() + std::chrono::milliseconds(10); Clock::now() < phase;)
            node.step(5);
        others = 0;
        for (int i = 1; i < kProcesses; i++)
            others += shared.stage[i] == 1;
    }
    MUST(answers.size() == static_cast<size_t>((kProcesses - 1) * kWorkers * kMessages));
    node.close();
}

TEST(Bell, messages_of_peers_that_are_seldom_heard_of_are_never_missed)
{
    auto codes = launch(kProcesses, [](int rank, Shared &shared) { rank == 0 ? answer(shared) : ask(rank, shared); });
    for (int code : codes)
        EXPECT_EQ(code, 0);
}

} // namespace
