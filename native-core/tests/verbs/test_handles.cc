// SPDX-License-Identifier: Apache-2.0
// test_handles.cc - address handles that the kernel takes long to make, because it asks the network for the neighbour: others
// are not held up, who is silent is named, and whatever is closed meanwhile leaves nothing behind.
#include <thread>

#include "traffic.h"
#include <infiniband/verbs.h>

using multi::Half;
using verbs::in_fabric;
using verbs::says;
using verbs::Traffic;

namespace {

/* A second peer of a pair's first worker, at fab1; the pair is at fab0. */
struct Far {
    Half at;
    vbn_peer_t *peer = nullptr;
    vbn_status_t lost = VBN_OK;
    std::string text;
    vbn_op_t op{};
    uint8_t byte = 7;
    iovec iov{&byte, 1};

    explicit Far(const char *transports)
    {
        setenv("VBN_TL_VERBS_DEVICE", "fab1", 1);
        MUST(at.open(transports) == VBN_OK);
    }
    static void on_lost(void *arg, vbn_peer_t *, vbn_status_t status, const char *why)
    {
        auto *self = static_cast<Far *>(arg);
        self->lost = status;
        self->text = why;
    }
    vbn_status_t connect(Half &from)
    {
        uint8_t blob[VBN_ADDRESS_MAX];
        size_t length = sizeof(blob);
        MUST(vbn_worker_address(at.worker, blob, &length) == VBN_OK);
        lost = VBN_OK;
        return vbn_connect(from.worker, blob, length, on_lost, this, &peer);
    }
    void send()
    {
        op = {};
        MUST(vbn_am_send(peer, 1, nullptr, 0, &iov, 1, 0, &op) == VBN_INPROGRESS);
    }
    void close()
    {
        fabric_set_neighbour(1, FABRIC_ANSWERS); /* it may be asking back */
        at.close();
    }
};

struct Near : multi::Pair {
    explicit Near(const char *transports) : multi::Pair((setenv("VBN_TL_VERBS_DEVICE", "fab0", 1), transports)) {}
};

/* The kernel gives up, or the host answers, while the test's thread is in a call that waits for that. */
class Later {
public:
    explicit Later(enum fabric_neighbour how)
        : thread([how] {
              std::this_thread::sleep_for(std::chrono::milliseconds(50));
              fabric_set_neighbour(1, how);
          })
    {
    }
    ~Later() { thread.join(); }

private:
    std::thread thread;
};

class VerbsHandlesThreads : public ::testing::TestWithParam<const char *> {};

TEST_P(VerbsHandlesThreads, a_host_that_does_not_answer_yet_holds_nobody_else_up_and_is_reached_when_it_does)
{
    in_fabric(2, [] {
        Near pair(GetParam());
        Far far(GetParam());
        Traffic traffic(pair);
        traffic.burst(10);
        fabric_set_neighbour(1, FABRIC_HELD);
        MUST(far.connect(pair.a) == VBN_OK);
        far.send();
        traffic.burst(100);
        MUST(pair.until([] { return fabric_asking() == 1; }) && far.lost == VBN_OK && far.op.complete == 0);
        fabric_set_neighbour(1, FABRIC_ANSWERS);
        MUST(pair.until([&] { return (void)vbn_progress(far.at.worker), far.at.messages == 1; }));
        MUST(pair.until([&] { return (void)vbn_progress(far.at.worker), far.op.complete == 1; }) &&
             far.op.status == VBN_OK);
        vbn_disconnect(far.peer, VBN_CLOSE_NOW);
        far.close();
        pair.close();
    });
}

TEST_P(VerbsHandlesThreads, a_host_that_is_silent_is_named_when_the_kernel_gives_up_and_not_asked_again_at_once)
{
    in_fabric(2, [] {
        Near pair(GetParam());
        Far far(GetParam());
        fabric_set_neighbour(1, FABRIC_HELD);
        MUST(far.connect(pair.a) == VBN_OK);
        far.send();
        fabric_set_neighbour(1, FABRIC_SILENT);
        MUST(pair.until([&] { return far.lost != VBN_OK; }) && far.lost == VBN_ERR_UNREACHABLE);
        MUST(says(far.text, "the host of GID ::ffff:10.0.0.2 does not answer on the network of fab0:1"));
        MUST(says(far.text, "ip neigh") && far.op.complete == 1 && far.op.status == VBN_ERR_UNREACHABLE);
        vbn_disconnect(far.peer, VBN_CLOSE_NOW);
        unsigned asked = fabric_asked();
        for (unsigned i = 0; i < 50; i++)
            MUST(far.connect(pair.a) < 0 && says(vbn_error_text(), "GID ::ffff:10.0.0.2 does not answer"));
        MUST(fabric_asked() < asked + 10);
        far.close();
        pair.close();
    });
}

TEST_P(VerbsHandlesThreads, a_peer_closed_while_its_host_is_being_asked_is_found_again_by_the_same_question)
{
    in_fabric(2, [] {
        Near pair(GetParam());
        Far far(GetParam());
        fabric_set_neighbour(1, FABRIC_HELD);
        for (unsigned i = 0; i < 20; i++) {
            MUST(far.connect(pair.a) == VBN_OK);
            pair.turn();
            if (i < 19)
                vbn_disconnect(far.peer, VBN_CLOSE_NOW);
            pair.turn();
        }
        far.send();
        MUST(pair.until([] { return fabric_asking() == 1; }) && fabric_asked() == 1);
        fabric_set_neighbour(1, FABRIC_ANSWERS);
        MUST(pair.until([&] { return (void)vbn_progress(far.at.worker), far.at.messages == 1; }));
        vbn_disconnect(far.peer, VBN_CLOSE_NOW);
        far.close();
        pair.close();
    });
}

TEST_P(VerbsHandlesThreads, a_worker_closed_while_hosts_are_being_asked_leaves_nothing_behind)
{
    for (enum fabric_neighbour end : {FABRIC_ANSWERS, FABRIC_SILENT})
        for (bool disconnects : {false, true})
            in_fabric(2, [&] {
                Near pair(GetParam());
                Far far(GetParam());
                fabric_set_neighbour(1, FABRIC_HELD);
                MUST(far.connect(pair.a) == VBN_OK);
                far.send();
                if (disconnects)
                    vbn_disconnect(far.peer, VBN_CLOSE_NOW);
                MUST(pair.until([] { return fabric_asking() == 1; }));
                {
                    Later later(end);
                    vbn_worker_destroy(pair.a.worker);
                }
                MUST(fabric_asking() == 0 && far.op.complete == 1);
                pair.a.worker = nullptr;
                far.close();
                pair.close();
            });
}

TEST_P(VerbsHandlesThreads, an_address_that_changes_while_hosts_are_being_asked_is_used_from_then_on)
{
    in_fabric(2, [] {
        setenv("VBN_LINK_WIREUP_TIMEOUT", "5s", 1); /* how long the old address is tried */
        Near pair(GetParam());
        Far far(GetParam());
        fabric_set_neighbour(1, FABRIC_HELD);
        MUST(far.connect(pair.a) == VBN_OK && pair.until([] { return fabric_asking() == 1; }));
        fabric_script.moved[0] = 1;
        fabric_event(0, IBV_EVENT_GID_CHANGE);
        MUST(pair.until([&] { return far.lost != VBN_OK; }) && says(far.text, "the address of fab0:1 has changed"));
        vbn_disconnect(far.peer, VBN_CLOSE_NOW);
        MUST(far.connect(pair.a) == VBN_OK && pair.until([] { return fabric_asking() == 2; }));
        far.send();
        fabric_set_neighbour(1, FABRIC_ANSWERS);
        MUST(pair.until([&] { return (void)vbn_progress(far.at.worker), far.at.messages == 1; }));
        vbn_disconnect(far.peer, VBN_CLOSE_NOW);
        far.close();
        pair.close();
    });
}

INSTANTIATE_TEST_SUITE_P(Over, VerbsHandlesThreads, ::testing::Values("rc", "ud", "rc,ud"),
                         [](const auto &each) { return multi::way_name(each.param); });

} // namespace
