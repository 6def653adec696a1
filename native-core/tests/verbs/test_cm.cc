// SPDX-License-Identifier: Apache-2.0
// test_cm.cc - connections by rdma_cm, by script: asked for, or because the device is an iWARP one; what refuses, does not
// answer, or leaves is a clear error, and nothing of librdmacm is left behind.
#include "native.h"
#include "traffic.h"
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

using verbs::counted;
using verbs::in_fabric;
using verbs::Native;
using verbs::says;
using verbs::Traffic;

namespace {

void ask()
{
    setenv("VBN_TL_VERBS_CONNECT", "cm", 1);
}

class VerbsCm : public ::testing::TestWithParam<bool> {};

void choose(bool iwarp)
{
    fabric_script.iwarp = iwarp;
    if (!iwarp)
        ask();
}

TEST_P(VerbsCm, messages_arrive_once_and_in_order_over_connections_by_rdma_cm)
{
    in_fabric(1, [] {
        choose(GetParam());
        multi::Pair pair("rc");
        Traffic traffic(pair);
        traffic.burst(500);
        MUST(fabric_counts.ahs == 0 && fabric_counts.qps == 2 && fabric_counts.cm_ids == 4);
        MUST(says(pair.a.log, "connections by rdma_cm") && fabric_counts.hasty == 0);
        pair.close();
    });
}

TEST_P(VerbsCm, devices_carry_out_gets_and_puts)
{
    in_fabric(1, [] {
        choose(GetParam());
        verbs::may_break();
        Native n("rc");
        n.warm();
        for (size_t i = 0; i < verbs::MEMORY; i++)
            n.theirs()[i] = verbs::pattern(i, 1);
        MUST(n.get(n.ours(), 100, 2 << 20) == VBN_OK);
        for (size_t i = 0; i < (2 << 20); i++)
            MUST(n.ours()[i] == verbs::pattern(i + 100, 1));
        std::vector<uint8_t> heap(100000);
        MUST(n.get(heap.data(), 7, heap.size()) == VBN_OK && heap[5] == verbs::pattern(12, 1));
        MUST(n.put(heap.data(), 1 << 20, heap.size()) == VBN_OK && n.theirs()[(1 << 20) + 5] == verbs::pattern(12, 1));
        MUST(n.counted("get.native.bytes") >= (2 << 20) + heap.size() && n.counted("put.native.bytes") >= heap.size());
        n.close();
    });
}

TEST_P(VerbsCm, what_was_sent_before_a_close_arrives)
{
    in_fabric(1, [] {
        choose(GetParam());
        multi::Pair pair("rc");
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
        unsigned before = pair.b.messages;
        std::vector<vbn_op_t> ops(100);
        for (vbn_op_t &op : ops)
            MUST(vbn_am_send(pair.a.peer, 1, nullptr, 0, nullptr, 0, 0, &op) >= 0);
        vbn_disconnect(pair.a.peer, VBN_CLOSE_FLUSH);
        pair.a.peer = nullptr;
        MUST(pair.until([&] { return pair.b.messages == before + 100; }));
        pair.close();
    });
}

TEST_P(VerbsCm, connections_that_break_are_called_again_and_nothing_is_lost)
{
    in_fabric(1, [] {
        choose(GetParam());
        setenv("VBN_LINK_RESUME_TIMEOUT", "10s", 1);
        multi::Pair pair("rc");
        Traffic traffic(pair);
        for (unsigned i = 0; i < 60; i++) {
            traffic.send();
            if (i % 20 == 5)
                fabric_break_all_connections(IBV_WC_RETRY_EXC_ERR);
            if (i % 20 == 15)
                traffic.all_arrive();
        }
        traffic.all_arrive();
        MUST(counted(pair.a, "link.resumes") > 0);
        pair.close();
    });
}

TEST_P(VerbsCm, an_attempt_that_fails_is_an_error_that_says_what_and_where)
{
    struct Fault {
        rdma_cm_event_type event;
        const char *text;
    };
    const Fault faults[] = {{RDMA_CM_EVENT_ADDR_ERROR, "cannot be resolved"},
                            {RDMA_CM_EVENT_ROUTE_ERROR, "no path to the peer's port"},
                            {RDMA_CM_EVENT_UNREACHABLE, "does not answer a call by rdma_cm"},
                            {RDMA_CM_EVENT_CONNECT_ERROR, "could not be made"}};
    for (const Fault &fault : faults) {
        in_fabric(1, [&] {
            choose(GetParam());
            multi::Pair pair("rc");
            fabric_script.cm_fails = true;
            fabric_script.cm_event = fault.event;
            MUST(pair.a.connect(pair.b) == VBN_OK);
            MUST(pair.until([&] { return pair.a.lost != VBN_OK; }));
            MUST(pair.a.lost == VBN_ERR_UNREACHABLE && says(pair.a.text, fault.text));
            MUST(says(pair.a.text, "fab0:1") && says(pair.a.text, GetParam() ? "127.0.0.1 port" : "10.0.0.1 port"));
            pair.close();
        });
    }
}

TEST_P(VerbsCm, a_peer_that_has_ended_refuses_and_the_error_says_so)
{
    in_fabric(1, [] {
        choose(GetParam());
        multi::Pair pair("rc");
        uint8_t blob[VBN_ADDRESS_MAX];
        size_t length = sizeof(blob);
        MUST(vbn_worker_address(pair.b.worker, blob, &length) == VBN_OK);
        pair.b.close();
        MUST(vbn_connect(pair.a.worker, blob, length, multi::Half::on_lost, &pair.a, &pair.a.peer) == VBN_OK);
        auto end = multi::Clock::now() + std::chrono::seconds(60);
        while (pair.a.lost == VBN_OK && multi::Clock::now() < end)
            (void)vbn_progress(pair.a.worker);
        MUST(pair.a.lost == VBN_ERR_UNREACHABLE && says(pair.a.text, "nobody listens there any more"));
        pair.a.close();
    });
}

TEST_P(VerbsCm, a_stranger_without_the_job_key_is_given_no_queue_pair)
{
    in_fabric(1, [] {
        choose(GetParam());
        multi::Pair pair("rc");
        fabric_script.cm_forged = true;
        MUST(pair.a.connect(pair.b) == VBN_OK);
        MUST(pair.until([&] { return pair.a.lost != VBN_OK; }));
        MUST(says(pair.a.text, "another job key"));
        MUST(counted(pair.b, "rx.bad_frames") >= 1 && fabric_counts.most_qps <= 1);
        pair.close();
    });
}

INSTANTIATE_TEST_SUITE_P(Over, VerbsCm, ::testing::Bool(),
                         [](const auto &each) { return std::string(each.param ? "iwarp" : "roce"); });

TEST(VerbsCmAlone, datagrams_carry_what_they_always_did_beside_connections_by_rdma_cm)
{
    in_fabric(1, [] {
        ask();
        verbs::promote_early();
        multi::Pair pair("rc,ud");
        Traffic traffic(pair);
        verbs::promoted(pair, traffic);
        MUST(fabric_counts.cm_ids == 4);
        pair.close();
    });
}

TEST(VerbsCmAlone, the_traffic_class_is_asked_for)
{
    in_fabric(1, [] {
        ask();
        setenv("VBN_TL_VERBS_TRAFFIC_CLASS", "104", 1);
        multi::Pair pair("rc");
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
        MUST(fabric_counts.cm_options == 1);
        pair.close();
    });
}

TEST(VerbsCmAlone, sides_that_connect_in_different_ways_are_told_apart_at_once)
{
    in_fabric(1, [] {
        multi::Half a, b;
        MUST(a.open("rc") == VBN_OK);
        ask();
        MUST(b.open("rc") == VBN_OK);
        MUST(a.connect(b) == VBN_ERR_UNREACHABLE && says(vbn_error_text(), "the same tl.verbs.connect"));
        a.close();
        b.close();
    });
}

TEST(VerbsCmAlone, an_iwarp_device_has_no_datagrams_and_says_so)
{
    in_fabric(1, [] {
        fabric_script.iwarp = true;
        multi::Half half;
        MUST(half.open("ud") == VBN_ERR_UNSUPPORTED && says(vbn_error_text(), "iWARP device, which has no datagrams"));
        half.close();
    });
}

TEST(VerbsCmAlone, a_port_that_gets_another_address_listens_there)
{
    in_fabric(1, [] {
        ask();
        setenv("VBN_LINK_RESUME_TIMEOUT", "10s", 1);
        multi::Pair pair("rc");
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
        fabric_script.moved[0] = 7;
        fabric_event(0, IBV_EVENT_GID_CHANGE);
        MUST(pair.until([&] { return says(pair.b.log, "has changed from"); }));
        multi::Half late;
        MUST(late.open("rc") == VBN_OK && late.connect(pair.b) == VBN_OK);
        vbn_op_t op{};
        MUST(vbn_am_send(late.peer, 1, nullptr, 0, nullptr, 0, 0, &op) >= 0);
        unsigned before = pair.b.messages;
        MUST(pair.until([&] {
            (void)vbn_progress(late.worker);
            return pair.b.messages > before;
        }));
        late.close();
        pair.close();
    });
}

} // namespace
