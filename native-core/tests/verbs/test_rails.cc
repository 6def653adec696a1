// SPDX-License-Identifier: Apache-2.0
// test_rails.cc - several devices at once: which are used, bulk data over all of them, and one that dies.
#include "traffic.h"

using multi::Half;
using verbs::counted;
using verbs::in_fabric;
using verbs::says;

namespace {

constexpr size_t BYTES = 1 << 20;

/* Puts of a's into memory of b's own, which goes by packets; checked in b's memory. */
class Puts {
public:
    explicit Puts(multi::Pair &pair_) : pair(pair_), there(BYTES), data(BYTES)
    {
        uint8_t blob[VBN_KEY_MAX];
        size_t length = sizeof(blob);
        MUST(vbn_mem_register(pair.b.context, there.data(), BYTES, VBN_ACCESS_READ | VBN_ACCESS_WRITE, &mem) == VBN_OK);
        MUST(vbn_key_export(mem, 0, BYTES, VBN_ACCESS_READ | VBN_ACCESS_WRITE, blob, &length) == VBN_OK);
        MUST(pair.a.connect(pair.b) == VBN_OK);
        MUST(vbn_key_import(pair.a.peer, blob, length, &key) == VBN_OK);
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
            std::fprintf(stderr, "put %u: %s\n%s\n%s", round, pair.a.text.c_str(), pair.a.log.c_str(), pair.b.log.c_str());
        MUST(op.complete == 1 && op.status == VBN_OK && there == data);
    }
    void run(unsigned count)
    {
        for (unsigned i = 0; i < count; i++) {
            start();
            finish();
        }
    }
    void close()
    {
        vbn_key_release(key);
        MUST(vbn_mem_free(mem) == VBN_OK);
        pair.close();
    }

private:
    multi::Pair &pair;
    std::vector<uint8_t> there, data;
    vbn_mem_t *mem = nullptr;
    vbn_key_t *key = nullptr;
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
        MUST(says(pair.a.log, "over fab0:1") && says(pair.a.log, "over fab1:1") && says(pair.a.log, "named by tl.verbs.device"));
        Puts puts(pair);
        lanes(pair, puts, std::strncmp(GetParam(), "rc", 2) == 0 ? "one lane more, over rc.1" : "one lane more, over ud.1");
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
            lanes(pair, puts, std::strncmp(GetParam(), "rc", 2) == 0 ? "one lane more, over rc.1" : "one lane more, over ud.1");
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
