// SPDX-License-Identifier: Apache-2.0
// test_disk.cc - items that the server has on disk: messages and sockets find them, one-sided gets ask for them.
#include "server.h"

using namespace client_test;

namespace {

constexpr unsigned ITEMS = 15000;

struct DiskFolder {
    std::string path;
    DiskFolder() : path(runtime_folder() + "/disk") { unlink(path.c_str()); }
    ~DiskFolder() { unlink(path.c_str()); }
};

class Disk : public ::testing::TestWithParam<const char *>, protected DiskFolder {
protected:
    Disk()
        : server(OURS, {"-m", "8", "-I", "256k", "-t", "2", "-o",
                        "ext_page_size=1,ext_item_size=0,ext_path=" + path + ":64M"}),
          client(server.name(GetParam()))
    {
    }
    void SetUp() override
    {
        EXPECT_EQ(client.set("number", "41"), VMC_OK);
        for (unsigned i = 0; i < ITEMS; i++) {
            if (i % 1000 == 0) {
                ASSERT_NO_FATAL_FAILURE(drain());
            }
            ASSERT_EQ(client.set(key(i), value(i), 0, i), VMC_OK);
        }
        ASSERT_NE(server.stat("verbena", "disk_stubs"), "0");
    }
    uint64_t waiting() const { return std::stoull(server.stat("verbena", "disk_waiting_bytes")); }
    /* Waits until the disk has what was given to it, but for a piece that waits for more: else items would be evicted. */
    void drain() const
    {
        for (int i = 0; i < 6000 && waiting() > 2u << 20; i++)
            usleep(10000);
        ASSERT_LE(waiting(), 2u << 20) << "the server's disk takes nothing for a minute";
    }
    static std::string key(unsigned number) { return "k" + std::to_string(number); }
    static std::string value(unsigned number)
    {
        return std::to_string(number) + std::string(1000, static_cast<char>('a' + number % 26));
    }
    uint64_t reads() const { return std::stoull(server.stat("", "get_extstore")); }
    /* What was evicted because the disk was slower than the client is missing; everything else is right. */
    void expect_right(unsigned number, const std::string &found)
    {
        if (found == "(VMC_NOT_FOUND)")
            missing++;
        else
            ASSERT_EQ(found, value(number));
    }
    void expect_few_missing() const { EXPECT_LE(missing, std::stoull(server.stat("", "evictions"))); }
    unsigned missing = 0;
    Server server;
    Client client;
};

TEST_P(Disk, gets_find_every_item)
{
    for (unsigned i = 0; i < 500; i++) {
        vmc_value_t got{};
        expect_right(i, client.get(key(i), &got));
        EXPECT_TRUE(got.flags == i || missing > 0);
    }
    EXPECT_GT(reads(), 100u);
    expect_few_missing();
}

TEST_P(Disk, lists_of_keys_find_every_item)
{
    std::vector<std::string> names(ITEMS);
    std::vector<vmc_key_t> keys(ITEMS);
    for (unsigned i = 0; i < ITEMS; i++) {
        names[i] = key(i);
        keys[i] = {names[i].data(), names[i].size()};
    }
    unsigned found = 0;
    ASSERT_EQ(vmc_mget(
                  client.mc, keys.data(), ITEMS,
                  [](void *arg, size_t index, const void *bytes, const vmc_value_t *got) {
                      EXPECT_EQ(std::string(static_cast<const char *>(bytes), got->length),
                                value(static_cast<unsigned>(index)));
                      ++*static_cast<unsigned *>(arg);
                  },
                  &found),
              VMC_OK);
    missing = ITEMS - found;
    EXPECT_GT(reads(), 3000u);
    expect_few_missing();
}

TEST_P(Disk, writes_that_need_the_old_value_wait_for_it)
{
    uint64_t number = 0;
    vmc_status_t status = vmc_incr(client.mc, "number", 6, 1, &number);
    EXPECT_TRUE(status == VMC_NOT_FOUND || number == 42) << status << " " << number;
    for (unsigned i = 0; i < 200; i++) {
        status = vmc_append(client.mc, key(i).data(), key(i).size(), "/end", 4);
        if (status == VMC_OK) {
            EXPECT_EQ(client.get(key(i)), value(i) + "/end");
        } else {
            EXPECT_EQ(status, VMC_NOT_STORED);
            missing++;
        }
    }
    expect_few_missing();
}

INSTANTIATE_TEST_SUITE_P(Carriers, Disk, ::testing::Values("", ";onesided=off", ";carrier=sockets"));

} // namespace
