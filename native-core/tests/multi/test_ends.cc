// SPDX-License-Identifier: Apache-2.0
// test_ends.cc - what the other side is told of an end: a close that was announced is no loss, a broken connection is one, and
// a peer that only used memory counts like one that sent messages.
#include <gtest/gtest.h>

#include <algorithm>

#include "pair.h"

namespace {

using multi::Half;
using multi::Pair;
using multi::Shared;

/* Over TCP also with packets that are kept until acknowledged. */
struct Way {
    const char *transport;
    bool resumes;
};

class Ends : public ::testing::TestWithParam<Way> {
public:
    /* In a process of its own, because the environment is set. */
    static void run(const std::function<void(Pair &)> &role)
    {
        auto codes = multi::launch(1, [&](int, Shared &) {
            if (GetParam().resumes)
                setenv("VBN_LINK_RESUME_TIMEOUT", "300ms", 1);
            Pair pair(GetParam().transport);
            role(pair);
            pair.close();
        });
        EXPECT_EQ(codes[0], 0);
    }
};

unsigned losses(const Half &half)
{
    return static_cast<unsigned>(std::count_if(half.logged.begin(), half.logged.end(),
                                               [](const auto &line) { return line.first == VBN_LOG_PEER_LOST; }));
}

uint64_t counted(const Half &half)
{
    vbn_counter_t all[256];
    size_t count = vbn_counters(half.context, all, 256);
    for (size_t i = 0; i < count && i < 256; i++)
        if (std::strcmp(all[i].name, "peers.lost") == 0)
            return all[i].value;
    MUST(!"there is a counter of lost peers");
    return 0;
}

void until_lost(const Half &half)
{
    while (half.lost == VBN_OK) /* ended by the launcher's time limit */
        (void)vbn_progress(half.worker);
}

void expect_orderly(const Half &half)
{
    if (losses(half) + counted(half) != 0)
        std::fprintf(stderr, "%s\n", half.log.c_str());
    MUST(half.lost == VBN_ERR_PEER_LOST && half.text == "the peer closed the connection");
    MUST(losses(half) == 0 && counted(half) == 0);
}

/* Both acknowledge all that they have. */
void settle(Pair &pair)
{
    vbn_op_t op{};
    MUST(pair.finish(vbn_flush(pair.a.peer, &op), op) == VBN_OK);
}

/* Closes gracefully and ends at once. */
void leave(Half &half)
{
    vbn_disconnect(half.peer, VBN_CLOSE_FLUSH);
    half.peer = nullptr;
    vbn_worker_destroy(half.worker);
    half.worker = nullptr;
}

TEST_P(Ends, a_worker_destroyed_right_after_a_graceful_close_has_left_orderly)
{
    run([](Pair &pair) {
        vbn_worker_set_peer_lost(pair.b.worker, Half::on_lost, &pair.b);
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(100) == VBN_OK);
        settle(pair);
        leave(pair.a);
        until_lost(pair.b);
        expect_orderly(pair.b);
    });
}

TEST_P(Ends, what_was_sent_just_before_arrives_before_the_close)
{
    run([](Pair &pair) {
        vbn_worker_set_peer_lost(pair.b.worker, Half::on_lost, &pair.b);
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(100) == VBN_OK);
        settle(pair);
        uint64_t data = 7;
        iovec iov{&data, sizeof(data)};
        vbn_op_t ops[2] = {};
        for (vbn_op_t &op : ops)
            MUST(vbn_am_send(pair.a.peer, 1, nullptr, 0, &iov, 1, 0, &op) >= 0);
        leave(pair.a);
        until_lost(pair.b);
        MUST(pair.b.messages == 3);
        expect_orderly(pair.b);
    });
}

/* A graceful close does not end a connection that the other side opened; the end of the worker does, later. */
TEST_P(Ends, a_side_that_did_not_open_the_connection_leaves_orderly_too)
{
    run([](Pair &pair) {
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(100) == VBN_OK);
        MUST(pair.b.connect(pair.a) == VBN_OK);
        settle(pair);
        leave(pair.b);
        until_lost(pair.a);
        expect_orderly(pair.a);
    });
}

/* Where packets are kept until acknowledged the core announces every end. */
TEST_P(Ends, a_worker_that_says_nothing_is_lost)
{
    run([](Pair &pair) {
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(100) == VBN_OK);
        settle(pair);
        vbn_worker_destroy(pair.b.worker);
        pair.b.worker = nullptr;
        until_lost(pair.a);
        unsigned expected = GetParam().resumes ? 0 : 1;
        MUST(losses(pair.a) == expected && counted(pair.a) == expected);
    });
}

/* Memory of b's that a maps where it can, and puts to. */
void put_only(Pair &pair, bool puts)
{
    vbn_worker_set_peer_lost(pair.b.worker, Half::on_lost, &pair.b);
    vbn_mem_t *mem = nullptr;
    vbn_key_t *key = nullptr;
    uint8_t blob[VBN_KEY_MAX], byte = 9;
    size_t length = sizeof(blob);
    iovec iov{&byte, 1};
    vbn_op_t op{};
    MUST(vbn_mem_alloc(pair.b.context, 4096, VBN_BACKING_MEMFD, nullptr, &mem) == VBN_OK);
    MUST(vbn_key_export(mem, 0, 4096, VBN_ACCESS_READ | VBN_ACCESS_WRITE, blob, &length) == VBN_OK);
    MUST(pair.a.connect(pair.b) == VBN_OK && vbn_key_import(pair.a.peer, blob, length, &key) == VBN_OK);
    if (puts) {
        MUST(pair.finish(vbn_put(key, 0, &iov, 1, &op), op) == VBN_OK);
        MUST(*static_cast<uint8_t *>(vbn_mem_address(mem)) == 9);
    } else {
        MUST(pair.until([&] {
            return pair.a.log.find(" uses ") != std::string::npos && pair.b.log.find(" uses ") != std::string::npos;
        }));
    }
    vbn_key_release(key);
    pair.a.close();
    until_lost(pair.b);
    MUST(pair.b.lost == VBN_ERR_PEER_LOST);
    MUST(vbn_mem_free(mem) == VBN_OK);
}

TEST_P(Ends, of_a_peer_that_only_puts_are_told)
{
    run([](Pair &pair) { put_only(pair, true); });
}

TEST_P(Ends, of_a_peer_that_only_connects_are_told)
{
    run([](Pair &pair) { put_only(pair, false); });
}

INSTANTIATE_TEST_SUITE_P(Over, Ends, ::testing::Values(Way{"shm", false}, Way{"tcp", false}, Way{"tcp", true}),
                         [](const auto &each) {
                             return std::string(each.param.transport) + (each.param.resumes ? "_resuming" : "");
                         });

} // namespace
