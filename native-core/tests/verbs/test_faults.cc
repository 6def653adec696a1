// SPDX-License-Identifier: Apache-2.0
// test_faults.cc - everything that can go wrong with a device, by script: each message arrives once and in order, or its
// peer is lost with an error that says why; nothing of the device is left behind.
#include <sys/resource.h>

#include <deque>

#include "checks.h"
#include <infiniband/verbs.h>

using multi::Half;
using verbs::counted;
using verbs::says;
using verbs::with_fabric;

namespace {

/* Numbered messages from a to b; b checks the order. */
class Traffic {
public:
    explicit Traffic(multi::Pair &pair_) : pair(pair_)
    {
        MUST(vbn_am_handler(pair.b.worker, 3, on_number, this) == VBN_OK);
        MUST(pair.a.connect(pair.b) == VBN_OK);
    }
    void send()
    {
        calls.emplace_back();
        Call &call = calls.back();
        call.iov = {call.data, sizeof(call.data)};
        uint64_t number = sent++;
        MUST(vbn_am_send(pair.a.peer, 3, &number, sizeof(number), &call.iov, 1, 0, &call.op) >= 0);
    }
    void all_arrive()
    {
        if (!pair.until([&] { return arrived == sent || pair.a.lost != VBN_OK; }))
            std::fprintf(stderr, "%llu of %llu arrived\n%s%s", static_cast<unsigned long long>(arrived),
                         static_cast<unsigned long long>(sent), pair.a.log.c_str(), pair.b.log.c_str());
        MUST(arrived == sent);
    }
    uint64_t sent = 0, arrived = 0;

private:
    struct Call {
        vbn_op_t op{};
        iovec iov{};
        uint8_t data[64]{};
    };
    std::deque<Call> calls; /* stay until the end: the core uses them */
    multi::Pair &pair;
    static void on_number(void *arg, const vbn_am_message_t *message)
    {
        auto *self = static_cast<Traffic *>(arg);
        uint64_t number;
        MUST(message->header_length == sizeof(number));
        std::memcpy(&number, message->header, sizeof(number));
        MUST(number == self->arrived);
        self->arrived++;
    }
};

void promote_early()
{
    setenv("VBN_LINK_PROMOTE_AFTER", "8", 1);
    setenv("VBN_LINK_RESUME_TIMEOUT", "10s", 1);
}

/* Traffic until the peer has a connection besides its datagrams. */
void promoted(multi::Pair &pair, Traffic &traffic)
{
    for (unsigned i = 0; i < 20; i++)
        traffic.send();
    traffic.all_arrive();
    MUST(pair.until([&] { return counted(pair.a, "link.lanes_added") == 1; }));
    for (unsigned i = 0; i < 20; i++)
        traffic.send();
    traffic.all_arrive();
    MUST(counted(pair.a, "rc.tx.packets") >= 20);
}

TEST(VerbsFaults, a_request_that_fails_costs_no_message_while_datagrams_go_on)
{
    int code = with_fabric(1, [] {
        promote_early();
        multi::Pair pair("rc,ud");
        Traffic traffic(pair);
        promoted(pair, traffic);
        for (unsigned k = 1; k <= 200; k++) {
            fabric_script.fail_status = k % 2 == 0 ? IBV_WC_RETRY_EXC_ERR : IBV_WC_RNR_RETRY_EXC_ERR;
            fabric_script.fail_request_at = k;
            for (unsigned i = 0; i < 30; i++)
                traffic.send();
            traffic.all_arrive();
        }
        fabric_script.fail_request_at = 0;
        MUST(counted(pair.a, "link.lanes_lost") > 0);
        pair.close();
    });
    ASSERT_EQ(code, 0);
}

TEST(VerbsFaults, a_connection_that_breaks_is_opened_again_without_loss)
{
    int code = with_fabric(1, [] {
        promote_early();
        multi::Pair pair("rc");
        Traffic traffic(pair);
        for (unsigned k = 1; k <= 60; k++) {
            fabric_script.fail_status = IBV_WC_RETRY_EXC_ERR;
            fabric_script.fail_request_at = k;
            for (unsigned i = 0; i < 30; i++)
                traffic.send();
            traffic.all_arrive();
        }
        fabric_script.fail_request_at = 0;
        MUST(counted(pair.a, "link.resumes") + counted(pair.b, "link.resumes") > 20);
        pair.close();
    });
    ASSERT_EQ(code, 0);
}

TEST(VerbsFaults, connections_that_all_break_at_once_cost_nothing)
{
    int code = with_fabric(1, [] {
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
    ASSERT_EQ(code, 0);
}

TEST(VerbsFaults, the_error_of_a_lost_peer_names_device_cause_and_page)
{
    int code = with_fabric(1, [] {
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
        MUST(says(pair.a.text, "docs/verbs.md"));
        pair.close();
    });
    ASSERT_EQ(code, 0);
}

TEST(VerbsFaults, peers_go_on_over_tcp_when_the_device_is_removed)
{
    int code = with_fabric(1, [] {
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
    ASSERT_EQ(code, 0);
}

TEST(VerbsFaults, datagrams_flow_again_after_the_own_link_was_down)
{
    int code = with_fabric(1, [] {
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
    ASSERT_EQ(code, 0);
}

TEST(VerbsFaults, memory_that_cannot_be_registered_is_an_error_with_the_cure)
{
    for (unsigned at = 1; at <= 2; at++) {
        int code = with_fabric(1, [&] {
            rlimit limit{1 << 16, 1 << 16};
            MUST(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
            fabric_script.fail_register_at = at;
            Half half;
            MUST(half.open("rc") == VBN_ERR_LIMIT);
            MUST(says(vbn_error_text(), "ulimit -l") && says(vbn_error_text(), "64 KiB"));
            half.close();
        });
        ASSERT_EQ(code, 0) << at;
    }
}

TEST(VerbsFaults, a_port_that_is_down_is_named_with_the_command_and_others_are_used)
{
    int code = with_fabric(1, [] {
        fabric_script.port_state = IBV_PORT_DOWN;
        Half half;
        MUST(half.open("ud") == VBN_ERR_UNSUPPORTED);
        MUST(says(vbn_error_text(), "fab0:1") && says(vbn_error_text(), "ip link set DEV up"));
        half.close();
        multi::Pair pair("rc,ud,tcp");
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(100) == VBN_OK);
        pair.close();
    });
    ASSERT_EQ(code, 0);
}

TEST(VerbsFaults, the_best_gid_is_chosen_unless_one_is_named)
{
    int code = with_fabric(2, [] {
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
    ASSERT_EQ(code, 0);
}

TEST(VerbsFaults, unequal_mtus_are_named_at_connect)
{
    int code = with_fabric(1, [] {
        Half a, b;
        MUST(a.open("ud") == VBN_OK);
        fabric_script.mtu = 1024;
        MUST(b.open("ud") == VBN_OK);
        MUST(a.connect(b) == VBN_ERR_UNREACHABLE && says(vbn_error_text(), "give both interfaces the same MTU"));
        a.close();
        b.close();
    });
    ASSERT_EQ(code, 0);
}

} // namespace
