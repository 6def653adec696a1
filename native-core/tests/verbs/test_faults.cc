// SPDX-License-Identifier: Apache-2.0
// test_faults.cc - everything that can go wrong with a device, by script: each message arrives once and in order, or its
// peer is lost with an error that says why; nothing of the device is left behind.
#include <sys/resource.h>

#include "traffic.h"
#include <infiniband/verbs.h>

using multi::Half;
using verbs::counted;
using verbs::in_fabric;
using verbs::promote_early;
using verbs::promoted;
using verbs::says;
using verbs::Traffic;

namespace {

TEST(VerbsFaults, connections_that_all_break_at_once_cost_nothing)
{
    in_fabric(1, [] {
        promote_early();
        multi::Pair pair("rc,ud");
        Traffic traffic(pair);
        promoted(pair, traffic);
        for (unsigned i = 0; i < 50; i++) {
            traffic.send();
            if (i % 10 == 5)
                fabric_break_all_connections(IBV_WC_WR_FLUSH_ERR);
        }
        traffic.all_arrive();
        MUST(fabric_counts.hasty == 0);
        pair.close();
    });
}

/* b dials when b and a have looked for news so often, in turn; the k-th datagram from then on is lost (0: none). */
void dial_each_other(unsigned looks, unsigned k)
{
    multi::Pair pair("rc");
    MUST(pair.a.connect(pair.b) == VBN_OK);
    for (unsigned i = 0; i < looks; i++)
        vbn_progress(i % 2 == 0 ? pair.b.worker : pair.a.worker);
    fabric_script.drop_at = k;
    MUST(pair.b.connect(pair.a) == VBN_OK);
    vbn_progress(pair.b.worker); /* it may refuse before a has heard of its dialling */
    MUST(pair.send(100) == VBN_OK);
    MUST(pair.a.lost == VBN_OK && pair.b.lost == VBN_OK);
    fabric_script.drop_at = 0;
    pair.close();
}

/* The side whose uid is smaller refuses the other's connection and closes it at once: the word of the end alone must not
 * cost the peer. Which side that is, is chance. */
TEST(VerbsFaults, workers_that_dial_each_other_meet_whichever_datagram_is_lost)
{
    in_fabric(1, [] {
        for (unsigned round = 0; round < 4; round++)
            for (unsigned looks = 0; looks < 6; looks++)
                for (unsigned k = 0; k <= 12; k++)
                    dial_each_other(looks, k);
    });
}

TEST(VerbsFaults, the_error_of_a_lost_peer_names_device_cause_and_page)
{
    in_fabric(1, [] {
        setenv("VBN_LINK_RESUME_TIMEOUT", "0", 1);
        multi::Pair pair("rc");
        Traffic traffic(pair);
        traffic.send();
        traffic.all_arrive();
        fabric_script.fail_status = IBV_WC_RETRY_EXC_ERR;
        fabric_script.fail_request_at = 1;
        traffic.send();
        MUST(pair.until([&] { return pair.a.lost != VBN_OK; }));
        MUST(pair.a.lost == VBN_ERR_PEER_LOST);
        MUST(says(pair.a.text, "fab0:1") && says(pair.a.text, "no answer within 7 tries"));
        MUST(says(pair.a.text, "docs/verbs.md") && says(pair.a.text, "at GID ::ffff:10.0.0.1"));
        MUST(says(pair.a.text, "has acknowledged ") && says(pair.a.text, "; peer "));
        pair.close();
    });
}

TEST(VerbsFaults, peers_go_on_over_tcp_when_the_device_is_removed)
{
    in_fabric(1, [] {
        promote_early();
        multi::Pair pair("rc,ud,tcp");
        Traffic traffic(pair);
        promoted(pair, traffic);
        for (unsigned i = 0; i < 10; i++)
            traffic.send();
        fabric_kill_device(0);
        for (unsigned i = 0; i < 30; i++)
            traffic.send();
        traffic.all_arrive();
        MUST(counted(pair.a, "tcp.tx.packets") >= 30);
        MUST(pair.until([&] { return pair.a.log.find("local catastrophic error") != std::string::npos; }));
        pair.close();
    });
}

/* Packets of tcp are larger than those of rc, so a peer that starts there could never leave it. */
TEST(VerbsFaults, without_datagrams_peers_start_on_connections_and_are_left_to_tcp_when_those_break)
{
    in_fabric(1, [] {
        promote_early();
        multi::Pair pair("rc,tcp");
        Traffic traffic(pair);
        traffic.burst(30);
        MUST(counted(pair.a, "rc.tx.packets") >= 30 && counted(pair.a, "tcp.tx.packets") == 0);
        fabric_kill_device(0);
        traffic.burst(30);
        MUST(counted(pair.a, "tcp.tx.packets") >= 30);
        pair.close();
    });
}

TEST(VerbsFaults, datagrams_flow_again_after_the_own_link_was_down)
{
    in_fabric(1, [] {
        multi::Pair pair("ud");
        Traffic traffic(pair);
        traffic.send();
        traffic.all_arrive();
        for (unsigned round = 0; round < 3; round++) {
            fabric_script.link_down = true;
            fabric_port_event(0, false);
            for (unsigned i = 0; i < 10; i++)
                traffic.send();
            for (unsigned i = 0; i < 3000; i++)
                pair.turn();
            MUST(traffic.arrived < traffic.sent);
            fabric_script.link_down = false;
            fabric_port_event(0, true);
            traffic.all_arrive();
        }
        MUST(says(pair.a.log, "datagrams flow again"));
        MUST(pair.until([&] { return pair.a.log.find("port error") != std::string::npos; }));
        pair.close();
    });
}

TEST(VerbsFaults, memory_that_cannot_be_registered_is_an_error_with_the_cure)
{
    for (unsigned at = 1; at <= 2; at++) {
        in_fabric(1, [&] {
            rlimit limit{1 << 16, 1 << 16};
            MUST(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
            fabric_script.fail_register_at = at;
            Half half;
            MUST(half.open("rc") == VBN_ERR_LIMIT);
            MUST(says(vbn_error_text(), "ulimit -l") && says(vbn_error_text(), "64 KiB"));
            half.close();
        });
    }
}

TEST(VerbsFaults, a_port_that_is_down_is_named_with_the_command_and_others_are_used)
{
    in_fabric(1, [] {
        fabric_script.port_state = IBV_PORT_DOWN;
        Half half;
        MUST(half.open("ud") == VBN_ERR_UNSUPPORTED);
        MUST(says(vbn_error_text(), "fab0:1") && says(vbn_error_text(), "ip link set DEV up"));
        half.close();
        multi::Pair pair("rc,ud,tcp");
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(100) == VBN_OK);
        pair.close();
    });
}

TEST(VerbsFaults, the_best_gid_is_chosen_unless_one_is_named)
{
    in_fabric(2, [] {
        char why[512];
        for (unsigned named = 0; named < 2; named++) {
            if (named == 1)
                setenv("VBN_TL_VERBS_DEVICE", "fab1:1:1", 1);
            multi::Pair pair("ud");
            MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(10) == VBN_OK);
            (void)vbn_explain(pair.a.peer, why, sizeof(why));
            MUST(says(why, named == 0 ? "fab0:1, RoCE v2, GID 3 ::ffff:10.0.0.1, MTU 4096"
                                      : "fab1:1, RoCE v2, GID 1 fd01::2"));
            pair.close();
        }
        setenv("VBN_TL_VERBS_DEVICE", "fab9", 1);
        Half half;
        MUST(half.open("ud") < 0 && says(vbn_error_text(), "no RDMA device is named fab9"));
        half.close();
        setenv("VBN_TL_VERBS_DEVICE", "fab0:x", 1);
        MUST(half.open("self,ud") == VBN_ERR_SETTING && says(vbn_error_text(), "DEVICE:PORT"));
        half.close();
    });
}

/* Its peer's queue pair is gone, and no device says so: only what is sent can fail. */
TEST(VerbsFaults, an_idle_connection_that_is_dead_is_noticed_by_the_keepalive)
{
    for (const char *way : {"rc", "rc,ud"})
        in_fabric(1, [&] {
            promote_early();
            setenv("VBN_LINK_KEEPALIVE", "400ms", 1);
            multi::Pair pair(way);
            Traffic traffic(pair);
            if (std::strcmp(way, "rc") == 0)
                traffic.burst(30);
            else
                promoted(pair, traffic);
            for (auto end = multi::Clock::now() + std::chrono::milliseconds(300); multi::Clock::now() < end;)
                pair.turn(); /* acknowledgements that are owed */
            fabric_forget_connections();
            MUST(pair.until([&] { return (pair.a.log + pair.b.log).find(" broke: ") != std::string::npos; }));
            MUST(says(pair.a.log + pair.b.log, "no answer within 7 tries"));
            traffic.burst(30);
            pair.close();
        });
}

/* The documented loop of a worker that sleeps. True: both slept. */
bool step(multi::Pair &pair, int ms)
{
    pollfd fds[2] = {{vbn_event_fd(pair.a.worker), POLLIN, 0}, {vbn_event_fd(pair.b.worker), POLLIN, 0}};
    if (vbn_progress(pair.a.worker) + vbn_progress(pair.b.worker) > 0 || vbn_arm(pair.a.worker) != VBN_OK ||
        vbn_arm(pair.b.worker) != VBN_OK)
        return false;
    (void)poll(fds, 2, ms);
    return true;
}

/* No link.resume_timeout, nothing beside rc; workers that sleep. */
TEST(VerbsFaults, connections_without_anything_beside_them_are_tried_while_idle_and_end_when_they_are_dead)
{
    in_fabric(1, [] {
        setenv("VBN_LINK_KEEPALIVE", "100ms", 1);
        multi::Pair pair("rc");
        Traffic traffic(pair);
        traffic.burst(30);
        auto late = [end = multi::Clock::now() + std::chrono::seconds(60)] { return multi::Clock::now() > end; };
        uint64_t requests = fabric_counts.requests;
        while (fabric_counts.requests < requests + 16 && !late())
            (void)step(pair, 1000);
        MUST(fabric_counts.requests >= requests + 16);
        traffic.burst(30); /* it lives */
        fabric_forget_connections();
        unsigned slept = 0;
        while (pair.a.lost == VBN_OK && !late())
            slept += step(pair, 1000);
        MUST(pair.a.lost == VBN_ERR_PEER_LOST && says(pair.a.text + pair.b.log, "no answer within 7 tries"));
        MUST(slept < 100); /* woken for a reason */
        pair.close();
    });
}

TEST(VerbsFaults, unequal_mtus_are_named_at_connect)
{
    in_fabric(1, [] {
        Half a, b;
        MUST(a.open("ud") == VBN_OK);
        fabric_script.mtu = 1024;
        MUST(b.open("ud") == VBN_OK);
        MUST(a.connect(b) == VBN_ERR_UNREACHABLE && says(vbn_error_text(), "give both interfaces the same MTU"));
        a.close();
        b.close();
    });
}

/* The kernel ends a process's connections when the last copy of the device's descriptor is closed. */
TEST(VerbsFaults, a_child_of_fork_has_no_copy_of_the_devices_descriptors_and_the_parent_goes_on)
{
    in_fabric(1, [] {
        multi::Pair pair("rc");
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(100) == VBN_OK);
        int fds[FABRIC_DESCRIPTORS];
        unsigned count = fabric_descriptors(fds);
        MUST(count >= 4);
        pid_t child = fork();
        if (child == 0) {
            for (unsigned i = 0; i < count; i++)
                MUST(fcntl(fds[i], F_GETFD) < 0);
            _exit(0);
        }
        int status = -1;
        MUST(waitpid(child, &status, 0) == child && status == 0);
        MUST(pair.send(100) == VBN_OK);
        pair.close();
    });
}

} // namespace
