// SPDX-License-Identifier: Apache-2.0
// test_requests.cc - the k-th request of the connections fails, for k = 1 to 1000: every message arrives once and in order,
// mixed operations keep what they promise, and nothing of the device is left behind. By default all small k and some of the
// others, drawn by a seed; all of them with VERBENA_TEST_FULL=1. VBN_TEST_SEED=k runs one.
#include "../multi/calls.h"
#include "traffic.h"
#include <infiniband/verbs.h>

using verbs::counted;
using verbs::in_fabric;
using verbs::promote_early;
using verbs::promoted;
using verbs::Traffic;

namespace {

constexpr unsigned LAST = 1000;

/* A variable of the environment, taken out of it: contexts refuse VBN_ names that are no settings. */
unsigned take(const char *name)
{
    const char *text = std::getenv(name);
    unsigned value = text == nullptr ? 0 : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
    unsetenv(name);
    return value;
}

/* All k up to `all`, and `drawn` ones beyond; or what the environment asks for. */
std::vector<unsigned> numbers(unsigned all, unsigned drawn)
{
    static const unsigned one = take("VBN_TEST_SEED"), full = take("VERBENA_TEST_FULL");
    std::vector<unsigned> result;
    if (one != 0)
        return {one};
    all = full != 0 ? LAST : all;
    for (unsigned k = 1; k <= all; k++)
        result.push_back(k);
    std::mt19937 random(5);
    for (unsigned i = 0; all < LAST && i < drawn; i++)
        result.push_back(all + 1 + static_cast<unsigned>(random()) % (LAST - all));
    return result;
}

unsigned status_of(unsigned k)
{
    static const unsigned STATUS[] = {IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_REM_OP_ERR,
                                      IBV_WC_LOC_QP_OP_ERR, IBV_WC_GENERAL_ERR};
    return STATUS[k % 5];
}

std::string tail(const std::string &log)
{
    return log.size() < 2000 ? log : log.substr(log.size() - 2000);
}

/* Messages until the k-th request from now has failed and the peers have a connection again. */
void fail_at(multi::Pair &pair, Traffic &traffic, unsigned k)
{
    const char *opened = counted(pair.a, "link.lanes_added") > 0 ? "link.lanes_added" : "link.resumes";
    uint64_t before = counted(pair.a, opened);
    fabric_script.fail_status = status_of(k);
    fabric_script.fail_request_at = k;
    while (fabric_script.fail_request_at > 0)
        traffic.burst(k < 30 ? k : 30);
    auto end = multi::Clock::now() + std::chrono::seconds(60);
    while (counted(pair.a, opened) == before) { /* a peer is promoted again when messages have earned it */
        if (multi::Clock::now() > end)
            std::fprintf(stderr, "%u is not over\n%s\n%s", k, tail(pair.a.log).c_str(), tail(pair.b.log).c_str());
        MUST(multi::Clock::now() < end);
        traffic.burst(10);
        for (unsigned i = 0; i < 100; i++)
            pair.turn();
    }
}

class VerbsRequests : public ::testing::TestWithParam<const char *> {};

TEST_P(VerbsRequests, that_fail_cost_no_message_and_leave_nothing_behind)
{
    std::vector<unsigned> all = numbers(40, 20);
    in_fabric(
        1,
        [&] {
            promote_early();
            multi::Pair pair(GetParam());
            Traffic traffic(pair);
            traffic.burst(20);
            if (std::strcmp(GetParam(), "rc") != 0)
                promoted(pair, traffic);
            fail_at(pair, traffic, 1);
            fabric_counts_t before = fabric_counts;
            for (unsigned k : all)
                fail_at(pair, traffic, k);
            std::fprintf(stderr, "%zu requests failed, %llu messages arrived\n", all.size(),
                         static_cast<unsigned long long>(traffic.sent));
            MUST(pair.until([&] { return fabric_counts.qps <= before.qps; })); /* drained ones go a little later */
            MUST(fabric_counts.ahs <= before.ahs + 2 && fabric_counts.cqs == before.cqs &&
                 fabric_counts.mrs <= before.mrs + 8);
            MUST(fabric_counts.hasty == 0);
            pair.close();
        },
        900);
}

TEST_P(VerbsRequests, that_fail_among_mixed_operations_change_no_result)
{
    for (unsigned k : numbers(10, 10)) {
        SCOPED_TRACE("VBN_TEST_SEED=" + std::to_string(k) + " repeats it");
        in_fabric(1, [&] {
            promote_early();
            multi::World world(GetParam(), k);
            fabric_script.fail_status = status_of(k);
            fabric_script.fail_request_at = k;
            auto end = multi::Clock::now() +
                       std::chrono::seconds(60); /* connections are earned and made as time permits */
            while (fabric_script.fail_request_at > 0) {
                MUST(multi::Clock::now() < end);
                world.run(40);
            }
            world.run(20);
            world.close();
        });
    }
}

INSTANTIATE_TEST_SUITE_P(Over, VerbsRequests, ::testing::Values("rc", "rc,ud"),
                         [](const auto &each) { return multi::way_name(each.param); });

} // namespace
