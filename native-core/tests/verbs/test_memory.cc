// SPDX-License-Identifier: Apache-2.0
// test_memory.cc - what a process keeps for its peers over RDMA: heap and registered buffers, at growing numbers of peers.
// VBN_TEST_PEERS=n measures another number and prints it.
#include <malloc.h>

#include "checks.h"

using verbs::counted;
using verbs::with_fabric;

namespace {

constexpr size_t MIB = 1 << 20;

/* Everything this process has taken, of the heap and for buffers. */
size_t held(const multi::Half &hub)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd + counted(hub, "mem.pool.bytes");
}

/* A worker that every peer dials once; the peers then vanish without a word, so that only the hub's side is left. */
class Hub {
public:
    explicit Hub(const char *transports)
    {
        unsetenv("VBN_TEST_PEERS"); /* no setting: contexts would warn of it */
        setenv("VBN_PROTO_COST_FILE", "none", 1);
        setenv("VBN_LINK_PEER_TIMEOUT", "60min", 1);
        setenv("VBN_LINK_KEEPALIVE", "10min", 1);
        setenv("VBN_LINK_PROMOTE_AFTER", "4", 1);
        before = mallinfo();
        MUST(half.open(transports) == VBN_OK);
        MUST(caller.open(transports) == VBN_OK);
        vbn_worker_destroy(caller.worker);
        caller.worker = nullptr;
        own = held(half);
    }
    static size_t mallinfo()
    {
        struct mallinfo2 info = mallinfo2();
        return info.uordblks + info.hblkhd;
    }
    void peer(bool promoted)
    {
        vbn_op_t ops[8] = {};
        unsigned messages = half.messages, count = promoted ? 8 : 2;
        fabric_script.drop_ppm = 0;
        MUST(vbn_worker_create(caller.context, &caller.worker) == VBN_OK && caller.connect(half) == VBN_OK);
        for (unsigned i = 0; i < count; i++)
            MUST(vbn_am_send(caller.peer, 1, nullptr, 0, nullptr, 0, 0, &ops[i]) >= 0);
        uint64_t lanes = counted(half, "link.lanes_added");
        until([&] { return half.messages == messages + count; });
        if (promoted)
            until([&] { return counted(half, "link.lanes_added") > lanes; });
        fabric_script.drop_ppm = 1000000;
        vbn_disconnect(caller.peer, VBN_CLOSE_NOW);
        vbn_worker_destroy(caller.worker);
        caller.worker = nullptr;
        caller.peer = nullptr;
        for (unsigned i = 0; i < 4; i++)
            (void)vbn_progress(half.worker);
    }
    void until(const std::function<bool()> &condition)
    {
        auto end = multi::Clock::now() + std::chrono::seconds(60);
        while (!condition()) {
            MUST(multi::Clock::now() < end);
            (void)vbn_progress(caller.worker);
            (void)vbn_progress(half.worker);
        }
    }
    void close()
    {
        caller.close();
        half.close();
    }
    size_t bytes() const { return held(half) - before; }
    multi::Half half, caller;
    size_t before = 0, own = 0;
};

bool measurable()
{
    void *block = std::malloc(4096);
    bool counts = Hub::mallinfo() >= 4096;
    std::free(block);
    return counts;
}

unsigned peers(unsigned usual)
{
    const char *wanted = std::getenv("VBN_TEST_PEERS");
    return wanted != nullptr ? static_cast<unsigned>(std::atoi(wanted)) : usual;
}

TEST(VerbsMemory, of_a_process_grows_with_peers_over_datagrams_by_the_peer_table_only)
{
    if (!measurable())
        GTEST_SKIP() << "a sanitizer's allocator does not count: run the release build";
    unsigned most = peers(1024);
    int code = with_fabric(1, [&] {
        Hub hub("ud");
        size_t at_half = 0;
        for (unsigned i = 0; i < most; i++) {
            hub.peer(false);
            if (i + 1 == most / 2)
                at_half = hub.bytes();
        }
        size_t each = (hub.bytes() - at_half) / (most / 2);
        std::printf("%u peers over ud: %.1f MiB, %zu bytes for each\n", most,
                    static_cast<double>(hub.bytes()) / static_cast<double>(MIB), each);
        MUST(each < 2048);
        MUST(hub.bytes() < 12 * MIB + (most > 2048 ? (most - 2048) * size_t(2048) : 0));
        hub.close();
    });
    ASSERT_EQ(code, 0);
}

TEST(VerbsMemory, of_a_process_with_64_connections_beside_datagrams_is_bounded)
{
    if (!measurable())
        GTEST_SKIP() << "a sanitizer's allocator does not count: run the release build";
    unsigned most = peers(256);
    int code = with_fabric(1, [&] {
        Hub hub("rc,ud");
        for (unsigned i = 0; i < most; i++)
            hub.peer(i < 64);
        std::printf("%u peers, 64 of them with a connection: %.1f MiB\n", most,
                    static_cast<double>(hub.bytes()) / static_cast<double>(MIB));
        MUST(hub.bytes() < 22 * MIB + (most > 2048 ? (most - 2048) * size_t(2048) : 0));
        hub.close();
    });
    ASSERT_EQ(code, 0);
}

} // namespace
