// SPDX-License-Identifier: Apache-2.0
// test_calls.cc - every call of the client library, the same over messages, over sockets to ours, and to Debian's memcached.
#include "server.h"

using namespace client_test;

namespace {

struct Way {
    const char *name;
    Kind kind;
    std::vector<std::string> flags;
    const char *options;
    bool messages;
};

class Calls : public ::testing::TestWithParam<Way> {
protected:
    Calls() : server(GetParam().kind, GetParam().flags), client(server.name(GetParam().options)) {}
    void TearDown() override
    {
        vmc_counts_t counts = client.counts();
        EXPECT_EQ(counts.messages > 0, GetParam().messages) << client.explain();
        EXPECT_EQ(counts.sockets > 0, !GetParam().messages) << client.explain();
        EXPECT_EQ(counts.late, 0u);
    }
    vmc_status_t del(const std::string &key) { return vmc_delete(client.mc, key.data(), key.size()); }
    Server server;
    Client client;
};

std::string pattern(size_t size, unsigned seed)
{
    std::string text(size, '\0');
    for (size_t i = 0; i < size; i++)
        text[i] = static_cast<char>(i * 131 + (i >> 8) * 7 + seed);
    return text;
}

TEST_P(Calls, values_of_all_sizes_come_back_with_their_flags)
{
    for (size_t size : {0, 1, 100, 4095, 4096, 4097, 8192, 20000, 65536, 300000, 1000000}) {
        std::string value = pattern(size, static_cast<unsigned>(size)), key = "size:" + std::to_string(size);
        vmc_value_t got{};
        ASSERT_EQ(client.set(key, value, 0, static_cast<uint32_t>(size) + 7), VMC_OK) << client.explain();
        ASSERT_EQ(client.get(key, &got), value) << size << client.explain();
        ASSERT_EQ(got.flags, size + 7);
        ASSERT_NE(got.cas, 0u);
    }
    EXPECT_EQ(client.set("large", pattern(1500000, 1)), VMC_ERR_TOO_LARGE);
    EXPECT_EQ(client.get("large"), "(VMC_NOT_FOUND)");
    EXPECT_EQ(client.set("after", "it goes on"), VMC_OK);
    EXPECT_EQ(client.get("after"), "it goes on");
}

TEST_P(Calls, long_keys_work_with_small_and_large_values)
{
    for (size_t length : {1, 159, 160, 161, 250})
        for (size_t size : {3, 50000}) {
            std::string key(length, static_cast<char>('a' + length % 26)), value = pattern(size, 3);
            ASSERT_EQ(client.set(key, value), VMC_OK) << length;
            ASSERT_EQ(client.get(key), value) << length;
            ASSERT_EQ(vmc_touch(client.mc, key.data(), key.size(), 100), VMC_OK);
            ASSERT_EQ(del(key), VMC_OK);
            ASSERT_EQ(client.get(key), "(VMC_NOT_FOUND)");
        }
    EXPECT_EQ(client.set(std::string(251, 'k'), "v"), VMC_ERR_INVALID);
    EXPECT_EQ(client.set("two words", "v"), VMC_ERR_INVALID);
    EXPECT_EQ(client.set("", "v"), VMC_ERR_INVALID);
}

TEST_P(Calls, conditions_hold)
{
    auto add = [&](const char *v) { return vmc_add(client.mc, "k", 1, v, strlen(v), 0, 0); };
    auto replace = [&](const char *v) { return vmc_replace(client.mc, "k", 1, v, strlen(v), 0, 0); };
    EXPECT_EQ(replace("0"), VMC_NOT_STORED);
    EXPECT_EQ(vmc_append(client.mc, "k", 1, "x", 1), VMC_NOT_STORED);
    EXPECT_EQ(vmc_cas(client.mc, "k", 1, "x", 1, 0, 0, 1), VMC_NOT_FOUND);
    EXPECT_EQ(del("k"), VMC_NOT_FOUND);
    EXPECT_EQ(vmc_touch(client.mc, "k", 1, 10), VMC_NOT_FOUND);
    EXPECT_EQ(add("b"), VMC_OK);
    EXPECT_EQ(add("c"), VMC_NOT_STORED);
    EXPECT_EQ(vmc_append(client.mc, "k", 1, "c", 1), VMC_OK);
    EXPECT_EQ(vmc_prepend(client.mc, "k", 1, "a", 1), VMC_OK);
    vmc_value_t value{};
    EXPECT_EQ(client.get("k", &value), "abc");
    EXPECT_EQ(vmc_cas(client.mc, "k", 1, "new", 3, 0, 9, value.cas + 1000000), VMC_EXISTS);
    EXPECT_EQ(vmc_cas(client.mc, "k", 1, "new", 3, 0, 9, value.cas), VMC_OK);
    EXPECT_EQ(client.get("k", &value), "new");
    EXPECT_EQ(value.flags, 9u);
    EXPECT_EQ(replace("last"), VMC_OK);
    EXPECT_EQ(client.get("k"), "last");
}

TEST_P(Calls, numbers_count_and_what_is_none_is_refused)
{
    uint64_t number = 0;
    EXPECT_EQ(vmc_incr(client.mc, "n", 1, 1, &number), VMC_NOT_FOUND);
    ASSERT_EQ(client.set("n", "41"), VMC_OK);
    EXPECT_EQ(vmc_incr(client.mc, "n", 1, 1, &number), VMC_OK);
    EXPECT_EQ(number, 42u);
    EXPECT_EQ(vmc_decr(client.mc, "n", 1, 100, &number), VMC_OK);
    EXPECT_EQ(number, 0u);
    EXPECT_EQ(vmc_incr(client.mc, "n", 1, UINT64_MAX, nullptr), VMC_OK);
    ASSERT_EQ(client.set("n", "text"), VMC_OK);
    EXPECT_EQ(vmc_incr(client.mc, "n", 1, 1, &number), VMC_ERR_NON_NUMERIC);
    EXPECT_EQ(client.get("n"), "text");
}

TEST_P(Calls, expiry_is_memcached_s)
{
    EXPECT_EQ(client.set("gone", "v", -1), VMC_OK);
    EXPECT_EQ(client.get("gone"), "(VMC_NOT_FOUND)");
    EXPECT_EQ(client.set("stays", "v", 1000), VMC_OK);
    char buffer[8];
    vmc_value_t value{};
    EXPECT_EQ(vmc_gat(client.mc, "stays", 5, -1, buffer, sizeof(buffer), &value), VMC_OK);
    EXPECT_EQ(value.length, 1u);
    EXPECT_EQ(client.get("stays"), "(VMC_NOT_FOUND)");
}

TEST_P(Calls, a_buffer_that_is_too_small_stays_untouched)
{
    for (size_t size : {100, 100000}) {
        char buffer[16] = "untouched";
        vmc_value_t value{};
        ASSERT_EQ(client.set("k", pattern(size, 0)), VMC_OK);
        EXPECT_EQ(vmc_get(client.mc, "k", 1, buffer, sizeof(buffer), &value), VMC_ERR_TRUNCATED);
        EXPECT_EQ(value.length, size);
        EXPECT_STREQ(buffer, "untouched");
    }
}

TEST_P(Calls, many_keys_come_in_one_call)
{
    constexpr size_t KEYS = 3000;
    std::vector<std::string> names(KEYS);
    std::vector<vmc_key_t> keys(KEYS);
    for (size_t i = 0; i < KEYS; i++) {
        names[i] = "many:" + std::to_string(i) + std::string(i % 90, '.');
        keys[i] = {names[i].data(), names[i].size()};
        if (i % 3 != 0) {
            ASSERT_EQ(client.set(names[i], pattern(i % 100 == 1 ? 40000 : i % 50, static_cast<unsigned>(i))), VMC_OK);
        }
    }
    std::vector<int> found(KEYS);
    ASSERT_EQ(vmc_mget(
                  client.mc, keys.data(), KEYS,
                  [](void *arg, size_t index, const void *bytes, const vmc_value_t *value) {
                      auto &seen = *static_cast<std::vector<int> *>(arg);
                      std::string wanted = pattern(index % 100 == 1 ? 40000 : index % 50, static_cast<unsigned>(index));
                      EXPECT_EQ(std::string(static_cast<const char *>(bytes), value->length), wanted);
                      seen[index]++;
                  },
                  &found),
              VMC_OK);
    for (size_t i = 0; i < KEYS; i++)
        ASSERT_EQ(found[i], i % 3 != 0 ? 1 : 0) << i;
    vmc_key_t wrong = {"not valid", 9};
    EXPECT_EQ(vmc_mget(
                  client.mc, &wrong, 1, [](void *, size_t, const void *, const vmc_value_t *) {}, nullptr),
              VMC_ERR_INVALID);
}

TEST_P(Calls, requests_are_taken_one_by_one_as_they_complete)
{
    constexpr size_t COUNT = 40;
    std::vector<vmc_req_t> reqs(COUNT);
    std::vector<vmc_req_t *> waits;
    std::vector<std::string> values;
    size_t at = COUNT;
    for (size_t i = 0; i < COUNT; i++) {
        std::string key = "any" + std::to_string(i);
        values.push_back(pattern(i % 4 == 0 ? 100000 : 100, static_cast<unsigned>(i)));
        ASSERT_EQ(vmc_iset(client.mc, key.data(), key.size(), values[i].data(), values[i].size(), 0, 0, &reqs[i]),
                  VMC_INPROGRESS);
        waits.push_back(&reqs[i]);
    }
    for (size_t left = COUNT; left > 0; left--) {
        ASSERT_EQ(vmc_wait_any(client.mc, waits.data(), COUNT, UINT64_MAX, &at), VMC_OK);
        ASSERT_LT(at, COUNT);
        ASSERT_NE(waits[at], nullptr) << "a request that was taken before";
        waits[at] = nullptr;
    }
    EXPECT_EQ(vmc_wait_any(client.mc, waits.data(), COUNT, UINT64_MAX, &at), VMC_ERR_INVALID) << "nothing to wait for";
    for (size_t i = 0; i < COUNT; i++)
        EXPECT_EQ(client.get("any" + std::to_string(i)), values[i]);
}

TEST_P(Calls, many_requests_are_under_way_at_once_and_in_order_for_a_key)
{
    constexpr int COUNT = 1000;
    std::vector<vmc_req_t> sets(COUNT), gets(COUNT);
    std::vector<vmc_req_t *> all;
    std::vector<std::string> values(COUNT), names(COUNT);
    std::vector<std::vector<char>> buffers(COUNT, std::vector<char>(60000));
    for (int i = 0; i < COUNT; i++) {
        auto at = static_cast<size_t>(i);
        values[at] = pattern(i % 10 == 0 ? 50000 : 10, static_cast<unsigned>(i));
        names[at] = "key" + std::to_string(i % 7);
        vmc_status_t set = i % 2 == 0 ? vmc_iset(client.mc, names[at].data(), names[at].size(), values[at].data(),
                                                 values[at].size(), 0, 0, &sets[at])
                                      : vmc_bset(client.mc, names[at].data(), names[at].size(), values[at].data(),
                                                 values[at].size(), 0, 0, &sets[at]);
        ASSERT_TRUE(set == VMC_INPROGRESS || set == VMC_OK) << vmc_status_name(set);
        vmc_status_t get = vmc_bget(client.mc, names[at].data(), names[at].size(), buffers[at].data(),
                                    buffers[at].size(), &gets[at]);
        ASSERT_TRUE(get == VMC_INPROGRESS || get == VMC_OK) << vmc_status_name(get);
        all.push_back(&sets[at]);
        all.push_back(&gets[at]);
    }
    ASSERT_EQ(vmc_wait_all(client.mc, all.data(), all.size(), UINT64_MAX), VMC_OK);
    for (size_t i = 0; i < COUNT; i++)
        ASSERT_EQ(std::string(buffers[i].data(), gets[i].length), values[i]) << i;
}

TEST_P(Calls, a_pinned_item_stays_until_its_release_and_stock_memcached_has_none)
{
    bool ours = GetParam().kind == OURS;
    auto pin = [&](const std::string &key, const std::string &value) {
        return vmc_set_pinned(client.mc, key.data(), key.size(), value.data(), value.size(), 0, 7);
    };
    vmc_req_t req{};
    std::string small = pattern(100, 1), large = pattern(300000, 2), longest(250, 'k');
    EXPECT_EQ(pin("small", small), ours ? VMC_OK : VMC_ERR_PROTOCOL);
    EXPECT_EQ(pin(longest, large), ours ? VMC_OK : VMC_ERR_PROTOCOL);
    EXPECT_EQ(vmc_iset_pinned(client.mc, "later", 5, large.data(), large.size(), 0, 0, &req), VMC_INPROGRESS);
    EXPECT_EQ(vmc_wait(client.mc, &req, UINT64_MAX), ours ? VMC_OK : VMC_ERR_PROTOCOL);
    EXPECT_EQ(server.stat("verbena", "pinned_items"), ours ? "3" : "");
    EXPECT_EQ(vmc_release(client.mc, "nobody", 6), ours ? VMC_NOT_FOUND : VMC_ERR_PROTOCOL);
    EXPECT_EQ(vmc_release(client.mc, longest.data(), longest.size()), ours ? VMC_OK : VMC_ERR_PROTOCOL);
    EXPECT_EQ(vmc_release(client.mc, "small", 5), ours ? VMC_OK : VMC_ERR_PROTOCOL);
    EXPECT_EQ(server.stat("verbena", "pinned_items"), ours ? "1" : "");
    EXPECT_EQ(client.get("small"), ours ? small : "(VMC_NOT_FOUND)");
    EXPECT_EQ(client.get(longest), ours ? large : "(VMC_NOT_FOUND)");
    vmc_status_t status = VMC_OK;
    for (int i = 0; i < 60 && status == VMC_OK; i++)
        status = pin("many" + std::to_string(i), pattern(1000000, 3));
    EXPECT_EQ(status, ours ? VMC_ERR_SERVER_MEMORY : VMC_ERR_PROTOCOL);
    EXPECT_EQ(client.set("after", "it goes on"), VMC_OK);
    EXPECT_EQ(client.get("after"), "it goes on");
}

const std::vector<Way> WAYS = {
    {"messages_shm", OURS, {"-o", "verbena_core=tl.enable=shm"}, ";carrier=messages", true},
    {"messages_tcp", OURS, {"-o", "verbena_core=tl.enable=tcp"}, ";carrier=messages", true},
    {"messages_without_reading", OURS, {"-o", "verbena_onesided=off"}, ";carrier=messages", true},
    {"messages_one_thread", OURS, {"-t", "1"}, "", true},
    {"messages_without_a_key", OURS, {"-o", "verbena_auth=none"}, ";key=/nowhere", true},
    {"sockets_to_ours", OURS, {}, ";carrier=sockets", false},
    {"sockets_to_stock", STOCK, {}, "", false},
};

INSTANTIATE_TEST_SUITE_P(Ways, Calls, ::testing::ValuesIn(WAYS),
                         [](const auto &each) { return std::string(each.param.name); });

} // namespace
