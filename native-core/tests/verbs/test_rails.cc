// SPDX-License-Identifier: Apache-2.0
// test_rails.cc - several devices, and several connections to a peer: which are used, bulk data over all, one that dies.
#include "traffic.h"
#include <infiniband/verbs.h>

using multi::Half;
using verbs::counted;
using verbs::in_fabric;
using verbs::says;

namespace {

constexpr size_t BYTES = 1 << 20;

/* Memory of b's that a has a key of. */
class Shared {
public:
    void close()
    {
        vbn_key_release(key);
        MUST(vbn_mem_free(mem) == VBN_OK);
        pair.close();
    }

protected:
    multi::Pair &pair;
    std::vector<uint8_t> data; /* a's */
    vbn_mem_t *mem = nullptr;
    vbn_key_t *key = nullptr;

    explicit Shared(multi::Pair &pair_) : pair(pair_), data(BYTES) {}
    void import_key()
    {
        uint8_t blob[VBN_KEY_MAX];
        size_t length = sizeof(blob);
        MUST(vbn_key_export(mem, 0, BYTES, VBN_ACCESS_READ | VBN_ACCESS_WRITE, blob, &length) == VBN_OK);
        MUST(pair.a.connect(pair.b) == VBN_OK);
        MUST(vbn_key_import(pair.a.peer, blob, length, &key) == VBN_OK);
    }
};

/* Puts of a's into memory of b's own, which goes by packets; checked in b's memory. */
class Puts : public Shared {
public:
    explicit Puts(multi::Pair &pair_) : Shared(pair_), there(BYTES)
    {
        MUST(vbn_mem_register(pair.b.context, there.data(), BYTES, VBN_ACCESS_READ | VBN_ACCESS_WRITE, &mem) == VBN_OK);
        import_key();
    }
    void start()
    {
        round++;
        for (size_t i = 0; i < BYTES; i++)
            data[i] = static_cast<uint8_t>(i * 7 + (i >> 9) + round);
        iov = {data.data(), BYTES};
        op = {};
        status = vbn_put(key, 0, &iov, 1, &op);
    }
    void finish()
    {
        if (!pair.until([&] { return op.complete == 1 || pair.a.lost != VBN_OK; }) || op.status != VBN_OK)
            std::fprintf(stderr, "put %u: %s\n%s\n%s", round, pair.a.text.c_str(), pair.a.log.c_str(),
                         pair.b.log.c_str());
        MUST(op.complete == 1 && op.status == VBN_OK && there == data);
    }
    void run(unsigned count)
    {
        for (unsigned i = 0; i < count; i++) {
            start();
            finish();
        }
    }

private:
    std::vector<uint8_t> there;
    vbn_op_t op{};
    iovec iov{};
    vbn_status_t status = VBN_OK;
    unsigned round = 0;
};

void use(const char *devices)
{
    setenv("VBN_TL_VERBS_DEVICE", devices, 1);
    verbs::promote_early();
}

/* Puts until the peer has that many lanes over the transport. */
void lanes(multi::Pair &pair, Puts &puts, const char *line)
{
    MUST(pair.until([&] {
        puts.run(1);
        return pair.a.log.find(line) != std::string::npos;
    }));
}

class VerbsRails : public ::testing::TestWithParam<const char *> {};

TEST_P(VerbsRails, carry_bulk_data_over_every_device_that_is_named)
{
    in_fabric(2, [] {
        use("fab0,fab1");
        multi::Pair pair(GetParam());
        MUST(says(pair.a.log, "over fab0:1") && says(pair.a.log, "over fab1:1") &&
             says(pair.a.log, "named by tl.verbs.device"));
        Puts puts(pair);
        lanes(pair, puts,
              std::strncmp(GetParam(), "rc", 2) == 0 ? "one lane more, over rc.1" : "one lane more, over ud.1");
        fabric_counts_t before = fabric_counts;
        puts.run(4);
        for (unsigned device = 0; device < 2; device++)
            MUST(fabric_counts.device_bytes[device] - before.device_bytes[device] > BYTES);
        puts.close();
    });
}

TEST_P(VerbsRails, of_which_one_dies_cost_nothing)
{
    for (unsigned dies = 0; dies < 2; dies++)
        in_fabric(2, [&] {
            use("fab0,fab1");
            multi::Pair pair(GetParam());
            Puts puts(pair);
            lanes(pair, puts,
                  std::strncmp(GetParam(), "rc", 2) == 0 ? "one lane more, over rc.1" : "one lane more, over ud.1");
            puts.start();
            for (unsigned i = 0; i < 5; i++)
                pair.turn();
            fabric_kill_device(dies);
            puts.finish();
            puts.run(3);
            puts.close();
        });
}

INSTANTIATE_TEST_SUITE_P(Over, VerbsRails, ::testing::Values("rc", "ud", "rc,ud"),
                         [](const auto &each) { return multi::way_name(each.param); });

/* b receives what a announces, from and to memory of the core; checked. In two pieces it goes by packets. */
class Messages {
public:
    Messages(multi::Pair &pair_, size_t bytes_, size_t pieces_ = 1) : pair(pair_), bytes(bytes_), pieces(pieces_)
    {
        MUST(vbn_am_handler(pair.b.worker, 5, on_message, this) == VBN_OK);
        MUST(vbn_mem_alloc(pair.a.context, bytes, VBN_BACKING_MEMFD, nullptr, &from) == VBN_OK);
        MUST(vbn_mem_alloc(pair.b.context, bytes, VBN_BACKING_MEMFD, nullptr, &to) == VBN_OK);
    }
    void run(unsigned count)
    {
        for (unsigned i = 0; i < count; i++) {
            auto *data = static_cast<uint8_t *>(vbn_mem_address(from));
            for (size_t at = 0; at < bytes; at++)
                data[at] = static_cast<uint8_t>(at * 3 + (at >> 12) + i);
            const iovec iov[2] = {{data, bytes / pieces}, {data + bytes / pieces, bytes - bytes / pieces}};
            vbn_op_t op{};
            pull = {};
            MUST(pair.finish(vbn_am_send(pair.a.peer, 5, nullptr, 0, iov, pieces, VBN_AM_PULL, &op), op) == VBN_OK);
            MUST(pair.until([&] { return pull.complete == 1; }) && pull.status == VBN_OK && pull.length == bytes);
            MUST(std::memcmp(data, vbn_mem_address(to), bytes) == 0);
        }
    }
    void close() { MUST(vbn_mem_free(from) == VBN_OK && vbn_mem_free(to) == VBN_OK); }

private:
    multi::Pair &pair;
    size_t bytes, pieces;
    vbn_mem_t *from = nullptr, *to = nullptr;
    vbn_op_t pull{};
    iovec into{};
    static void on_message(void *arg, const vbn_am_message_t *message)
    {
        auto *self = static_cast<Messages *>(arg);
        MUST(message->length == self->bytes && message->remote != nullptr);
        self->into = {vbn_mem_address(self->to), self->bytes};
        MUST(vbn_am_pull(message->remote, &self->into, 1, &self->pull) == VBN_INPROGRESS);
    }
};

class VerbsConnections : public ::testing::TestWithParam<const char *> {};

TEST_P(VerbsConnections, several_to_one_peer_over_one_device_share_its_bulk_data)
{
    in_fabric(1, [] {
        setenv("VBN_LINK_RAILS", "4", 1);
        verbs::promote_early();
        multi::Pair pair(GetParam());
        Puts puts(pair);
        Messages messages(pair, BYTES);
        lanes(pair, puts,
              std::strncmp(GetParam(), "rc", 2) == 0 && std::strchr(GetParam(), ',') == nullptr ? "over rc (4 now)"
                                                                                                : "over rc (5 now)");
        puts.run(8);
        MUST(fabric_connections_with(BYTES) == 4); /* 8 MiB over a's four */
        messages.run(8);
        MUST(fabric_connections_with(BYTES) == 8); /* b's read 8 MiB */
        MUST(counted(pair.b, "get.native.bytes") == 8 * BYTES);
        MUST(pair.a.lost == VBN_OK && counted(pair.a, "link.lanes_lost") == 0);
        messages.close();
        puts.close();
    });
}

TEST_P(VerbsConnections, of_which_one_breaks_at_any_packet_cost_nothing)
{
    in_fabric(1, [] {
        setenv("VBN_LINK_RAILS", "3", 1);
        verbs::promote_early();
        multi::Pair pair(GetParam());
        Puts puts(pair);
        Messages messages(pair, BYTES);
        for (unsigned k = 1; k <= 100; k += 11) {
            const uint64_t more = std::strcmp(GetParam(), "rc") == 0
                                      ? 2
                                      : 3; /* lanes than the first; all are there, again */
            MUST(pair.until([&] {
                puts.run(1);
                return counted(pair.a, "link.lanes_added") == counted(pair.a, "link.lanes_lost") + more &&
                       counted(pair.b, "link.lanes_added") == counted(pair.b, "link.lanes_lost") + more;
            }));
            uint64_t before = counted(pair.a, "link.lanes_lost") + counted(pair.b, "link.lanes_lost");
            fabric_script.fail_status = IBV_WC_RETRY_EXC_ERR;
            fabric_script.fail_request_at = k;
            messages.run(1);
            puts.run(1);
            MUST(pair.until(
                [&] { return counted(pair.a, "link.lanes_lost") + counted(pair.b, "link.lanes_lost") > before; }));
        }
        MUST(pair.a.lost == VBN_OK && pair.b.lost == VBN_OK);
        messages.close();
        puts.close();
    });
}

TEST_P(VerbsConnections, send_announced_memory_of_the_core_without_a_copy_and_with_few_completions)
{
    in_fabric(1, [] {
        verbs::promote_early();
        multi::Pair pair(GetParam());
        Puts puts(pair);
        Messages messages(pair, BYTES, 2);
        auto copied_by = [&](unsigned count) {
            uint64_t copied = counted(pair.a, "verbs.copied_bytes");
            messages.run(count);
            return counted(pair.a, "verbs.copied_bytes") - copied;
        };
        puts.run(8);
        MUST(pair.until([&] { return copied_by(1) < 1024; })); /* ud copies, until the rc connection is there */
        fabric_counts_t before = fabric_counts;
        MUST(copied_by(8) < 8 * 1024); /* headers of control packets */
        uint64_t requests = fabric_counts.requests - before.requests;
        MUST(requests >= 8 * BYTES / 8192);
        MUST(fabric_counts.doorbells - before.doorbells < requests / 2);
        MUST((fabric_counts.signalled - before.signalled) * 6 <
             requests); /* one for the segments of a transfer at a time */
        messages.close();
        puts.close();
    });
}

INSTANTIATE_TEST_SUITE_P(Over, VerbsConnections, ::testing::Values("rc", "rc,ud"),
                         [](const auto &each) { return multi::way_name(each.param); });

/* a's gets of b's memory of the core, by devices. */
class Gets : public Shared {
public:
    explicit Gets(multi::Pair &pair_) : Shared(pair_)
    {
        MUST(vbn_mem_alloc(pair.b.context, BYTES, VBN_BACKING_MEMFD, nullptr, &mem) == VBN_OK);
        import_key();
    }
    void run(unsigned count)
    {
        for (unsigned i = 0; i < count; i++) {
            auto *there = static_cast<uint8_t *>(vbn_mem_address(mem));
            for (size_t at = 0; at < BYTES; at++)
                there[at] = static_cast<uint8_t>(at * 5 + (at >> 10) + i);
            iovec iov{data.data(), BYTES};
            vbn_op_t op{};
            MUST(pair.finish(vbn_get(key, 0, &iov, 1, &op), op) == VBN_OK && op.length == BYTES);
            MUST(std::memcmp(there, data.data(), BYTES) == 0);
        }
    }
};

TEST(VerbsDevices, all_of_a_peer_share_each_large_get_and_message)
{
    in_fabric(2, [] {
        use("fab0,fab1");
        multi::Pair pair("rc,ud");
        Gets gets(pair);
        Messages messages(pair, BYTES);
        MUST(pair.until([&] {
            gets.run(1);
            return pair.a.log.find("one lane more, over rc.1") != std::string::npos;
        }));
        gets.run(8); /* asks for the key's second device */
        fabric_counts_t before = fabric_counts;
        gets.run(8);
        for (unsigned device = 0; device < 2; device++)
            MUST(fabric_counts.device_bytes[device] - before.device_bytes[device] > 3 * BYTES);
        before = fabric_counts;
        messages.run(8);
        for (unsigned device = 0; device < 2; device++)
            MUST(fabric_counts.device_bytes[device] - before.device_bytes[device] > 3 * BYTES);
        MUST(counted(pair.b, "get.native.bytes") == 8 * BYTES && counted(pair.a, "native.redone") == 0);
        messages.close();
        gets.close();
    });
}

TEST(VerbsDevices, one_that_dies_among_gets_and_messages_costs_nothing)
{
    for (unsigned dies = 0; dies < 2; dies++)
        in_fabric(2, [=] {
            use("fab0,fab1");
            multi::Pair pair("rc,ud");
            Gets gets(pair);
            Messages messages(pair, BYTES);
            MUST(pair.until([&] {
                gets.run(1);
                return pair.a.log.find("one lane more, over rc.1") != std::string::npos;
            }));
            gets.run(8);
            messages.run(2);
            fabric_kill_device(dies);
            gets.run(4);
            messages.run(4);
            MUST(pair.a.lost == VBN_OK && pair.b.lost == VBN_OK);
            messages.close();
            gets.close();
        });
}

TEST(VerbsDevices, one_is_used_by_default_and_all_when_the_setting_says_so)
{
    in_fabric(2, [] {
        Half half;
        MUST(half.open("ud") == VBN_OK && says(half.log, "over fab0:1") && says(half.log, "the first active port"));
        MUST(half.log.find("fab1") == std::string::npos);
        half.close();
        half.log.clear();
        setenv("VBN_TL_VERBS_DEVICE", "all", 1);
        MUST(half.open("ud") == VBN_OK && says(half.log, "over fab0:1") && says(half.log, "over fab1:1"));
        MUST(says(half.log, "device 2 of all"));
        half.close();
    });
}

TEST(VerbsDevices, that_are_missing_are_left_out_and_the_others_keep_their_places)
{
    in_fabric(2, [] {
        use("fab9,fab1");
        multi::Pair pair("ud");
        MUST(says(pair.a.log, "no RDMA device is named fab9"));
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(100) == VBN_OK);
        char why[512];
        (void)vbn_explain(pair.a.peer, why, sizeof(why));
        MUST(says(why, "ud.1: fab1:1"));
        pair.close();
    });
}

} // namespace
