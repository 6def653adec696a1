// SPDX-License-Identifier: Apache-2.0
// test_changes.cc - ports whose address or P_Key changes while they are in use: peers go on, or end with that reason.
#include "traffic.h"
#include <infiniband/verbs.h>

using verbs::counted;
using verbs::in_fabric;
using verbs::says;
using verbs::Traffic;

namespace {

/* a on fab0 dials b on fab1. */
struct Two : multi::Pair {
    unsigned ports = 0; /* interfaces of a worker to its device */
    explicit Two(const char *transports, bool resume = true) : multi::Pair("self")
    {
        close();
        ports = unsigned{strstr(transports, "rc") != nullptr} + unsigned{strstr(transports, "ud") != nullptr};
        verbs::promote_early();
        if (!resume)
            setenv("VBN_LINK_RESUME_TIMEOUT", "0", 1);
        setenv("VBN_TL_VERBS_DEVICE", "fab0", 1);
        MUST(a.open(transports) == VBN_OK);
        setenv("VBN_TL_VERBS_DEVICE", "fab1", 1);
        MUST(b.open(transports) == VBN_OK);
    }
    static unsigned lines(const std::string &log, const char *text)
    {
        unsigned found = 0;
        for (size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1))
            found++;
        return found;
    }
    void change(unsigned device, ibv_event_type type)
    {
        fabric_event(device, type);
        multi::Half &half = device == 0 ? a : b;
        MUST(until([&] { return lines(half.log, "; its connections end") >= ports; })); /* each sees it by itself */
    }
};

class VerbsChanges : public ::testing::TestWithParam<const char *> {};

TEST_P(VerbsChanges, of_the_own_address_cost_no_message)
{
    for (bool infiniband : {false, true})
        in_fabric(2, [&] {
            fabric_script.infiniband = infiniband;
            Two pair(GetParam());
            Traffic traffic(pair);
            traffic.burst(30);
            for (unsigned i = 0; i < 10; i++)
                traffic.send();
            fabric_script.moved[0] = 1;
            pair.change(0, infiniband ? IBV_EVENT_LID_CHANGE : IBV_EVENT_GID_CHANGE);
            MUST(says(pair.a.log, infiniband
                                      ? "the LID of fab0:1 has changed from 1 to 17"
                                      : "the address of fab0:1 has changed from ::ffff:10.0.0.1 to ::ffff:10.0.1.1"));
            traffic.burst(30);
            MUST(counted(pair.a, "link.resumes") > 0);
            pair.close();
        });
}

TEST_P(VerbsChanges, of_the_partition_key_open_connections_again_and_events_without_a_change_do_not)
{
    in_fabric(2, [] {
        Two pair(GetParam());
        Traffic traffic(pair);
        traffic.burst(30);
        for (ibv_event_type type : {IBV_EVENT_PKEY_CHANGE, IBV_EVENT_GID_CHANGE, IBV_EVENT_PORT_ACTIVE})
            fabric_event(0, type);
        for (unsigned i = 0; i < 3000; i++)
            pair.turn();
        MUST(counted(pair.a, "link.resumes") == 0);
        fabric_script.pkey = 0x8001;
        pair.change(0, IBV_EVENT_PKEY_CHANGE);
        MUST(says(pair.a.log, "the P_Key of fab0:1 has changed from 0xffff to 0x8001"));
        traffic.burst(30);
        MUST(counted(pair.a, "link.resumes") > 0);
        pair.close();
    });
}

TEST_P(VerbsChanges, of_the_dialled_address_are_a_loss_that_says_so_or_lead_to_tcp)
{
    for (bool tcp : {false, true})
        in_fabric(2, [&] {
            std::string ways = std::string(GetParam()) + (tcp ? ",tcp" : "");
            setenv("VBN_LINK_PEER_TIMEOUT", "1s", 1);
            setenv("VBN_LINK_KEEPALIVE", "300ms", 1);
            Two pair(ways.c_str(), tcp);
            Traffic traffic(pair);
            traffic.burst(30);
            fabric_script.no_address[1] = true;
            pair.change(1, IBV_EVENT_GID_CHANGE);
            MUST(says(pair.b.log, "the address of fab1:1 has changed from ::ffff:10.0.0.2 to none"));
            if (tcp) {
                traffic.burst(30);
                MUST(counted(pair.a, "tcp.tx.packets") >= 30);
            } else {
                MUST(pair.until([&] { return pair.b.log.find(" lost: ") != std::string::npos; }));
                MUST(says(pair.b.log.substr(pair.b.log.find(" lost: ")), "the address of fab1:1 has changed"));
                MUST(pair.until([&] { return pair.a.lost == VBN_ERR_PEER_LOST; }));
            }
            pair.close();
        });
}

/* The first attempt goes to the address that is gone. Its time-out begins again, but not with another transport's time. */
TEST_P(VerbsChanges, leave_time_for_tcp_where_the_program_is_away_during_the_attempt_before)
{
    in_fabric(2, [&] {
        setenv("VBN_LINK_PEER_TIMEOUT", "1s", 1);
        setenv("VBN_LINK_KEEPALIVE", "300ms", 1);
        Two pair((std::string(GetParam()) + ",tcp").c_str(), true);
        Traffic traffic(pair);
        traffic.burst(30);
        fabric_script.no_address[1] = true;
        pair.change(1, IBV_EVENT_GID_CHANGE);
        for (unsigned i = 0; i < 30; i++)
            traffic.send();
        MUST(pair.until([&] { return pair.a.log.find("; reconnecting for at most") != std::string::npos; }));
        unsigned turns = 0;
        MUST(pair.until([&] { return ++turns > 20; }));
        usleep(300000); /* no progress: away */
        traffic.all_arrive();
        MUST(counted(pair.a, "tcp.tx.packets") >= 30);
        pair.close();
    });
}

INSTANTIATE_TEST_SUITE_P(Over, VerbsChanges, ::testing::Values("rc", "ud", "rc,ud"),
                         [](const auto &each) { return multi::way_name(each.param); });

} // namespace
