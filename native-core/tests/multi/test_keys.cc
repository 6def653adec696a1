// SPDX-License-Identifier: Apache-2.0
// test_keys.cc - vbn_key_import_op: the operation that completes when it is decided whether a key's memory is mapped here.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "pair.h"

namespace {

using multi::Pair;
using multi::Shared;

constexpr size_t kBytes = 1 << 16, kOffset = 4096, kLength = 8192;

/* Memory of b's, a key of it at a, and the operation that waits for the decision. */
struct Window {
    Pair &pair;
    vbn_mem_t *mem = nullptr;
    vbn_key_t *key = nullptr;
    vbn_op_t op{};
    unsigned calls = 0;
    bool release = false; /* in the call-back */
    uint8_t blob[VBN_KEY_MAX];
    size_t blob_length = sizeof(blob);

    explicit Window(Pair &both) : pair(both)
    {
        MUST(vbn_mem_alloc(pair.b.context, kBytes, VBN_BACKING_MEMFD, nullptr, &mem) == VBN_OK);
        MUST(vbn_key_export(mem, kOffset, kLength, VBN_ACCESS_READ | VBN_ACCESS_WRITE, blob, &blob_length) == VBN_OK);
        op.done = done, op.user = this;
    }
    static void done(vbn_op_t *op, vbn_status_t, size_t)
    {
        auto *self = static_cast<Window *>(op->user);
        self->calls++;
        if (self->release) {
            vbn_key_release(self->key);
            self->key = nullptr;
        }
    }
    vbn_status_t import() { return vbn_key_import_op(pair.a.peer, blob, blob_length, &key, &op); }
    /* The same memory, before or after the decision. */
    void works()
    {
        uint64_t word = 0x1122334455667788;
        iovec iov{&word, sizeof(word)};
        vbn_op_t put{};
        MUST(pair.finish(vbn_put(key, 16, &iov, 1, &put), put) == VBN_OK);
        MUST(memcmp(static_cast<uint8_t *>(vbn_mem_address(mem)) + kOffset + 16, &word, sizeof(word)) == 0);
    }
    void close()
    {
        vbn_key_release(key);
        MUST(vbn_mem_free(mem) == VBN_OK);
    }
};

class Keys : public ::testing::TestWithParam<const char *> {
public:
    static bool maps() { return std::strcmp(GetParam(), "shm") == 0; }
    /* What the call returned, then the end of the operation. */
    static void expect_decided(Window &window, vbn_status_t called)
    {
        MUST(called == (maps() ? VBN_INPROGRESS : VBN_OK)); /* where nothing is mapped it is decided at once */
        MUST(window.pair.finish(called, window.op) == VBN_OK);
        MUST(window.calls == (maps() ? 1u : 0u) && window.op.complete == 1);
        MUST(window.op.length == (maps() ? kLength : 0));
        MUST((vbn_key_pointer(window.key) != nullptr) == maps());
    }
};

/* Limits cannot be taken back, and a wait that never ends is ended by the launcher. */
void in_child(const std::function<void()> &role)
{
    auto codes = multi::launch(1, [&](int, Shared &) { role(); });
    EXPECT_EQ(codes[0], 0);
}

TEST_P(Keys, the_operation_completes_when_the_memory_is_mapped_or_known_not_to_be)
{
    in_child([] {
        Pair pair(GetParam());
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
        Window window(pair);
        expect_decided(window, window.import());
        window.works();
        /* a second key of the same memory finds the mapping */
        vbn_key_t *again = nullptr;
        vbn_op_t op{};
        MUST(vbn_key_import_op(pair.a.peer, window.blob, window.blob_length, &again, &op) == VBN_OK &&
             op.complete == 1);
        MUST(op.length == (maps() ? kLength : 0) && vbn_key_pointer(again) == vbn_key_pointer(window.key));
        vbn_key_release(again);
        window.close();
        pair.close();
    });
}

TEST_P(Keys, a_peer_that_is_not_connected_yet_delays_the_decision)
{
    in_child([] {
        Pair pair(GetParam());
        MUST(pair.a.connect(pair.b) == VBN_OK);
        Window window(pair);
        expect_decided(window, window.import());
        window.works();
        window.close();
        pair.close();
    });
}

TEST_P(Keys, operations_may_be_issued_before_the_decision)
{
    in_child([] {
        Pair pair(GetParam());
        MUST(pair.a.connect(pair.b) == VBN_OK);
        Window window(pair);
        vbn_status_t called = window.import();
        window.works();
        expect_decided(window, called);
        window.close();
        pair.close();
    });
}

TEST_P(Keys, memory_that_is_reached_by_packets_is_decided_at_once)
{
    in_child([] {
        Pair pair(GetParam());
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
        std::vector<uint8_t> memory(kBytes);
        vbn_mem_t *mem = nullptr;
        vbn_key_t *key = nullptr;
        vbn_op_t op{};
        uint8_t blob[VBN_KEY_MAX];
        size_t length = sizeof(blob);
        MUST(vbn_mem_register(pair.b.context, memory.data(), kBytes, VBN_ACCESS_READ, &mem) == VBN_OK);
        MUST(vbn_key_export(mem, 0, kBytes, VBN_ACCESS_READ, blob, &length) == VBN_OK);
        MUST(vbn_key_import_op(pair.a.peer, blob, length, &key, &op) == VBN_OK);
        MUST(op.complete == 1 && op.status == VBN_OK && op.length == 0 && vbn_key_pointer(key) == nullptr);
        vbn_key_release(key);
        MUST(vbn_mem_free(mem) == VBN_OK);
        pair.close();
    });
}

TEST_P(Keys, a_mapping_that_the_host_refuses_is_decided_and_the_memory_is_reached_by_packets)
{
    in_child([] {
        Pair pair(GetParam());
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
        Window window(pair);
        rlimit before, none;
        MUST(getrlimit(RLIMIT_NOFILE, &before) == 0);
        none = {3, before.rlim_max}; /* no descriptor any more */
        MUST(setrlimit(RLIMIT_NOFILE, &none) == 0);
        MUST(pair.finish(window.import(), window.op) == VBN_OK);
        MUST(setrlimit(RLIMIT_NOFILE, &before) == 0);
        MUST(window.op.length == 0 && vbn_key_pointer(window.key) == nullptr);
        MUST(!maps() || pair.a.log.find("is not mapped here") != std::string::npos);
        window.works();
        window.close();
        pair.close();
    });
}

TEST_P(Keys, a_revoked_key_is_stale_where_it_would_be_mapped)
{
    in_child([] {
        Pair pair(GetParam());
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
        Window window(pair);
        MUST(vbn_mem_revoke(window.mem) == VBN_OK);
        MUST(pair.finish(window.import(), window.op) == (maps() ? VBN_ERR_STALE : VBN_OK));
        MUST(window.op.length == 0 && vbn_key_pointer(window.key) == nullptr);
        uint8_t byte = 1;
        iovec iov{&byte, 1};
        vbn_op_t put{};
        MUST(pair.finish(vbn_put(window.key, 0, &iov, 1, &put), put) == VBN_ERR_STALE);
        window.close();
        pair.close();
    });
}

TEST_P(Keys, a_peer_that_is_lost_completes_it)
{
    in_child([] {
        for (bool ready : {true, false}) {
            Pair pair(GetParam());
            MUST(pair.a.connect(pair.b) == VBN_OK);
            MUST(!ready || pair.send(8) == VBN_OK);
            Window window(pair);
            vbn_status_t called = window.import();
            MUST(called == (maps() ? VBN_INPROGRESS : VBN_OK));
            vbn_worker_destroy(pair.b.worker); /* before it has seen the request */
            pair.b.worker = nullptr;
            while (pair.a.lost == VBN_OK)
                (void)vbn_progress(pair.a.worker);
            MUST(window.calls == (maps() ? 1u : 0u) && window.op.complete == 1);
            MUST(window.op.status == (maps() ? pair.a.lost : VBN_OK));
            window.close();
            pair.close();
        }
    });
}

TEST_P(Keys, releasing_the_key_or_leaving_the_peer_completes_it)
{
    in_child([] {
        for (bool release : {true, false}) {
            Pair pair(GetParam());
            MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
            Window window(pair);
            MUST(window.import() == (maps() ? VBN_INPROGRESS : VBN_OK));
            if (release) {
                vbn_key_release(window.key);
                window.key = nullptr;
            } else {
                vbn_disconnect(pair.a.peer, VBN_CLOSE_NOW);
                pair.a.peer = nullptr;
            }
            MUST(pair.until([&] { return window.op.complete == 1; }));
            MUST(window.op.status == (maps() ? VBN_ERR_CLOSED : VBN_OK));
            for (int i = 0; i < 100; i++)
                pair.turn(); /* a late answer finds nobody */
            MUST(window.calls == (maps() ? 1u : 0u));
            window.close();
            pair.close();
        }
    });
}

TEST_P(Keys, the_key_may_be_released_inside_its_callback)
{
    in_child([] {
        Pair pair(GetParam());
        MUST(pair.a.connect(pair.b) == VBN_OK);
        Window window(pair);
        window.release = true;
        MUST(window.import() == (maps() ? VBN_INPROGRESS : VBN_OK));
        uint8_t byte = 1;
        iovec iov{&byte, 1};
        vbn_op_t put{}; /* waits for the decision, too */
        vbn_status_t called = vbn_put(window.key, 0, &iov, 1, &put);
        MUST(pair.finish(called, put) == (maps() ? VBN_ERR_CLOSED : VBN_OK));
        MUST(window.calls == (maps() ? 1u : 0u));
        window.close();
        pair.close();
    });
}

TEST(KeysOfSelf, memory_of_this_worker_is_decided_at_once)
{
    in_child([] {
        multi::Half half;
        vbn_mem_t *mem = nullptr;
        vbn_key_t *key = nullptr;
        vbn_op_t op{};
        uint8_t blob[VBN_KEY_MAX];
        size_t length = sizeof(blob);
        MUST(half.open("self") == VBN_OK && half.connect(half) == VBN_OK);
        MUST(vbn_mem_alloc(half.context, kBytes, VBN_BACKING_MEMFD, nullptr, &mem) == VBN_OK);
        MUST(vbn_key_export(mem, 0, kBytes, VBN_ACCESS_READ, blob, &length) == VBN_OK);
        vbn_status_t called = vbn_key_import_op(half.peer, blob, length, &key, &op);
        while (called == VBN_INPROGRESS && op.complete == 0)
            (void)vbn_progress(half.worker);
        MUST(op.complete == 1 && op.status == VBN_OK && op.length == kBytes && vbn_key_pointer(key) != nullptr);
        vbn_key_release(key);
        MUST(vbn_key_import_op(half.peer, blob, length, &key, nullptr) == VBN_ERR_INVALID);
        MUST(vbn_mem_free(mem) == VBN_OK);
        half.close();
    });
}

INSTANTIATE_TEST_SUITE_P(Over, Keys, ::testing::ValuesIn(multi::ways({"shm", "tcp"})),
                         [](const auto &each) { return multi::way_name(each.param); });

} // namespace
