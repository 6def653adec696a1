// SPDX-License-Identifier: Apache-2.0
// test_turns.cc - one vbn_progress takes a bounded number of messages of a peer that sends, and makes room, all the time.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "pair.h"

namespace {

using namespace multi;

constexpr unsigned REQUEST = 2, ANSWER = 3;
constexpr unsigned REQUESTS = 4000, ANSWERS = 8; /* of each request: more than the ring of the asking side takes */
constexpr unsigned OFTEN = 16;                   /* after so many requests the asking side takes answers */
constexpr unsigned RING = 64;                    /* slots: tl.shm.ring_slots */

/* a asks from within b's handler, so that b's ring is never empty; b's answers wait for room again and again. */
struct Busy {
    Pair pair{"shm"};
    std::deque<vbn_op_t> ops;
    unsigned sent = 0, taken = 0, answered = 0, most = 0;

    Busy()
    {
        MUST(pair.a.connect(pair.b) == VBN_OK);
        MUST(vbn_am_handler(pair.b.worker, REQUEST, on_request, this) == VBN_OK);
        MUST(vbn_am_handler(pair.a.worker, ANSWER, on_answer, this) == VBN_OK);
        for (int i = 0; i < 100; i++) /* the ring has its full size, and what follows goes the fast way */
            MUST(pair.send(8) == VBN_OK);
    }
    void send(vbn_peer_t *to, unsigned id)
    {
        static uint64_t word = 7; /* read until the operation ends, as is the iovec */
        static iovec iov{&word, sizeof(word)};
        ops.push_back({});
        MUST(vbn_am_send(to, id, nullptr, 0, &iov, 1, 0, &ops.back()) >= 0);
    }
    void ask()
    {
        if (sent < REQUESTS) {
            sent++;
            send(pair.a.peer, REQUEST);
        }
    }
    static void on_request(void *arg, const vbn_am_message_t *message)
    {
        auto *self = static_cast<Busy *>(arg);
        self->taken++;
        for (unsigned i = 0; i < ANSWERS; i++)
            self->send(message->peer, ANSWER);
        self->ask();
        if (self->taken % OFTEN == 0)
            (void)vbn_progress(self->pair.a.worker);
    }
    static void on_answer(void *arg, const vbn_am_message_t *) { static_cast<Busy *>(arg)->answered++; }
    void turn()
    {
        unsigned before = taken;
        (void)vbn_progress(pair.b.worker);
        most = std::max(most, taken - before);
        (void)vbn_progress(pair.a.worker);
    }
};

TEST(Turns, a_peer_that_sends_and_makes_room_does_not_keep_the_turn)
{
    std::vector<int> codes = launch(
        1,
        [](int, Shared &) {
            Busy busy;
            for (unsigned i = 0; i < RING; i++)
                busy.ask();
            auto end = Clock::now() + std::chrono::seconds(60);
            while (busy.answered < REQUESTS * ANSWERS) {
                MUST(Clock::now() < end);
                busy.turn();
            }
            printf("at most %u requests of a turn\n", busy.most);
            MUST(busy.most >= 1 && busy.most <= RING);
            busy.pair.close();
        },
        120);
    EXPECT_EQ(codes[0], 0);
}

} // namespace
