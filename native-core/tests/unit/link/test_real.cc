/* SPDX-License-Identifier: Apache-2.0
 * test_real.cc - links over the real transports, through the public header. */
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "vbn/vbn.h"

namespace {

struct Side {
    vbn_config_t *config = nullptr;
    vbn_context_t *context = nullptr;
    vbn_worker_t *worker = nullptr;
    int received = 0, errors = 0, passive_lost = 0;
    vbn_status_t status = VBN_OK;
    std::string text, log;
    vbn_peer_t *sender = nullptr;

    /* what: the transports, then settings, e.g. "tcp tl.tcp.tls=true". */
    Side(const char *what, uint8_t key, const char *resume = "0")
    {
        std::istringstream words(what);
        std::string transports, setting;
        words >> transports;
        uint8_t bytes[VBN_JOB_KEY_BYTES];
        memset(bytes, key, sizeof(bytes));
        EXPECT_EQ(vbn_config_create(&config), VBN_OK) << vbn_error_text();
        EXPECT_EQ(vbn_config_set(config, "tl.enable", transports.c_str()), VBN_OK);
        EXPECT_EQ(vbn_config_set(config, "tl.tcp.interface", "lo"), VBN_OK);
        EXPECT_EQ(vbn_config_set(config, "log.level", "info"), VBN_OK);
        EXPECT_EQ(vbn_config_set(config, "link.resume_timeout", resume), VBN_OK);
        for (size_t at; words >> setting && (at = setting.find('=')) != std::string::npos;)
            EXPECT_EQ(vbn_config_set(config, setting.substr(0, at).c_str(), setting.substr(at + 1).c_str()), VBN_OK);
        EXPECT_EQ(vbn_config_set_job_key(config, bytes), VBN_OK);
        vbn_config_set_log(config, on_log, this);
        EXPECT_EQ(vbn_open(config, &context), VBN_OK) << vbn_error_text();
        EXPECT_EQ(vbn_worker_create(context, &worker), VBN_OK) << vbn_error_text();
        EXPECT_EQ(vbn_am_handler(worker, 1, on_message, this), VBN_OK);
        vbn_worker_set_peer_lost(worker, on_passive_lost, this);
    }
    ~Side()
    {
        vbn_worker_destroy(worker);
        EXPECT_EQ(vbn_close(context), VBN_OK) << vbn_error_text();
        vbn_config_destroy(config);
    }
    Side(const Side &) = delete;
    Side &operator=(const Side &) = delete;

    static void on_log(void *arg, const vbn_log_record_t *record)
    {
        static_cast<Side *>(arg)->log += std::string(record->text) + "\n";
    }
    static void on_message(void *arg, const vbn_am_message_t *message)
    {
        static_cast<Side *>(arg)->received++;
        static_cast<Side *>(arg)->sender = message->peer;
    }
    static void on_passive_lost(void *arg, vbn_peer_t *, vbn_status_t, const char *)
    {
        static_cast<Side *>(arg)->passive_lost++;
    }
    static void on_error(void *arg, vbn_peer_t *, vbn_status_t status, const char *text)
    {
        auto *side = static_cast<Side *>(arg);
        side->errors++;
        side->status = status;
        side->text = text;
    }
    uint64_t counter(const char *name) const
    {
        vbn_counter_t all[256];
        size_t count = vbn_counters(context, all, 256);
        for (size_t i = 0; i < count && i < 256; i++)
            if (strcmp(all[i].name, name) == 0)
                return all[i].value;
        ADD_FAILURE() << "no counter " << name;
        return 0;
    }
    vbn_peer_t *connect(Side &to)
    {
        uint8_t blob[VBN_ADDRESS_MAX];
        size_t length = sizeof(blob);
        vbn_peer_t *peer = nullptr;
        EXPECT_EQ(vbn_worker_address(to.worker, blob, &length), VBN_OK) << vbn_error_text();
        EXPECT_EQ(vbn_connect(worker, blob, length, on_error, this, &peer), VBN_OK) << vbn_error_text();
        return peer;
    }
    void send(vbn_peer_t *peer, vbn_op_t *op)
    {
        memset(op, 0, sizeof(*op));
        EXPECT_GE(vbn_am_send(peer, 1, "hello", 5, nullptr, 0, 0, op), 0) << vbn_error_text();
    }
};

/* Both workers sleep on their event descriptors when neither has work; gives up after 20 s of silence. */
template <typename Condition> bool run_until(std::vector<Side *> sides, Condition condition)
{
    while (!condition()) {
        unsigned events = 0;
        for (Side *side : sides)
            events += vbn_progress(side->worker);
        if (events > 0)
            continue;
        std::vector<struct pollfd> fds;
        bool sleep = true;
        for (Side *side : sides) {
            sleep = sleep && vbn_arm(side->worker) == VBN_OK;
            fds.push_back({vbn_event_fd(side->worker), POLLIN, 0});
        }
        if (sleep && !condition() && poll(fds.data(), fds.size(), 20000) == 0)
            return false;
    }
    return true;
}

bool has_ipv6_loopback()
{
    sockaddr_in6 address = {};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_loopback;
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has = bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0;
    close(fd);
    return has;
}

class LinkReal : public testing::TestWithParam<const char *> {
protected:
    void SetUp() override
    {
        if (strstr(GetParam(), "::1") != nullptr && !has_ipv6_loopback())
            GTEST_SKIP() << "no IPv6 loopback here: sysctl net.ipv6.conf.lo.disable_ipv6=0";
    }
};

TEST_P(LinkReal, two_workers_dial_each_other_and_get_all_messages)
{
    for (int round = 0; round < 20; round++) {
        std::vector<vbn_op_t> ops(200); /* outlive the workers: what is kept until acknowledged completes late */
        Side a(GetParam(), 1), b(GetParam(), 1);
        vbn_peer_t *to_b = a.connect(b), *to_a = b.connect(a);
        for (size_t i = 0; i < 100; i++) {
            a.send(to_b, &ops[i]);
            b.send(to_a, &ops[100 + i]);
        }
        ASSERT_TRUE(run_until({&a, &b}, [&] { return a.received == 100 && b.received == 100; }))
            << a.text << " / " << b.text << a.log << b.log;
        char text[512];
        EXPECT_GT(vbn_explain(to_b, text, sizeof(text)), 0u);
        EXPECT_EQ(strncmp(text, GetParam(), 3), 0) << text;
        vbn_disconnect(to_b, VBN_CLOSE_FLUSH);
        vbn_disconnect(to_a, VBN_CLOSE_FLUSH);
    }
}

/* The log lets a limited number of equal lines a second pass, and other tests log many: tries again for a while. */
TEST_P(LinkReal, the_log_says_which_transport_a_peer_uses_and_why)
{
    const std::string wanted = std::string(" uses ") + std::string(GetParam(), 3) + ": ";
    bool found = false;
    std::string last;
    for (int tries = 0; tries < 100 && !found; tries++) {
        vbn_op_t op;
        Side a(GetParam(), 1), b(GetParam(), 1);
        vbn_peer_t *peer = a.connect(b);
        a.send(peer, &op);
        ASSERT_TRUE(run_until({&a, &b}, [&] { return b.received == 1; })) << a.text;
        found = a.log.find(wanted) != std::string::npos;
        last = a.log;
        if (!found)
            poll(nullptr, 0, 100);
    }
    EXPECT_TRUE(found) << last;
}

TEST_P(LinkReal, a_wrong_key_is_refused)
{
    Side a(GetParam(), 1), b(GetParam(), 2);
    vbn_peer_t *peer = a.connect(b);
    ASSERT_TRUE(run_until({&a, &b}, [&] { return a.errors > 0; }));
    EXPECT_EQ(a.status, VBN_ERR_AUTH) << a.text;
    vbn_disconnect(peer, VBN_CLOSE_NOW);
}

TEST_P(LinkReal, a_server_learns_that_a_client_has_closed)
{
    std::vector<vbn_op_t> ops(50);
    Side a(GetParam(), 1), b(GetParam(), 1);
    vbn_peer_t *peer = a.connect(b);
    for (auto &op : ops)
        a.send(peer, &op);
    vbn_disconnect(peer, VBN_CLOSE_FLUSH);
    ASSERT_TRUE(run_until({&a, &b}, [&] { return b.passive_lost == 1; }));
    EXPECT_EQ(b.received, 50);
    EXPECT_EQ(a.errors, 0);
}

/* A message that is announced, pulled and compared. */
struct Pulled {
    std::vector<uint8_t> bytes;
    struct iovec iov = {};
    vbn_op_t op = {};
    static void on_message(void *arg, const vbn_am_message_t *message)
    {
        auto *pulled = static_cast<Pulled *>(arg);
        pulled->bytes.assign(message->length, 0);
        pulled->iov = {pulled->bytes.data(), pulled->bytes.size()};
        pulled->op.complete = 0;
        ASSERT_EQ(vbn_am_pull(message->remote, &pulled->iov, 1, &pulled->op), VBN_INPROGRESS) << vbn_error_text();
    }
};

TEST_P(LinkReal, large_messages_arrive_whole_in_both_directions)
{
    constexpr size_t kBytes = 3 << 20;
    Pulled at[2];
    Side a(GetParam(), 1), b(GetParam(), 1);
    ASSERT_EQ(vbn_am_handler(b.worker, 2, Pulled::on_message, &at[0]), VBN_OK);
    ASSERT_EQ(vbn_am_handler(a.worker, 2, Pulled::on_message, &at[1]), VBN_OK);
    vbn_peer_t *peers[] = {a.connect(b), b.connect(a)};
    for (int round = 0; round < 4; round++) {
        std::vector<uint8_t> data[2];
        vbn_op_t ops[2] = {};
        struct iovec iov[2];
        for (size_t i : {0u, 1u}) {
            at[i].op.complete = 0;
            data[i].resize(kBytes);
            for (size_t k = 0; k < kBytes; k++)
                data[i][k] = static_cast<uint8_t>(k * 7 + k / 4096 + i + round);
            iov[i] = {data[i].data(), kBytes};
            ASSERT_GE(vbn_am_send(peers[i], 2, nullptr, 0, &iov[i], 1, 0, &ops[i]), 0) << vbn_error_text();
        }
        ASSERT_TRUE(run_until({&a, &b},
                              [&] {
                                  return at[0].op.complete == 1 && at[1].op.complete == 1 && ops[0].complete == 1 &&
                                         ops[1].complete == 1;
                              }))
            << a.text << b.text;
        EXPECT_TRUE(at[0].bytes == data[0]);
        EXPECT_TRUE(at[1].bytes == data[1]);
        if (strstr(GetParam(), "link.rails=3") != nullptr) { /* the rounds after this one use them */
            ASSERT_TRUE(run_until({&a, &b}, [&] {
                char text[512];
                vbn_explain(peers[0], text, sizeof(text));
                return strstr(text, " lanes, ") != nullptr;
            }));
        }
    }
    EXPECT_EQ(a.errors + b.errors, 0) << a.text << b.text;
}

INSTANTIATE_TEST_SUITE_P(Transports, LinkReal,
                         testing::Values("shm", "tcp", "tcp tl.tcp.tls=true", "tcp tl.tcp.interface=::1",
                                         "tcp link.rails=3", "tcp link.rails=3 tl.tcp.tls=true"));

/* Numbered messages of one sender. */
struct Numbers {
    int expected = 0, wrong = 0;
    static void on_message(void *arg, const vbn_am_message_t *message)
    {
        auto *numbers = static_cast<Numbers *>(arg);
        int number = -1;
        if (message->header_length == sizeof(number))
            memcpy(&number, message->header, sizeof(number));
        const auto *data = static_cast<const uint8_t *>(message->data);
        for (size_t i = 0; i < message->length; i++)
            numbers->wrong += data[i] != static_cast<uint8_t>(number + 1);
        numbers->wrong += number != numbers->expected;
        numbers->expected++;
    }
};

/* Cuts every established TCP connection of this process, as a network that forgets them would. */
int cut_connections()
{
    int cut = 0;
    for (int fd = 3; fd < 1024; fd++) {
        struct sockaddr_storage address;
        socklen_t length = sizeof(address);
        if (getpeername(fd, reinterpret_cast<struct sockaddr *>(&address), &length) == 0 &&
            (address.ss_family == AF_INET || address.ss_family == AF_INET6))
            cut += shutdown(fd, SHUT_RDWR) == 0;
    }
    return cut;
}

class LinkRealResume : public testing::TestWithParam<const char *> {};

TEST_P(LinkRealResume, tcp_connections_that_are_cut_while_messages_are_on_their_way_go_on_without_loss)
{
    Side a(GetParam(), 1, "20s"), b(GetParam(), 1, "20s");
    Numbers numbers;
    ASSERT_EQ(vbn_am_handler(b.worker, 2, Numbers::on_message, &numbers), VBN_OK);
    vbn_peer_t *peer = a.connect(b);
    constexpr int kMessages = 2000;
    std::vector<vbn_op_t> ops(kMessages);
    std::vector<std::vector<uint8_t>> bytes(kMessages);
    std::vector<struct iovec> iov(kMessages);
    int cut = 0;
    for (int i = 0; i < kMessages; i++) {
        memset(&ops[i], 0, sizeof(ops[i]));
        bytes[i].assign(static_cast<size_t>(i % 3000), static_cast<uint8_t>(i + 1));
        iov[i] = {bytes[i].data(), bytes[i].size()};
        ASSERT_GE(vbn_am_send(peer, 2, &i, sizeof(i), &iov[i], bytes[i].empty() ? 0 : 1, 0, &ops[i]), 0);
        if (i % 10 == 0) {
            vbn_progress(a.worker);
            vbn_progress(b.worker);
        }
        if (i % 400 == 399)
            cut += cut_connections();
    }
    ASSERT_TRUE(run_until({&a, &b}, [&] { return numbers.expected >= kMessages || a.errors > 0; })) << a.log << b.log;
    EXPECT_GT(cut, 0);
    EXPECT_EQ(numbers.expected, kMessages);
    EXPECT_EQ(numbers.wrong, 0);
    EXPECT_EQ(a.errors, 0) << a.text;
    vbn_op_t flush;
    memset(&flush, 0, sizeof(flush));
    if (vbn_flush(peer, &flush) == VBN_INPROGRESS) {
        ASSERT_TRUE(run_until({&a, &b}, [&] { return flush.complete == 1; }));
    }
    EXPECT_GT(a.counter("link.resumes"), 0u) << a.log; /* the log may have had to leave lines out */
    vbn_disconnect(peer, VBN_CLOSE_FLUSH);
    ASSERT_TRUE(run_until({&a, &b}, [&] { return b.passive_lost == 1; })) << b.log;
}

/* Gets 16 MiB again and again. Returns what b's transport put straight into the buffer. */
uint64_t get_often(Side &owner, Side &reader, int rounds, bool cut)
{
    constexpr size_t kBytes = 16u << 20;
    uint8_t blob[VBN_KEY_MAX];
    size_t length = sizeof(blob);
    vbn_mem_t *mem = nullptr;
    vbn_key_t *key = nullptr;
    std::vector<uint8_t> data(kBytes);
    EXPECT_EQ(vbn_mem_alloc(owner.context, kBytes, VBN_BACKING_MEMFD, nullptr, &mem), VBN_OK);
    auto *source = static_cast<uint8_t *>(vbn_mem_address(mem));
    for (size_t i = 0; i < kBytes; i++)
        source[i] = static_cast<uint8_t>(i * 7 + (i >> 13));
    EXPECT_EQ(vbn_key_export(mem, 0, kBytes, VBN_ACCESS_READ, blob, &length), VBN_OK);
    vbn_peer_t *peer = reader.connect(owner);
    EXPECT_EQ(vbn_key_import(peer, blob, length, &key), VBN_OK) << vbn_error_text();
    for (int round = 0; round < rounds; round++) {
        std::fill(data.begin(), data.end(), 0);
        struct iovec to = {data.data(), kBytes};
        vbn_op_t op;
        memset(&op, 0, sizeof(op));
        EXPECT_EQ(vbn_get(key, 0, &to, 1, &op), VBN_INPROGRESS) << vbn_error_text();
        if (cut) {
            uint64_t enough = reader.counter("get.stream.bytes") + kBytes / 3;
            EXPECT_TRUE(run_until({&owner, &reader}, [&] { return reader.counter("get.stream.bytes") > enough; }));
            cut_connections();
        }
        EXPECT_TRUE(run_until({&owner, &reader}, [&] { return op.complete == 1; }));
        EXPECT_EQ(op.status, VBN_OK) << reader.text;
        EXPECT_EQ(memcmp(data.data(), source, kBytes), 0);
    }
    vbn_key_release(key);
    vbn_disconnect(peer, VBN_CLOSE_NOW);
    EXPECT_EQ(vbn_mem_free(mem), VBN_OK);
    return reader.counter("tcp.rx.placed_bytes");
}

TEST(LinkRealPlaces, bulk_data_is_received_in_place_with_rails_and_with_resume)
{
    for (const char *way :
         {"tcp", "tcp link.resume_timeout=20s", "tcp link.rails=2", "tcp link.rails=4 tl.tcp.tls=true"}) {
        SCOPED_TRACE(way);
        Side owner(way, 1), reader(way, 1);
        EXPECT_EQ(get_often(owner, reader, 4, false), uint64_t{64} << 20) << "the rest was copied once more";
        EXPECT_EQ(reader.counter("link.lanes_added"), strstr(way, "rails=4") ? 3u : strstr(way, "rails") ? 1u : 0u);
    }
}

TEST(LinkRealPlaces, what_is_sent_again_after_a_cut_is_received_in_place_too)
{
    for (const char *way : {"tcp link.resume_timeout=20s", "tcp link.resume_timeout=20s link.rails=3"}) {
        SCOPED_TRACE(way);
        Side owner(way, 1), reader(way, 1);
        EXPECT_GE(get_often(owner, reader, 4, true), uint64_t{60} << 20);
        EXPECT_GT(reader.counter("link.resumes") + owner.counter("link.resumes"), 0u);
    }
}

INSTANTIATE_TEST_SUITE_P(Ways, LinkRealResume,
                         testing::Values("tcp", "tcp tl.tcp.tls=true", "tcp link.rails=2 tl.tcp.chunk_bytes=4K"));

TEST(LinkRealSelf, a_worker_reaches_itself)
{
    Side a("self,shm,tcp", 1);
    vbn_peer_t *peer = a.connect(a);
    std::vector<vbn_op_t> ops(2000);
    for (auto &op : ops)
        a.send(peer, &op);
    ASSERT_TRUE(run_until({&a}, [&] { return a.received == 2000; })) << a.text << a.log;
    EXPECT_EQ(vbn_peer_uid(peer), vbn_peer_uid(a.sender));
    EXPECT_EQ(a.sender, peer);
    vbn_disconnect(peer, VBN_CLOSE_FLUSH);
    for (int i = 0; i < 100; i++)
        vbn_progress(a.worker);
    peer = a.connect(a);
    a.send(peer, &ops[0]);
    ASSERT_TRUE(run_until({&a}, [&] { return a.received == 2001; })) << a.text;
}

TEST(LinkRealSelect, same_host_workers_use_shared_memory_and_say_why)
{
    Side a("self,shm,tcp", 1), b("self,shm,tcp", 1);
    vbn_peer_t *peer = a.connect(b);
    char text[512];
    vbn_explain(peer, text, sizeof(text));
    EXPECT_EQ(strncmp(text, "shm: ", 5), 0) << text;
    EXPECT_NE(strstr(text, "tcp: not needed"), nullptr) << text;
}

/* Both sides know: the one that dialled and the one that was dialled. */
TEST(LinkRealSelect, a_connection_by_tls_says_so)
{
    for (bool tls : {false, true}) {
        Side a(tls ? "tcp tl.tcp.tls=true" : "tcp", 1), b(tls ? "tcp tl.tcp.tls=true" : "tcp", 1);
        vbn_peer_t *to_b = a.connect(b);
        vbn_op_t op;
        a.send(to_b, &op);
        ASSERT_TRUE(run_until({&a, &b}, [&] { return b.received == 1; })) << a.text << b.text;
        for (const vbn_peer_t *peer : {to_b, b.sender}) {
            char text[512];
            vbn_explain(peer, text, sizeof(text));
            EXPECT_EQ(strstr(text, "TLS 1.3") != nullptr, tls) << text;
        }
        vbn_disconnect(to_b, VBN_CLOSE_NOW);
    }
}

TEST(LinkRealSelect, an_unknown_transport_is_an_error_that_names_the_known_ones)
{
    vbn_config_t *config;
    vbn_context_t *context;
    vbn_worker_t *worker;
    uint8_t key[VBN_JOB_KEY_BYTES] = {1};
    ASSERT_EQ(vbn_config_create(&config), VBN_OK);
    ASSERT_EQ(vbn_config_set(config, "tl.enable", "shm,carrier-pigeon"), VBN_OK);
    EXPECT_EQ(vbn_open(config, &context), VBN_ERR_SETTING) << "a job key is missing";
    vbn_config_set_job_key(config, key);
    ASSERT_EQ(vbn_open(config, &context), VBN_OK);
    EXPECT_EQ(vbn_worker_create(context, &worker), VBN_ERR_SETTING);
    EXPECT_NE(strstr(vbn_error_text(), "self, shm, rc, ud, tcp"), nullptr) << vbn_error_text();
    EXPECT_EQ(vbn_close(context), VBN_OK);
    vbn_config_destroy(config);
}

} // namespace
