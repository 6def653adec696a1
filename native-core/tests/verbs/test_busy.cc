// SPDX-License-Identifier: Apache-2.0
// test_busy.cc - over RDMA devices a worker whose program computes, and so does not call the core, is not taken for dead:
// its device acknowledges for rc, a thread of its process answers for ud. Little is sent to it meanwhile.
#include "traffic.h"

using namespace verbs;

namespace {

constexpr auto COMPUTES = std::chrono::milliseconds(5000); /* link.peer_timeout is a second */

/* Each way in a child of its own, all at the same time: they mostly wait. */
void each_way(const std::function<void(const char *)> &body)
{
    static const char *const ways[] = {"rc", "ud", "rc,ud"};
    auto codes = multi::launch(3, [&](int rank, multi::Shared &) {
        fabric_install(1);
        body(ways[rank]);
        nothing_lives();
        fabric_remove();
    });
    for (int rank = 0; rank < 3; rank++)
        EXPECT_EQ(codes[static_cast<size_t>(rank)], 0) << ways[rank];
}

void short_times()
{
    setenv("VBN_LINK_PEER_TIMEOUT", "1s", 1);
    setenv("VBN_LINK_KEEPALIVE", "200ms", 1);
    setenv("VBN_LINK_PROMOTE_AFTER", "8", 1);
}

bool promotes(const char *way)
{
    return std::strcmp(way, "rc,ud") == 0;
}

/* b computes. */
void alone(multi::Pair &pair, std::chrono::milliseconds time)
{
    for (auto end = multi::Clock::now() + time; multi::Clock::now() < end;) {
        (void)vbn_progress(pair.a.worker);
        usleep(1000);
    }
}

void nothing_lost(const multi::Half &half)
{
    MUST(half.lost == VBN_OK);
    for (const char *none : {"peers.lost", "link.lanes_lost", "link.resumes"})
        MUST(counted(half, none) == 0);
}

/* 80 messages, so that a peer that may be promoted is. */
void earn_lanes(multi::Pair &pair, Traffic &traffic, const char *way)
{
    traffic.burst(40);
    MUST(!promotes(way) || pair.until([&] { return counted(pair.a, "link.lanes_added") == 1; }));
    traffic.burst(40);
}

TEST(VerbsBusy, a_program_that_computes_loses_nothing_and_is_left_in_peace)
{
    each_way([](const char *way) {
        short_times();
        multi::Pair pair(way);
        Traffic traffic(pair);
        earn_lanes(pair, traffic, way);
        for (unsigned i = 0; i < 200; i++)
            traffic.send();
        alone(pair, std::chrono::milliseconds(1500));
        uint64_t again = counted(pair.a, "link.retransmits"), acks = counted(pair.a, "link.acks_sent");
        alone(pair, COMPUTES);
        MUST(counted(pair.a, "link.retransmits") - again <= 4);
        MUST(counted(pair.a, "link.acks_sent") - acks <= 30); /* one per link.keepalive, and what was on its way */
        MUST(traffic.arrived == 80);
        traffic.all_arrive();
        nothing_lost(pair.a);
        nothing_lost(pair.b);
        traffic.burst(20);
        pair.close();
    });
}

/* What a connection has in flight fits into the peer's receives, and nothing goes by datagrams while it stands: neither its
 * device nor the link sends anything twice. */
TEST(VerbsBusy, a_burst_to_a_program_that_computes_is_sent_once)
{
    each_way([](const char *way) {
        short_times();
        multi::Pair pair(way);
        Traffic traffic(pair);
        earn_lanes(pair, traffic, way);
        bool connected = std::strcmp(way, "ud") != 0;
        uint64_t again = counted(pair.a, "link.retransmits"),
                 datagrams = connected ? counted(pair.a, "ud.tx.packets") : 0;
        for (unsigned i = 0; i < 600; i++)
            traffic.send();
        alone(pair, std::chrono::milliseconds(2500));
        MUST(fabric_counts.rnr_naks == 0);
        MUST(!connected || counted(pair.a, "link.retransmits") == again);
        MUST(!connected || counted(pair.a, "ud.tx.packets") - datagrams <= 10); /* questions */
        traffic.all_arrive();
        MUST(!connected || counted(pair.a, "link.retransmits") == again);
        nothing_lost(pair.a);
        nothing_lost(pair.b);
        pair.close();
    });
}

TEST(VerbsBusy, an_idle_program_that_computes_is_not_lost)
{
    each_way([](const char *way) {
        short_times();
        multi::Pair pair(way);
        Traffic traffic(pair);
        traffic.burst(40);
        MUST(!promotes(way) || pair.until([&] { return counted(pair.a, "link.lanes_added") == 1; }));
        uint64_t asked = fabric_counts.asked;
        alone(pair, COMPUTES);
        MUST(std::strcmp(way, "ud") == 0 || fabric_counts.asked > asked); /* of its device */
        nothing_lost(pair.a);
        traffic.burst(20);
        nothing_lost(pair.a);
        nothing_lost(pair.b);
        pair.close();
    });
}

TEST(VerbsBusy, a_peer_that_vanishes_while_it_computes_is_noticed)
{
    each_way([](const char *way) {
        short_times();
        multi::Pair pair(way);
        Traffic traffic(pair);
        traffic.burst(40);
        alone(pair, std::chrono::milliseconds(2000));
        nothing_lost(pair.a);
        fabric_forget_connections();
        fabric_script.drop_ppm = 1000000;
        auto end = multi::Clock::now() + std::chrono::seconds(20);
        while (pair.a.lost == VBN_OK && multi::Clock::now() < end)
            alone(pair, std::chrono::milliseconds(10));
        MUST(pair.a.lost == VBN_ERR_PEER_LOST);
        fabric_script.drop_ppm = 0;
        pair.close();
    });
}

/* The process lives, its worker does not, and its last word was lost: nobody answers for an endpoint that is gone. */
TEST(VerbsBusy, a_worker_that_is_gone_has_nobody_who_answers_for_it)
{
    in_fabric(1, [] {
        short_times();
        multi::Pair pair("ud");
        Traffic traffic(pair);
        traffic.burst(40);
        fabric_script.drop_ppm = 1000000;
        vbn_worker_destroy(pair.b.worker);
        MUST(vbn_worker_create(pair.b.context, &pair.b.worker) == VBN_OK);
        fabric_script.drop_ppm = 0;
        auto end = multi::Clock::now() + std::chrono::seconds(20);
        while (pair.a.lost == VBN_OK && multi::Clock::now() < end)
            pair.turn();
        MUST(pair.a.lost == VBN_ERR_PEER_LOST && says(pair.a.text, "link.peer_timeout"));
        pair.close();
    });
}

} // namespace
