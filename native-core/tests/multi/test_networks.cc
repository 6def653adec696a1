// SPDX-License-Identifier: Apache-2.0
// test_networks.cc - processes as on hosts of their own, joined by cables without any default route: they reach each other
// without a setting, over IPv4 and IPv6, and a server with two networks is reached from both. Needs root and the command ip.
#include <gtest/gtest.h>
#include <sched.h>

#include <string>
#include <vector>

#include "carrier.h"
#include "launch.h"

namespace {

using multi::Clock;
using multi::launch;
using multi::Shared;

constexpr int kNoNamespaces = 77; /* exit code, of what these tests need and is not here */
enum { APART = 1, CABLED, READY, DONE };

bool run(const std::string &command)
{
    return system(command.c_str()) == 0;
}

/* The ranks as hosts: rank 0 has a cable to each other one, with the networks PREFIX<rank>. */
class Host {
public:
    vbn_context_t *context = nullptr;
    vbn_worker_t *worker = nullptr;
    vbn_peer_t *peer = nullptr;
    std::vector<std::string> got;

    Host(Shared &shared_, int rank_, int count_) : shared(shared_), rank(rank_), count(count_) {}

    void leave_the_others()
    {
        pids()[rank] = getpid();
        if (unshare(CLONE_NEWNET) != 0 || !run("ip link set lo up"))
            _exit(kNoNamespaces);
        meet(APART);
    }
    /* A host's setting may say that new namespaces have none. */
    void allow_ipv6()
    {
        if (!run("f=/proc/sys/net/ipv6/conf/all/disable_ipv6; [ \"$(cat $f)\" = 0 ] || echo 0 >$f"))
            _exit(kNoNamespaces);
    }
    /* By rank 0, for all: the cable's other end goes into the namespace of rank `to`. */
    void lay_cable(int to)
    {
        std::string near = "c" + std::to_string(to);
        if (!run("ip link add " + near + " type veth peer name c0 netns " + std::to_string(pids()[to])))
            _exit(kNoNamespaces);
        MUST(run("ip link set " + near + " up"));
    }
    void address(const std::string &cable, const std::string &ip)
    {
        MUST(run("ip addr add " + ip + " dev " + cable + (ip.find(':') != std::string::npos ? " nodad" : "")));
        MUST(run("ip link set " + cable + " up"));
        cables.push_back(cable);
    }
    void open()
    {
        vbn_config_t *config;
        uint8_t key[VBN_JOB_KEY_BYTES] = {9};
        for (const std::string &cable : cables)
            MUST(has_carrier(cable.c_str()));
        MUST(vbn_config_create(&config) == VBN_OK);
        MUST(vbn_config_set(config, "tl.enable", "tcp") == VBN_OK);
        MUST(vbn_config_set_job_key(config, key) == VBN_OK);
        MUST(vbn_open(config, &context) == VBN_OK);
        vbn_config_destroy(config);
        MUST(vbn_worker_create(context, &worker) == VBN_OK);
        MUST(vbn_am_handler(worker, 1, on_message, this) == VBN_OK);
        shared.length[rank] = VBN_ADDRESS_MAX;
        MUST(vbn_worker_address(worker, shared.blob[rank], &shared.length[rank]) == VBN_OK);
        meet(READY);
    }
    /* A message to rank `to`, which has it when this returns. The connection stays: it may be that of a message from there, too. */
    void tell(int to)
    {
        vbn_op_t sent{}, flushed{};
        std::string text = "from " + std::to_string(rank);
        MUST(vbn_connect(worker, shared.blob[to], shared.length[to], on_lost, this, &peer) == VBN_OK);
        MUST(vbn_am_send(peer, 1, text.data(), static_cast<uint32_t>(text.size()), nullptr, 0, 0, &sent) >= 0);
        MUST(vbn_flush(peer, &flushed) >= 0);
        until([&] { return flushed.complete != 0; });
        MUST(flushed.status == VBN_OK);
    }
    void close()
    {
        meet(DONE);
        if (peer != nullptr)
            vbn_disconnect(peer, VBN_CLOSE_NOW);
        vbn_worker_destroy(worker);
        MUST(vbn_close(context) == VBN_OK);
    }
    void until(const std::function<bool()> &condition)
    {
        for (auto end = Clock::now() + std::chrono::seconds(60); !condition();) {
            MUST(Clock::now() < end);
            if (worker == nullptr || (vbn_progress(worker) == 0 && vbn_arm(worker) == VBN_OK))
                usleep(200);
        }
    }
    void meet(int stage)
    {
        shared.stage[rank] = stage;
        until([&] {
            for (int i = 0; i < count; i++)
                if (shared.stage[i] < stage)
                    return false;
            return true;
        });
    }

private:
    Shared &shared;
    int rank, count;
    std::vector<std::string> cables;

    std::atomic<int> *pids() { return shared.ready; }
    static void on_lost(void *arg, vbn_peer_t *, vbn_status_t, const char *text)
    {
        const Host *self = static_cast<Host *>(arg);
        if (self->shared.stage[self->rank] == DONE) /* others may have closed already */
            return;
        std::fprintf(stderr, "lost: %s\n", text);
        _exit(2);
    }
    static void on_message(void *arg, const vbn_am_message_t *message)
    {
        static_cast<Host *>(arg)->got.emplace_back(static_cast<const char *>(message->header), message->header_length);
    }
};

/* Two hosts and one cable: `prefix`1 and `prefix`2. */
void joined(Shared &shared, int rank, const std::string &prefix, const std::string &bits)
{
    Host host(shared, rank, 2);
    host.leave_the_others();
    if (prefix.find(':') != std::string::npos)
        host.allow_ipv6();
    if (rank == 0)
        host.lay_cable(1);
    host.meet(CABLED);
    host.address(rank == 0 ? "c1" : "c0", prefix + std::to_string(rank + 1) + bits);
    host.open();
    host.tell(1 - rank);
    host.until([&] { return host.got.size() == 1; });
    MUST(host.got[0] == "from " + std::to_string(1 - rank));
    host.close();
}

/* A server with a cable to each of two clients, which know no way to its other network. */
void served(Shared &shared, int rank)
{
    Host host(shared, rank, 3);
    host.leave_the_others();
    if (rank == 0) {
        host.lay_cable(1);
        host.lay_cable(2);
    }
    host.meet(CABLED);
    if (rank == 0) {
        host.address("c1", "10.1.1.1/24");
        host.address("c2", "10.1.2.1/24");
    } else {
        host.address("c0", "10.1." + std::to_string(rank) + ".2/24");
    }
    host.open();
    if (rank > 0)
        host.tell(0);
    else
        host.until([&] { return host.got.size() == 2; });
    host.close();
}

void expect_success(const std::vector<int> &codes)
{
    for (int code : codes)
        if (code == kNoNamespaces)
            GTEST_SKIP()
                << "no network namespace, ip command or IPv6: run as root, with iproute2 installed and IPv6 in the kernel";
    for (int code : codes)
        EXPECT_EQ(code, 0);
}

} // namespace

TEST(Networks, hosts_without_a_default_route_meet_over_ipv4_without_a_setting)
{
    expect_success(launch(2, [](int rank, Shared &shared) { joined(shared, rank, "10.1.1.", "/24"); }));
}

TEST(Networks, hosts_without_a_default_route_meet_over_ipv6_without_a_setting)
{
    expect_success(launch(2, [](int rank, Shared &shared) { joined(shared, rank, "fd00:1::", "/64"); }));
}

TEST(Networks, hosts_with_link_local_addresses_alone_meet)
{
    expect_success(launch(2, [](int rank, Shared &shared) { joined(shared, rank, "fe80::", "/64"); }));
}

TEST(Networks, a_server_with_two_networks_is_reached_from_both)
{
    expect_success(launch(3, [](int rank, Shared &shared) { served(shared, rank); }));
}
