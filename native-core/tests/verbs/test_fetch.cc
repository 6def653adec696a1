// SPDX-License-Identifier: Apache-2.0
// test_fetch.cc - large messages that the receiver's device reads out of the sender's memory: data, costs, connections that
// are earned, break or go, memory that is revoked.
#include "native.h"
#include <deque>
#include <infiniband/verbs.h>

using verbs::counted;
using verbs::in_fabric;
using verbs::LARGE;
using verbs::MEMORY;
using verbs::Native;
using verbs::pattern;

namespace {

constexpr size_t MIB = 1 << 20;

/* One side's messages to the other, pulled as they come, each into a place of its own. */
class Messages {
public:
    Messages(Native &n_, multi::Half &to, uint8_t *place_, size_t room_) : n(n_), place(place_), room(room_)
    {
        MUST(vbn_am_handler(to.worker, 6, on_message, this) == VBN_OK);
    }
    struct Sent {
        vbn_op_t op{};
        iovec iov{};
    };
    /* From this address; complete when it has arrived. */
    void send(vbn_peer_t *peer, uint8_t *from, size_t size, Sent &sent)
    {
        uint64_t number = count++;
        sent.iov = {from, size};
        MUST(vbn_am_send(peer, 6, &number, sizeof(number), &sent.iov, 1, VBN_AM_PULL, &sent.op) == VBN_INPROGRESS);
    }
    bool over(const Sent &sent) { return sent.op.complete == 1; }
    /* One message, to its end. */
    void pass(vbn_peer_t *peer, uint8_t *from, size_t size)
    {
        Sent sent;
        send(peer, from, size, sent);
        MUST(n.pair.until([&] { return over(sent) && arrived == count; }));
        MUST(sent.op.status == VBN_OK && sent.op.length == size && std::memcmp(place, from, size) == 0);
        rewind();
    }
    void rewind()
    {
        used = 0;
        pulls.clear();
    }
    uint64_t count = 0, arrived = 0, failed = 0;

private:
    struct Pull {
        vbn_op_t op{};
        iovec iov{};
        Messages *all = nullptr;
    };
    Native &n;
    uint8_t *place;
    size_t room, used = 0;
    std::deque<Pull> pulls;

    static void on_done(vbn_op_t *op, vbn_status_t status, size_t)
    {
        auto *self = static_cast<Pull *>(op->user)->all;
        self->arrived += status == VBN_OK;
        self->failed += status != VBN_OK;
    }
    static void on_message(void *arg, const vbn_am_message_t *message)
    {
        auto *self = static_cast<Messages *>(arg);
        MUST(message->remote != nullptr && message->length <= self->room - self->used);
        self->pulls.emplace_back();
        Pull &pull = self->pulls.back();
        pull.all = self;
        pull.iov = {self->place + self->used, message->length};
        self->used += message->length;
        pull.op.done = on_done;
        pull.op.user = &pull;
        MUST(vbn_am_pull(message->remote, &pull.iov, 1, &pull.op) == VBN_INPROGRESS);
    }
};

void fill(uint8_t *at, size_t length, unsigned round)
{
    for (size_t i = 0; i < length; i++)
        at[i] = pattern(i, round);
}

class VerbsFetch : public ::testing::TestWithParam<const char *> {};

TEST_P(VerbsFetch, messages_of_all_sizes_are_read_by_the_device_into_any_memory)
{
    in_fabric(1, [] {
        verbs::may_break();
        Native n(GetParam());
        n.warm();
        std::vector<uint8_t> heap(MEMORY);
        for (uint8_t *place : {n.theirs(), heap.data()}) {
            Messages messages(n, n.pair.b, place, MEMORY);
            uint64_t before = counted(n.pair.b, "get.native.bytes"), sum = 0;
            for (size_t size : {size_t{1}, size_t{127}, size_t{8192}, size_t{100000}, MIB + 1, 3 * MIB}) {
                fill(n.ours() + 77, size, static_cast<unsigned>(size));
                messages.pass(n.pair.a.peer, n.ours() + 77, size);
                sum += size;
            }
            MUST(counted(n.pair.b, "get.native.bytes") - before == sum);
        }
        MUST(counted(n.pair.b, "get.stream.bytes") == 0 && counted(n.pair.b, "native.redone") == 0);
        MUST(fabric_counts.refused == 0);
        n.close();
    });
}

TEST_P(VerbsFetch, a_message_is_copied_by_nobody_and_takes_a_request_per_mebibyte_and_two_packets)
{
    in_fabric(1, [] {
        verbs::may_break();
        Native n(GetParam());
        Messages messages(n, n.pair.b, n.theirs(), MEMORY);
        n.warm();
        messages.pass(n.pair.a.peer, n.ours(), 3 * MIB);
        n.rest();
        uint64_t copied = n.counted("verbs.copied_bytes") + counted(n.pair.b, "verbs.copied_bytes");
        fabric_counts_t before = fabric_counts;
        messages.pass(n.pair.a.peer, n.ours(), 3 * MIB);
        MUST(fabric_counts.reads - before.reads == 3 && fabric_counts.writes == before.writes);
        MUST(n.counted("verbs.copied_bytes") + counted(n.pair.b, "verbs.copied_bytes") == copied);
        /* RTS_DEVICE, the reads, STATUS, and acknowledgements */
        MUST(fabric_counts.requests - before.requests <= 3 + 2 + 2);
        MUST(fabric_counts.doorbells - before.doorbells <= 3 + 2);
        MUST(fabric_counts.signalled - before.signalled <= 2);
        n.close();
    });
}

TEST(VerbsFetch, the_first_large_message_earns_a_connection_whoever_sends_it_and_small_ones_do_not)
{
    for (bool dialled : {true, false})
        in_fabric(1, [=] {
            setenv("VBN_LINK_PROMOTE_AFTER", "1000000", 1);
            Native n("rc,ud");
            multi::Half &from = dialled ? n.pair.a : n.pair.b, &to = dialled ? n.pair.b : n.pair.a;
            uint8_t *data = dialled ? n.ours() : n.theirs();
            MUST(dialled || from.connect(to) == VBN_OK); /* the same connection, whoever opened it */
            vbn_peer_t *peer = from.peer;
            Messages messages(n, to, dialled ? n.theirs() : n.ours(), MEMORY);
            for (unsigned i = 0; i < 20; i++)
                messages.pass(peer, data, 64);
            n.rest();
            MUST(n.counted("link.lanes_added") == 0);
            messages.pass(peer, data, LARGE);
            MUST(n.pair.until([&] { return n.counted("link.lanes_added") == 1; }));
            n.rest();
            uint64_t before = counted(to, "get.native.bytes");
            messages.pass(peer, data, LARGE);
            messages.pass(peer, data, 64);
            MUST(counted(to, "get.native.bytes") - before == LARGE + 64);
            n.close();
        });
}

TEST(VerbsFetch, a_peer_with_one_connection_and_nothing_else_gets_a_second_for_large_messages)
{
    in_fabric(1, [] {
        Native n("rc"); /* link.resume_timeout=0 */
        Messages messages(n, n.pair.b, n.theirs(), MEMORY);
        messages.pass(n.pair.a.peer, n.ours(), MIB);
        MUST(counted(n.pair.b, "get.native.bytes") == 0 && counted(n.pair.b, "get.stream.bytes") == MIB);
        MUST(n.pair.until([&] { return n.counted("link.lanes_added") == 1; }));
        n.rest();
        messages.pass(n.pair.a.peer, n.ours(), MIB);
        MUST(counted(n.pair.b, "get.native.bytes") == MIB);
        n.close();
    });
}

/* Three large messages of a at once, and small ones between them, while the k-th request of a connection fails. */
void messages_while_it_breaks(Native &n, Messages &messages, unsigned k)
{
    constexpr size_t SIZE = MIB + 4096; /* two reads each */
    Messages::Sent sent[3];
    unsigned small = n.pair.b.messages;
    fill(n.ours(), 3 * SIZE, k);
    std::memset(n.theirs(), 0, 3 * SIZE);
    fabric_script.fail_status = IBV_WC_RETRY_EXC_ERR;
    fabric_script.fail_request_at = k;
    for (unsigned i = 0; i < 3; i++) {
        messages.send(n.pair.a.peer, n.ours() + i * SIZE, SIZE, sent[i]);
        vbn_op_t op{};
        iovec iov{&k, sizeof(k)};
        MUST(vbn_am_send(n.pair.a.peer, 1, nullptr, 0, &iov, 1, 0, &op) == VBN_OK);
    }
    MUST(n.pair.until([&] {
        return messages.over(sent[0]) && messages.over(sent[1]) && messages.over(sent[2]) &&
               messages.arrived == messages.count && n.pair.b.messages == small + 3;
    }));
    for (const auto &one : sent)
        MUST(one.op.status == VBN_OK && one.op.length == SIZE);
    MUST(std::memcmp(n.theirs(), n.ours(), 3 * SIZE) == 0 && messages.failed == 0);
    messages.rewind();
}

TEST_P(VerbsFetch, a_connection_that_breaks_at_any_request_costs_no_message)
{
    in_fabric(1, [] {
        verbs::may_break();
        Native n(GetParam());
        Messages messages(n, n.pair.b, n.theirs(), MEMORY);
        n.warm();
        for (unsigned k = 1; k <= 20; k++) {
            messages_while_it_breaks(n, messages, k);
            fabric_script.fail_request_at = 0;
            n.warm();
        }
        MUST(counted(n.pair.b, "native.redone") > 0 && counted(n.pair.b, "get.native.bytes") > 0);
        MUST(n.pair.a.lost == VBN_OK && n.pair.b.lost == VBN_OK);
        n.close();
    });
}

TEST_P(VerbsFetch, memory_that_is_revoked_after_it_was_announced_comes_by_packets)
{
    in_fabric(1, [] {
        verbs::may_break();
        Native n(GetParam());
        Messages messages(n, n.pair.b, n.theirs(), MEMORY);
        n.warm();
        messages.pass(n.pair.a.peer, n.ours(), MIB);
        uint64_t by_device = counted(n.pair.b, "get.native.bytes");
        Messages::Sent sent;
        fill(n.ours(), MIB, 9);
        messages.send(n.pair.a.peer, n.ours(), MIB, sent);
        MUST(vbn_mem_revoke(n.local) == VBN_OK);
        MUST(n.pair.until([&] { return messages.over(sent) && messages.arrived == messages.count; }));
        MUST(sent.op.status == VBN_OK && std::memcmp(n.theirs(), n.ours(), MIB) == 0);
        MUST(fabric_counts.refused > 0 && counted(n.pair.b, "native.redone") == 1);
        MUST(counted(n.pair.b, "get.stream.bytes") == MIB);
        messages.rewind();
        messages.pass(n.pair.a.peer, n.ours(), MIB); /* revoked memory is not offered */
        MUST(counted(n.pair.b, "get.native.bytes") <= by_device + MIB);
        MUST(n.pair.a.lost == VBN_OK && n.pair.b.lost == VBN_OK);
        n.close();
    });
}

TEST_P(VerbsFetch, a_device_that_takes_no_more_memory_leaves_the_messages_to_packets)
{
    in_fabric(1, [] {
        verbs::may_break();
        Native n(GetParam());
        Messages messages(n, n.pair.b, n.theirs(), MEMORY);
        n.warm();
        fabric_script.fail_register_at = 1;
        messages.pass(n.pair.a.peer, n.ours(), MIB);
        MUST(fabric_script.fail_register_at == 0);
        messages.pass(n.pair.a.peer, n.ours(), MIB);
        MUST(counted(n.pair.b, "get.native.bytes") == 0 && counted(n.pair.b, "get.stream.bytes") == 2 * MIB);
        MUST(verbs::says(n.pair.a.log, "fall back to packets from now on"));
        n.close();
    });
}

TEST_P(VerbsFetch, a_peer_that_ends_while_its_memory_is_read_ends_the_message_at_both_sides)
{
    for (bool receiver : {false, true})
        in_fabric(1, [=] {
            setenv("VBN_LINK_RESUME_TIMEOUT", "300ms", 1);
            setenv("VBN_LINK_KEEPALIVE", "200ms", 1);
            setenv("VBN_LINK_PEER_TIMEOUT", "1s", 1);
            Native n(GetParam());
            Messages messages(n, n.pair.b, n.theirs(), MEMORY);
            Messages::Sent sent;
            n.warm();
            fabric_script.late_ppm = 500000;
            messages.send(n.pair.a.peer, n.ours(), 3 * MIB, sent);
            MUST(n.pair.until([&] { return counted(n.pair.b, "get.native.bytes") > 0; }));
            MUST(messages.arrived == 0);
            if (receiver) {
                vbn_worker_destroy(n.pair.b.worker);
                n.pair.b.worker = nullptr;
                auto end = multi::Clock::now() + std::chrono::seconds(60);
                while (!messages.over(sent)) {
                    MUST(multi::Clock::now() < end);
                    (void)vbn_progress(n.pair.a.worker);
                }
                MUST(sent.op.status == VBN_ERR_PEER_LOST);
            } else {
                vbn_key_release(n.key);
                n.key = nullptr;
                vbn_disconnect(n.pair.a.peer, VBN_CLOSE_NOW);
                n.pair.a.peer = nullptr;
                MUST(n.pair.until([&] { return messages.failed + messages.arrived == 1; }));
                MUST(messages.over(sent)); /* the receiver may have had it all */
            }
            n.close();
        });
}

INSTANTIATE_TEST_SUITE_P(Over, VerbsFetch, ::testing::Values("rc", "rc,ud"),
                         [](const auto &each) { return std::string(each.param) == "rc" ? "rc" : "hybrid"; });

} // namespace
