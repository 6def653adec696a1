// SPDX-License-Identifier: Apache-2.0
// test_native.cc - gets and puts that devices carry out: data, rights, revoked keys, broken connections, order, costs.
#include "native.h"
#include <infiniband/verbs.h>

using verbs::LARGE;
using verbs::MEMORY;
using verbs::Native;
using verbs::pattern;
using verbs::with_fabric;

namespace {

class VerbsNative : public ::testing::TestWithParam<const char *> {};

void check_gets_and_puts(Native &n, uint8_t *buffer)
{
    const size_t sizes[] = {1, 8, 127, 129, 640, 8192, 8193, 100000, (1 << 20) + 1, 3 << 20};
    unsigned round = 0;
    for (size_t size : sizes) {
        size_t offset = 12345 + round;
        uint64_t got = n.counted("get.native.bytes"), written = n.counted("put.native.bytes");
        for (size_t i = 0; i < MEMORY; i++)
            n.theirs()[i] = pattern(i, round);
        std::memset(buffer, 0, size);
        MUST(n.get(buffer, offset, size) == VBN_OK);
        for (size_t i = 0; i < size; i++)
            MUST(buffer[i] == pattern(offset + i, round));
        std::memset(buffer, 200 + static_cast<int>(round), size);
        MUST(n.put(buffer, offset, size) == VBN_OK);
        for (size_t i = 0; i < MEMORY; i++)
            MUST(n.theirs()[i] == (i < offset || i >= offset + size ? pattern(i, round) : 200 + round));
        MUST(n.counted("get.native.bytes") - got == size && n.counted("put.native.bytes") - written == size);
        round++;
    }
}

TEST_P(VerbsNative, gets_and_puts_of_all_sizes_reach_what_they_name_and_nothing_else)
{
    int code = with_fabric(1, [] {
        verbs::may_break();
        Native n(GetParam());
        n.warm();
        check_gets_and_puts(n, n.ours());
        std::vector<uint8_t> heap(MEMORY);
        check_gets_and_puts(n, heap.data());
        MUST(n.counted("native.redone") == 0 && fabric_counts.refused == 0);
        n.close();
    });
    ASSERT_EQ(code, 0);
}

TEST_P(VerbsNative, lists_of_many_pieces_are_gathered_and_scattered)
{
    int code = with_fabric(1, [] {
        verbs::may_break();
        Native n(GetParam());
        n.warm();
        std::vector<iovec> pieces;
        size_t total = 0;
        for (size_t i = 0; i < 100; i++) {
            pieces.push_back({n.ours() + i * 20000, i % 7 == 3 ? 0 : 1 + i * 97});
            total += pieces.back().iov_len;
        }
        for (size_t i = 0; i < total; i++)
            n.theirs()[i] = pattern(i, 3);
        vbn_op_t op{};
        MUST(n.pair.finish(vbn_get(n.key, 0, pieces.data(), pieces.size(), &op), op) == VBN_OK && op.length == total);
        size_t at = 0;
        for (const iovec &piece : pieces)
            for (size_t i = 0; i < piece.iov_len; i++, at++)
                MUST(static_cast<uint8_t *>(piece.iov_base)[i] == pattern(at, 3));
        std::memset(n.theirs(), 0, total);
        op = {};
        MUST(n.pair.finish(vbn_put(n.key, 0, pieces.data(), pieces.size(), &op), op) == VBN_OK);
        for (size_t i = 0; i < total; i++)
            MUST(n.theirs()[i] == pattern(i, 3));
        MUST(n.counted("put.native.bytes") == total);
        n.close();
    });
    ASSERT_EQ(code, 0);
}

TEST(VerbsNative, the_first_large_get_earns_a_connection_and_small_ones_do_not)
{
    int code = with_fabric(1, [] {
        setenv("VBN_LINK_PROMOTE_AFTER", "1000000", 1);
        Native n("rc,ud");
        for (unsigned i = 0; i < 20; i++)
            MUST(n.get(n.ours(), 0, 64) == VBN_OK);
        n.rest();
        MUST(n.counted("link.lanes_added") == 0);
        MUST(n.get(n.ours(), 0, LARGE) == VBN_OK);
        MUST(n.pair.until([&] { return n.counted("link.lanes_added") == 1; }));
        n.warm();
        MUST(n.get(n.ours(), 0, 64) == VBN_OK && n.counted("get.native.bytes") == LARGE + 64);
        n.close();
    });
    ASSERT_EQ(code, 0);
}

TEST(VerbsNative, nothing_is_exposed_without_a_key_and_only_once_with_many)
{
    int code = with_fabric(1, [] {
        verbs::may_break();
        Native n("rc", VBN_ACCESS_READ);
        MUST(fabric_counts.served == 0 && verbs::counted(n.pair.b, "mem.exposed.bytes") == 0);
        n.warm();
        MUST(verbs::counted(n.pair.b, "mem.exposed.bytes") == MEMORY);
        MUST(fabric_counts.served == 1);
        for (unsigned i = 1; i <= 20; i++) {
            vbn_key_t *part = n.import_key(n.memory, i * 4096, 65536, VBN_ACCESS_READ);
            n.theirs()[i * 4096] = static_cast<uint8_t>(i);
            n.warm(part, 65536);
            MUST(n.ours()[0] == i);
            vbn_key_release(part);
        }
        MUST(fabric_counts.served == 1);
        vbn_key_t *both = n.import_key(n.memory, 0, 65536, VBN_ACCESS_READ | VBN_ACCESS_WRITE);
        n.warm(both, 65536);
        MUST(fabric_counts.served == 2 && verbs::counted(n.pair.b, "mem.exposed.bytes") == 2 * MEMORY);
        vbn_key_release(both);
        MUST(vbn_mem_revoke(n.memory) == VBN_OK);
        MUST(fabric_counts.served == 0 && verbs::counted(n.pair.b, "mem.exposed.bytes") == 0);
        n.close();
    });
    ASSERT_EQ(code, 0);
}

TEST_P(VerbsNative, a_revoked_key_is_refused_by_the_device_and_stale_for_its_user)
{
    int code = with_fabric(1, [] {
        verbs::may_break();
        Native n(GetParam());
        vbn_mem_t *other = nullptr;
        MUST(vbn_mem_alloc(n.pair.b.context, MEMORY, VBN_BACKING_MEMFD, nullptr, &other) == VBN_OK);
        vbn_key_t *key = n.import_key(other, 0, MEMORY, VBN_ACCESS_READ | VBN_ACCESS_WRITE);
        n.warm();
        n.warm(key);
        MUST(vbn_mem_revoke(other) == VBN_OK);
        std::memset(vbn_mem_address(other), 0, MEMORY);
        std::memset(n.ours(), 9, MEMORY);
        MUST(n.put(n.ours(), 0, 1 << 20, key) == VBN_ERR_STALE);
        MUST(n.get(n.ours(), 0, 1 << 20, key) == VBN_ERR_STALE);
        MUST(fabric_counts.refused > 0);
        for (size_t i = 0; i < MEMORY; i++)
            MUST(static_cast<uint8_t *>(vbn_mem_address(other))[i] == 0 && n.ours()[i] == 9);
        n.warm(); /* the other memory is still reached, and by devices again */
        MUST(n.pair.a.lost == VBN_OK && n.pair.b.lost == VBN_OK);
        vbn_key_release(key);
        MUST(vbn_mem_free(other) == VBN_OK);
        n.close();
    });
    ASSERT_EQ(code, 0);
}

TEST(VerbsNative, a_peer_with_one_connection_and_nothing_else_gets_a_second_so_that_a_refusal_does_not_lose_it)
{
    int code = with_fabric(1, [] {
        Native n("rc"); /* link.resume_timeout=0 */
        MUST(n.get(n.ours(), 0, 64) == VBN_OK);
        n.rest();
        MUST(n.counted("link.lanes_added") == 0); /* small ones are not worth it */
        vbn_mem_t *other = nullptr;
        MUST(vbn_mem_alloc(n.pair.b.context, MEMORY, VBN_BACKING_MEMFD, nullptr, &other) == VBN_OK);
        vbn_key_t *key = n.import_key(other, 0, MEMORY, VBN_ACCESS_READ | VBN_ACCESS_WRITE);
        n.warm();
        n.warm(key);
        MUST(n.counted("link.lanes_added") == 1);
        check_gets_and_puts(n, n.ours());
        MUST(vbn_mem_revoke(other) == VBN_OK && n.get(n.ours(), 0, 1 << 20, key) == VBN_ERR_STALE);
        MUST(fabric_counts.refused > 0 && n.pair.a.lost == VBN_OK && n.pair.b.lost == VBN_OK);
        n.warm();
        MUST(n.counted("link.lanes_added") == 2 && n.counted("link.lanes_lost") == 1);
        MUST(n.pair.send(100000) == VBN_OK);
        vbn_key_release(key);
        MUST(vbn_mem_free(other) == VBN_OK);
        n.close();
    });
    ASSERT_EQ(code, 0);
}

TEST(VerbsNative, a_peer_that_could_be_lost_by_a_refusal_is_left_to_packets)
{
    int code = with_fabric(1, [] {
        setenv("VBN_LINK_PROMOTED_MAX", "1", 1); /* no second one */
        Native n("rc");
        for (unsigned i = 0; i < 10; i++)
            MUST(n.get(n.ours(), 0, 1 << 20) == VBN_OK);
        MUST(n.counted("get.native.bytes") == 0 && n.counted("get.stream.bytes") >= 10 << 20);
        MUST(vbn_mem_revoke(n.memory) == VBN_OK);
        MUST(n.get(n.ours(), 0, 1 << 20) == VBN_ERR_STALE && n.pair.a.lost == VBN_OK);
        n.close();
    });
    ASSERT_EQ(code, 0);
}

/* Two gets and two puts at once, each of 64 pieces, which makes 16 requests. */
void work_while_it_breaks(Native &n, unsigned k)
{
    constexpr size_t PIECE = 4096, PIECES = 64, PART = PIECE * PIECES;
    vbn_op_t ops[4] = {};
    std::vector<iovec> lists[4];
    for (unsigned i = 0; i < 4; i++) {
        for (size_t j = 0; j < PIECES; j++)
            lists[i].push_back({n.ours() + i * PART + (PIECES - 1 - j) * PIECE, PIECE});
        for (size_t j = 0; j < PART; j++)
            (i < 2 ? n.theirs() : n.ours())[i * PART + j] = static_cast<uint8_t>(k * 5 + i + (j / PIECE));
        MUST((i < 2 ? vbn_get : vbn_put)(n.key, i * PART, lists[i].data(), PIECES, &ops[i]) == VBN_INPROGRESS);
    }
    for (const vbn_op_t &op : ops)
        MUST(n.pair.until([&] { return op.complete == 1; }) && op.status == VBN_OK && op.length == PART);
    for (unsigned i = 0; i < 4; i++)
        for (size_t j = 0; j < PIECES; j++)
            MUST(std::memcmp(lists[i][j].iov_base, n.theirs() + i * PART + j * PIECE, PIECE) == 0);
}

TEST_P(VerbsNative, a_connection_that_breaks_at_any_request_costs_no_operation)
{
    int code = with_fabric(1, [] {
        verbs::may_break();
        Native n(GetParam());
        n.warm();
        for (unsigned k = 1; k <= 60; k += k < 10 ? 1 : 7) {
            fabric_script.fail_status = IBV_WC_RETRY_EXC_ERR;
            fabric_script.fail_request_at = k;
            uint64_t before = n.counted("native.redone");
            work_while_it_breaks(n, k);
            MUST(fabric_script.fail_request_at == 0 && n.counted("native.redone") > before);
            n.warm();
        }
        MUST(n.pair.a.lost == VBN_OK && n.pair.b.lost == VBN_OK);
        n.close();
    });
    ASSERT_EQ(code, 0);
}

TEST(VerbsNative, what_comes_after_a_fence_finds_what_was_put_before_it)
{
    constexpr size_t SOME = 65536;
    int code = with_fabric(1, [] {
        Native n("rc,ud");
        n.warm();
        fabric_script.late_ppm = 300000;
        for (unsigned round = 1; round <= 10; round++) {
            uint64_t before = 0, value = round;
            vbn_op_t put{}, add{}, get{}, second{};
            iovec data{n.ours(), SOME}, back{n.ours() + 2 * SOME, SOME}, word{&value, 8};
            std::memset(n.ours(), static_cast<int>(round), SOME);
            std::memset(n.ours() + 2 * SOME, 0, SOME);
            MUST(vbn_put(n.key, 0, &data, 1, &put) == VBN_INPROGRESS && vbn_fence(n.pair.a.worker) == VBN_OK);
            MUST(vbn_atomic(n.key, 3 * SOME, VBN_ATOMIC_ADD, 8, 1, 0, &before, &add) == VBN_INPROGRESS);
            MUST(vbn_fence(n.pair.a.worker) == VBN_OK);
            MUST(vbn_get(n.key, 0, &back, 1, &get) == VBN_INPROGRESS);
            MUST(vbn_put(n.key, 3 * SOME + 8, &word, 1, &second) == VBN_INPROGRESS);
            auto *words = reinterpret_cast<std::atomic<uint64_t> *>(n.theirs() + 3 * SOME);
            MUST(n.pair.until([&] { /* the owner looks while it happens */
                                    if (words[1].load() == round)
                                        MUST(words[0].load() == round);
                                    if (words[0].load() == round)
                                        MUST(n.theirs()[0] == round && n.theirs()[SOME - 1] == round);
                                    return put.complete && add.complete && get.complete && second.complete;
            }));
            MUST(std::memcmp(n.ours(), n.ours() + 2 * SOME, SOME) == 0);
        }
        MUST(n.counted("put.native.bytes") >= 10 * SOME);
        n.close();
    });
    ASSERT_EQ(code, 0);
}

TEST(VerbsNative, the_signal_of_a_put_comes_after_its_data)
{
    int code = with_fabric(1, [] {
        Native n("rc,ud");
        n.warm();
        for (unsigned round = 1; round <= 10; round++) {
            vbn_signal_t signal{n.key, 3 << 20, VBN_ATOMIC_ADD, 1};
            iovec data{n.ours(), 1 << 20};
            vbn_op_t op{};
            std::memset(n.ours(), static_cast<int>(round), 1 << 20);
            auto *word = reinterpret_cast<std::atomic<uint64_t> *>(n.theirs() + (3 << 20));
            MUST(vbn_put_signal(n.key, 0, &data, 1, &signal, &op) == VBN_INPROGRESS);
            MUST(n.pair.until([&] {
                if (word->load() == round)
                    MUST(n.theirs()[0] == round && n.theirs()[(1 << 20) - 1] == round);
                return op.complete == 1;
            }));
            MUST(op.status == VBN_OK && op.length == 1 << 20 && word->load() == round);
        }
        MUST(n.counted("put.native.bytes") == 10 << 20);
        n.close();
    });
    ASSERT_EQ(code, 0);
}

TEST(VerbsNative, a_put_rings_once_is_not_copied_and_asks_for_one_completion_in_32)
{
    int code = with_fabric(1, [] {
        verbs::may_break();
        Native n("rc");
        n.warm();
        fabric_counts_t before = fabric_counts;
        uint64_t copied = n.counted("verbs.copied_bytes");
        MUST(n.put(n.ours(), 0, 4 << 20) == VBN_OK);
        MUST(n.get(n.ours(), 0, 4 << 20) == VBN_OK);
        MUST(fabric_counts.writes - before.writes == 4 && fabric_counts.reads - before.reads == 4);
        uint64_t others = fabric_counts.requests - before.requests - 8; /* an acknowledgement by chance */
        MUST(fabric_counts.doorbells - before.doorbells <= 2 + others && others < 4);
        uint64_t signalled = fabric_counts.signalled - before.signalled;
        MUST(signalled >= 2 && signalled <= 2 + others);
        MUST(n.counted("verbs.copied_bytes") == copied);
        n.close();
    });
    ASSERT_EQ(code, 0);
}

TEST(VerbsNative, no_more_reads_are_under_way_than_the_peers_device_serves)
{
    int code = with_fabric(1, [] {
        verbs::may_break();
        Native n("rc");
        n.warm();
        vbn_op_t ops[64] = {};
        iovec iovs[64];
        for (unsigned i = 0; i < 64; i++) {
            iovs[i] = {n.ours() + i * 4096, 4096};
            MUST(vbn_get(n.key, i * 4096, &iovs[i], 1, &ops[i]) == VBN_INPROGRESS);
        }
        for (const vbn_op_t &op : ops)
            MUST(n.pair.until([&] { return op.complete == 1; }) && op.status == VBN_OK);
        MUST(fabric_counts.most_reads == 16);
        n.close();
    });
    ASSERT_EQ(code, 0);
}

/* A third worker with a key of the owner's memory. */
struct Third {
    multi::Half half;
    vbn_key_t *key = nullptr;
    std::vector<uint8_t> data;
    explicit Third(Native &n) : data(LARGE)
    {
        uint8_t blob[VBN_KEY_MAX];
        size_t length = sizeof(blob);
        MUST(half.open("rc,ud") == VBN_OK && half.connect(n.pair.b) == VBN_OK);
        MUST(vbn_key_export(n.memory, 0, MEMORY, VBN_ACCESS_READ, blob, &length) == VBN_OK);
        MUST(vbn_key_import(half.peer, blob, length, &key) == VBN_OK);
    }
    /* Gets until the condition holds; the first of the pair only progresses if it may. */
    void get_until(Native &n, bool all, const std::function<bool()> &condition)
    {
        auto end = multi::Clock::now() + std::chrono::seconds(60);
        while (!condition()) {
            vbn_op_t op{};
            iovec iov{data.data(), data.size()};
            bool waits = vbn_get(key, 0, &iov, 1, &op) == VBN_INPROGRESS;
            while (waits && op.complete == 0) {
                MUST(multi::Clock::now() < end);
                (void)vbn_progress(n.pair.b.worker);
                (void)vbn_progress(half.worker);
                if (all)
                    (void)vbn_progress(n.pair.a.worker);
            }
            MUST(op.status == VBN_OK);
        }
    }
    void close()
    {
        vbn_key_release(key);
        half.close();
    }
};

TEST(VerbsNative, a_connection_is_given_up_only_after_what_is_under_way)
{
    int code = with_fabric(1, [] {
        setenv("VBN_LINK_PROMOTED_MAX", "1", 1);
        Native n("rc,ud");
        n.warm();
        Third third(n);
        /* Until the first worker has been idle for long enough: the owner hears nothing of gets by devices. */
        third.get_until(n, false, [&] { return verbs::counted(n.pair.b, "link.demotions") == 1; });
        vbn_op_t ops[4] = {};
        iovec iovs[4];
        for (unsigned i = 0; i < 4; i++) { /* before the first worker sees that its connection is to go */
            iovs[i] = {n.ours() + (i << 20), 1 << 20};
            MUST(vbn_get(n.key, i << 20, &iovs[i], 1, &ops[i]) == VBN_INPROGRESS);
        }
        MUST(n.counted("get.native.bytes") == LARGE + (4 << 20));
        for (const vbn_op_t &op : ops)
            MUST(n.pair.until([&] { return op.complete == 1; }) && op.status == VBN_OK);
        third.get_until(n, true, [&] { return verbs::counted(third.half, "get.native.bytes") > 0; });
        MUST(n.counted("link.lanes_dropped") == 1 && n.counted("native.redone") == 0 &&
             n.counted("link.lanes_lost") == 0);
        third.close();
        n.close();
    });
    ASSERT_EQ(code, 0);
}

INSTANTIATE_TEST_SUITE_P(Over, VerbsNative, ::testing::Values("rc", "rc,ud"),
                         [](const auto &each) { return std::string(each.param) == "rc" ? "rc" : "hybrid"; });

} // namespace
