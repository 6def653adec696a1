// SPDX-License-Identifier: Apache-2.0
// test_onesided.cc - gets that read the server's memory: while its items are overwritten, deleted, flushed, expire and are
// evicted, a reader never sees a torn value, one of another key, or one that was gone before the read began.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <random>
#include <sys/mman.h>

#include "server.h"

using namespace client_test;

namespace {

constexpr unsigned EXPIRING = 10; // the last keys: each is written again when it has expired
constexpr unsigned EXPIRED_LEAST = 3;
constexpr unsigned KEYS = 300, READERS = 3, DEADLINES = 8, LARGEST = 20000, ONESIDED_LEAST = 1000;
constexpr unsigned STEPS = 8000;                                   // of the writer; with VERBENA_TEST_FULL more of them
constexpr unsigned STEPS_FULL = 300000, STEPS_OF_A_READER = 2000;  // then it is killed
constexpr uint64_t PATIENCE_MS = 1200000;                          // on a machine that is busy with other things
constexpr uint64_t TTL_MS = 1000, GRAIN_MS = 1000, AFTER_MS = 300; // a TTL of a second has passed two seconds later

uint64_t now_ms()
{
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
}

/* What all processes know. One writer for each key. */
struct Known {
    std::atomic<uint64_t> least[KEYS];                // a get that begins now may see this version or a later one
    std::atomic<uint64_t> deadlines[KEYS][DEADLINES]; // version << 44 | ms after which that version is gone
    std::atomic<uint64_t> onesided, asked, expired, wrong;
    std::atomic<bool> stop;
};

Known *share()
{
    void *memory = mmap(nullptr, sizeof(Known), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : new (memory) Known;
}

struct Head {
    uint64_t version;
    uint32_t key, bytes;
};

char byte_of(const Head &head, size_t at)
{
    return static_cast<char>(head.version * 131 + head.key * 31 + at * 7 + (at >> 8));
}

std::string value_of(unsigned key, uint64_t version, size_t bytes)
{
    Head head = {version, key, static_cast<uint32_t>(std::max(bytes, sizeof(Head)))};
    std::string value(head.bytes, '\0');
    for (size_t i = sizeof(head); i < value.size(); i++)
        value[i] = byte_of(head, i);
    memcpy(value.data(), &head, sizeof(head));
    return value;
}

bool is_whole(unsigned key, const char *value, size_t bytes, Head *head)
{
    if (bytes < sizeof(*head))
        return false;
    memcpy(head, value, sizeof(*head));
    if (head->key != key || head->bytes != bytes)
        return false;
    for (size_t i = sizeof(*head); i < bytes; i++)
        if (value[i] != byte_of(*head, i))
            return false;
    return true;
}

std::string name_of(unsigned key)
{
    return "torture:" + std::to_string(key);
}

/* This version had its time. */
bool is_over(uint64_t deadline, uint64_t version, uint64_t now)
{
    return deadline >> 44 == version && (deadline & ((UINT64_C(1) << 44) - 1)) < now;
}

/* One get; false: it saw what it must not see. */
bool read_one(Client &client, Known *known, unsigned key, std::vector<char> &buffer)
{
    std::string name = name_of(key);
    Head head{};
    vmc_value_t value{};
    uint64_t least = known->least[key].load(), began = now_ms();
    vmc_status_t status = vmc_get(client.mc, name.data(), name.size(), buffer.data(), buffer.size(), &value);
    if (status != VMC_OK) {
        known->expired += is_over(known->deadlines[key][least % DEADLINES].load(), least, began);
        return status == VMC_NOT_FOUND;
    }
    if (!is_whole(key, buffer.data(), value.length, &head)) {
        fprintf(stderr, "key %u: a torn or foreign value of %zu bytes\n", key, value.length);
        return false;
    }
    bool late = is_over(known->deadlines[key][head.version % DEADLINES].load(), head.version, began);
    if (head.version < least || late)
        fprintf(stderr, "key %u: version %llu, at least %llu expected%s\n", key,
                static_cast<unsigned long long>(head.version), static_cast<unsigned long long>(least),
                late ? ", and it has expired" : "");
    return head.version >= least && !late;
}

void read_until_stopped(Client &client, Known *known, unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<char> buffer(LARGEST + sizeof(Head));
    vmc_counts_t before{};
    while (!known->stop) {
        for (int i = 0; i < 100; i++)
            known->wrong += !read_one(client, known, random() % KEYS, buffer);
        vmc_counts_t counts = client.counts();
        known->onesided += counts.onesided - before.onesided;
        known->asked += counts.messages - before.messages;
        before = counts;
    }
}

class Writer {
public:
    Writer(Client &client, Known *known, unsigned seed) : client_(client), known_(known), random_(seed) {}

    void step()
    {
        unsigned what = random_() % 10000, key = random_() % KEYS;
        if (is_waiting(key))
            fill();
        else if (what < 5000)
            write(key);
        else if (what < 5500)
            remove(key);
        else if (what < 5502)
            flush();
        else
            fill();
    }

private:
    /* Of the keys that are to expire. */
    bool is_waiting(unsigned key) const
    {
        uint64_t last = versions_[key];
        return key >= KEYS - EXPIRING && last > 0 && known_->least[key] == last &&
               !is_over(known_->deadlines[key][last % DEADLINES], last, now_ms() - AFTER_MS);
    }
    void write(unsigned key)
    {
        bool expires = key >= KEYS - EXPIRING || random_() % 4 == 0;
        uint64_t version = ++versions_[key];
        std::string value = value_of(key, version, random_() % (random_() % 3 == 0 ? LARGEST : 200));
        vmc_status_t status = client_.set(name_of(key), value, expires ? 1 : 0);
        ASSERT_EQ(status, VMC_OK) << vmc_status_name(status);
        if (expires)
            known_->deadlines[key][version % DEADLINES] = version << 44 | (now_ms() + TTL_MS + GRAIN_MS);
        known_->least[key] = version;
    }
    void remove(unsigned key)
    {
        std::string name = name_of(key);
        vmc_status_t status = vmc_delete(client_.mc, name.data(), name.size());
        ASSERT_TRUE(status == VMC_OK || status == VMC_NOT_FOUND) << vmc_status_name(status);
        known_->least[key] = versions_[key] + 1;
    }
    void flush();
    void fill() // evicts, and lets the index grow
    {
        client_.set("fill:" + std::to_string(random_() % 20000), std::string(random_() % 16000, 'f'));
    }

    Client &client_;
    Known *known_;
    std::mt19937 random_;
    uint64_t versions_[KEYS] = {};

public:
    int port = 0;
};

void Writer::flush()
{
    int fd = open_port(port);
    char answer[16] = "";
    ASSERT_EQ(send(fd, "flush_all\r\n", 11, 0), 11);
    ASSERT_GT(recv(fd, answer, sizeof(answer) - 1, 0), 0);
    ASSERT_STREQ(answer, "OK\r\n");
    close(fd);
    for (unsigned key = 0; key < KEYS; key++) /* this process wrote all of them, before */
        known_->least[key] = versions_[key] + 1;
}

pid_t start_reader(const Server &server, Known *known, unsigned seed)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Client client(server.name(";carrier=messages"));
    read_until_stopped(client, known, seed);
    _exit(0);
}

bool is_enough(const Known *known)
{
    return known->onesided > ONESIDED_LEAST && known->expired > EXPIRED_LEAST;
}

TEST(OneSided, torture_readers_see_only_what_is_there)
{
    const unsigned steps = getenv("VERBENA_TEST_FULL") != nullptr ? STEPS_FULL : STEPS;
    Server server(OURS, {"-m", "8", "-I", "64k", "-t", "2"});
    Known *known = share();
    ASSERT_NE(known, nullptr);
    pid_t readers[READERS];
    for (unsigned reader = 0; reader < READERS; reader++)
        readers[reader] = start_reader(server, known, reader);
    Client client(server.name(";carrier=messages"));
    Writer writer(client, known, 42);
    writer.port = server.port();
    unsigned killed = 0, i = 0;
    const uint64_t patience = now_ms() + PATIENCE_MS;
    for (; (i < steps || !is_enough(known)) && now_ms() < patience && !HasFailure(); i++) {
        writer.step();
        if (i % STEPS_OF_A_READER == STEPS_OF_A_READER - 1) { // at any instruction
            kill(readers[0], SIGKILL);
            waitpid(readers[0], nullptr, 0);
            readers[0] = start_reader(server, known, READERS + killed++);
        }
    }
    known->stop = true;
    for (pid_t reader : readers) {
        int status = -1;
        waitpid(reader, &status, 0);
        EXPECT_EQ(status, 0);
    }
    EXPECT_TRUE(i >= steps && is_enough(known)) << "not within " << PATIENCE_MS << " ms";
    EXPECT_EQ(known->wrong, 0u);
    EXPECT_NE(server.stat("", "evictions"), "0");
    printf("%llu gets one-sided, %llu by message, %llu of what had expired, %u readers killed, %s evictions\n",
           static_cast<unsigned long long>(known->onesided), static_cast<unsigned long long>(known->asked),
           static_cast<unsigned long long>(known->expired), killed, server.stat("", "evictions").c_str());
    munmap(known, sizeof(*known));
}

/* Reads until they are one-sided. */
void await_onesided(Client &client, const std::string &key)
{
    for (int i = 0; i < 100000 && client.counts().onesided == 0; i++)
        client.get(key);
    ASSERT_GT(client.counts().onesided, 0u) << client.explain();
}

TEST(OneSided, a_server_that_stands_still_is_read_and_a_killed_one_is_not)
{
    Server server(OURS);
    Client client(server.name(";carrier=messages"));
    ASSERT_EQ(client.set("k", "v"), VMC_OK);
    await_onesided(client, "k");
    EXPECT_NE(client.explain().find("one-sided gets"), std::string::npos) << client.explain();
    uint64_t before = client.counts().onesided;
    char buffer[8];
    vmc_req_t req;
    server.stop();
    ASSERT_EQ(vmc_iget(client.mc, "k", 1, buffer, sizeof(buffer), &req), VMC_OK);
    EXPECT_EQ(req.length, 1u);
    EXPECT_EQ(client.counts().onesided, before + 1);
    server.end(SIGKILL);
    EXPECT_EQ(client.get("k"), "(VMC_ERR_SERVER_DEAD)");
}

TEST(OneSided, a_server_can_forbid_it)
{
    Server server(OURS, {"-o", "verbena_onesided=off"});
    Client client(server.name(";carrier=messages"));
    ASSERT_EQ(client.set("k", "v"), VMC_OK);
    for (int i = 0; i < 200; i++)
        ASSERT_EQ(client.get("k"), "v");
    EXPECT_EQ(client.counts().onesided, 0u);
    EXPECT_NE(client.explain().find("one-sided reads are off at the server"), std::string::npos) << client.explain();
}

TEST(OneSided, a_client_sees_its_own_writes_at_once)
{
    Server server(OURS, {"-o", "verbena_lease=60000"});
    Client client(server.name(";carrier=messages"));
    ASSERT_EQ(client.set("k", "0"), VMC_OK);
    await_onesided(client, "k");
    for (int i = 0; i < 500; i++) {
        std::string value = std::to_string(i);
        ASSERT_EQ(client.set("k", value), VMC_OK);
        ASSERT_EQ(client.get("k"), value);
    }
    ASSERT_EQ(vmc_delete(client.mc, "k", 1), VMC_OK);
    EXPECT_EQ(client.get("k"), "(VMC_NOT_FOUND)");
}

} // namespace
