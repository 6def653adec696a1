// SPDX-License-Identifier: Apache-2.0
// test_incast.cc - many connections of rc to one worker that send at the same time: whether each packet finds a receive.
#include <sys/resource.h>

#include "checks.h"

using verbs::in_fabric;
using verbs::says;

namespace {

constexpr unsigned PEERS = 128;
/* Packets of each peer for which 16 receives are enough: a peer's late acks take some, and up to 31 wait to be posted again. */
constexpr unsigned FITS = 12;

/* One worker that many others are connected to. */
class Hub {
public:
    /* The hub's device has so many receives; 0: plenty. The others have few, which keeps the test small. */
    explicit Hub(unsigned receives)
    {
        rlimit files{};
        MUST(getrlimit(RLIMIT_NOFILE, &files) == 0);
        files.rlim_cur = files.rlim_max; /* some for each worker */
        MUST(setrlimit(RLIMIT_NOFILE, &files) == 0);
        setenv("VBN_PROTO_COST_FILE", "none", 1);
        fabric_script.srq_most = receives;
        MUST(half.open("rc") == VBN_OK);
        fabric_script.srq_most = 64;
        MUST(caller.open("rc") == VBN_OK);
        workers.push_back(caller.worker);
    }
    void connect(unsigned count)
    {
        uint8_t blob[VBN_ADDRESS_MAX];
        size_t length = sizeof(blob);
        MUST(vbn_worker_address(half.worker, blob, &length) == VBN_OK);
        while (peers.size() < count) {
            if (workers.size() == peers.size()) {
                workers.push_back(nullptr);
                MUST(vbn_worker_create(caller.context, &workers.back()) == VBN_OK);
            }
            peers.push_back(nullptr);
            MUST(vbn_connect(workers.back(), blob, length, multi::Half::on_lost, &caller, &peers.back()) == VBN_OK);
            if (peers.size() % 16 == 0 || peers.size() == count)
                all_send(1);
        }
    }
    /* Each sends so many while the hub looks away; then it receives all of them. Returns how often one found no receive. */
    uint64_t all_send(unsigned each)
    {
        uint64_t before = fabric_counts.rnr_naks;
        unsigned wanted = half.messages + each * static_cast<unsigned>(peers.size());
        for (auto *peer : peers)
            for (unsigned i = 0; i < each; i++) {
                vbn_op_t op{};
                MUST(vbn_am_send(peer, 1, nullptr, 0, nullptr, 0, 0, &op) >= 0);
                if (op.complete == 0)
                    wait(op);
            }
        for (auto *worker : workers)
            (void)vbn_progress(worker);
        until([&] { return half.messages == wanted; });
        return fabric_counts.rnr_naks - before;
    }
    void close()
    {
        for (auto *peer : peers)
            vbn_disconnect(peer, VBN_CLOSE_NOW);
        for (auto *worker : workers)
            vbn_worker_destroy(worker);
        caller.worker = nullptr;
        caller.close();
        half.close();
    }
    multi::Half half, caller;

private:
    std::vector<vbn_worker_t *> workers;
    std::vector<vbn_peer_t *> peers;
    void until(const std::function<bool()> &condition)
    {
        auto end = multi::Clock::now() + std::chrono::seconds(60);
        while (!condition()) {
            MUST(multi::Clock::now() < end);
            (void)vbn_progress(half.worker);
            for (auto *worker : workers)
                (void)vbn_progress(worker);
        }
    }
    void wait(const vbn_op_t &op)
    {
        until([&] { return op.complete == 1; });
    }
};

TEST(VerbsIncast, of_128_peers_finds_a_receive_for_each_packet)
{
    in_fabric(
        1,
        [] {
            Hub hub(0);
            hub.connect(PEERS);
            MUST(hub.all_send(FITS) == 0);
            MUST(hub.all_send(FITS) == 0);
            uint64_t first = hub.all_send(100), last = first;
            std::printf("128 bursts of 100 packets: %llu messages found no receive\n",
                        static_cast<unsigned long long>(first));
            for (unsigned i = 0; i < 20 && last > 0; i++)
                last = hub.all_send(100);
            MUST(first > 0 && last == 0);
            MUST(hub.half.log.find("receive buffers") == std::string::npos);
            hub.close();
        },
        300);
}

TEST(VerbsIncast, goes_on_with_what_the_device_has)
{
    in_fabric(
        1,
        [] {
            Hub hub(100); /* 96: a multiple of what is posted at once */
            hub.connect(16);
            MUST(hub.all_send(2) == 0);
            MUST(hub.all_send(16) > 0);
            MUST(hub.half.log.find("receive buffers") == std::string::npos);
            hub.close();
        },
        300);
}

TEST(VerbsIncast, goes_on_with_what_is_there_when_no_more_can_be_registered_and_says_so_once)
{
    in_fabric(
        1,
        [] {
            Hub hub(0);
            hub.connect(16);
            MUST(hub.all_send(FITS) == 0);
            fabric_script.fail_register_at = 1;
            while (fabric_script.fail_register_at == 1)
                (void)hub.all_send(100);
            (void)hub.all_send(100);
            std::string log = hub.half.log;
            MUST(says(log, "keeps 448 receive buffers") && says(log, "registering"));
            MUST(log.find("receive buffers") == log.rfind("receive buffers"));
            hub.close();
        },
        300);
}

} // namespace
