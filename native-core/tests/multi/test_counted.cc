// SPDX-License-Identifier: Apache-2.0
// test_counted.cc - whatever completes inside vbn_progress is counted by it. A program that polls until it returns 0, arms and
// sleeps would sleep over an operation that completed uncounted, for ever if its peer waits for it.
#include <gtest/gtest.h>

#include <vector>

#include "launch.h"

using multi::Node;
using multi::Shared;

namespace {

constexpr size_t SENDS = 400; /* more than credit, window and ring take */
constexpr size_t BYTES = 300; /* too long to be copied by the link while it waits */

struct Watched {
    unsigned completed = 0;
    void look(vbn_worker_t *worker)
    {
        unsigned before = completed;
        unsigned events = vbn_progress(worker);
        if (events == 0)
            MUST(completed == before);
    }
    static void on_done(vbn_op_t *op, vbn_status_t status, size_t)
    {
        MUST(status == VBN_OK);
        static_cast<Watched *>(op->user)->completed++;
    }
};

/* Both send tagged and active messages that have to wait, then take the other's. */
void flood(int rank, Shared &shared, const char *transport)
{
    Node node(shared, rank, 2, transport);
    node.connect_all(shared);
    Watched watched;
    unsigned expected = 0;
    size_t arrived = 0;
    auto on_message = [](void *arg, const vbn_am_message_t *) { ++*static_cast<size_t *>(arg); };
    MUST(vbn_am_handler(node.worker, 1, on_message, &arrived) == VBN_OK);
    node.barrier(shared, 1);
    std::vector<uint8_t> out(BYTES, 1), in(BYTES * SENDS);
    std::vector<vbn_op_t> sends(2 * SENDS), receives(SENDS);
    std::vector<iovec> to(SENDS); /* lists stay until completion */
    iovec from{out.data(), BYTES};
    vbn_peer_t *peer = node.peers[1 - rank];
    for (size_t i = 0; i < 2 * SENDS; i++) {
        sends[i].done = Watched::on_done;
        sends[i].user = &watched;
        vbn_status_t status = i % 2 == 0 ? vbn_tag_send(peer, 7, &from, 1, 0, &sends[i])
                                         : vbn_am_send(peer, 1, nullptr, 0, &from, 1, 0, &sends[i]);
        MUST(status >= 0);
        expected += status == VBN_INPROGRESS;
    }
    for (size_t i = 0; i < SENDS; i++) {
        to[i] = {in.data() + i * BYTES, BYTES};
        receives[i].done = Watched::on_done;
        receives[i].user = &watched;
        vbn_status_t status = vbn_tag_recv(node.worker, peer, 7, UINT64_MAX, &to[i], 1, nullptr, &receives[i]);
        MUST(status >= 0);
        expected += status == VBN_INPROGRESS;
    }
    auto end = multi::Clock::now() + std::chrono::seconds(120);
    while (watched.completed < expected || arrived < SENDS) {
        MUST(multi::Clock::now() < end);
        watched.look(node.worker);
    }
    node.barrier(shared, 2);
    node.close();
}

class Counted : public testing::TestWithParam<const char *> {};

} // namespace

TEST_P(Counted, nothing_completes_in_a_turn_that_counts_no_event)
{
    for (int code : multi::launch(2, [](int rank, Shared &shared) { flood(rank, shared, GetParam()); }))
        EXPECT_EQ(code, 0);
}

INSTANTIATE_TEST_SUITE_P(Over, Counted, testing::ValuesIn(multi::ways({"shm", "tcp"})),
                         [](const auto &each) { return multi::way_name(each.param); });
