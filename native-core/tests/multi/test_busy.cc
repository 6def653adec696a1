// SPDX-License-Identifier: Apache-2.0
// test_busy.cc - a process whose program computes, and so does not call the core, for several times link.peer_timeout
// while another one sends to it, over each transport and with each setting that makes the link keep packets: nobody is
// lost, everything arrives once and in order afterwards, and little is sent meanwhile. With VERBENA_TEST_FULL=1 it also computes
// for 120 s under the settings' defaults.
#include <gtest/gtest.h>

#include "pair.h"

using multi::Half;
using multi::Shared;

namespace {

constexpr unsigned SMALL = 600; /* more than link.window, more than a socket holds */
constexpr size_t SMALL_BYTES = 4000, LARGE = 4u << 20;
constexpr uint8_t LARGE_BYTE = 0x5a, PUT_BYTE = 0x66;
constexpr unsigned ANSWERS = 100;

struct Case {
    std::string name, transports;
    std::vector<std::pair<const char *, const char *>> settings;
};

bool full()
{
    return std::getenv("VERBENA_TEST_FULL") != nullptr;
}

uint64_t counted(const Half &half, const char *name)
{
    vbn_counter_t all[256];
    size_t count = vbn_counters(half.context, all, 256);
    for (size_t i = 0; i < count && i < 256; i++)
        if (std::strcmp(all[i].name, name) == 0)
            return all[i].value;
    std::abort();
}

/* One of the two processes. */
struct Side {
    Half half;
    Shared &shared;
    int rank;
    uint64_t numbers = 0; /* messages that came, in order */
    vbn_op_t pull{};
    bool pulling = false;
    std::vector<uint8_t> large = std::vector<uint8_t>(LARGE);
    iovec room{large.data(), LARGE};

    Side(Shared &shared_, int rank_, const Case &way) : shared(shared_), rank(rank_)
    {
        for (const auto &setting : way.settings)
            setenv(setting.first, setting.second, 1);
        MUST(half.open(way.transports.c_str()) == VBN_OK);
        MUST(vbn_am_handler(half.worker, 2, on_number, this) == VBN_OK);
        MUST(vbn_am_handler(half.worker, 3, on_large, this) == VBN_OK);
        shared.length[rank] = VBN_ADDRESS_MAX;
        MUST(vbn_worker_address(half.worker, shared.blob[rank], &shared.length[rank]) == VBN_OK);
        shared.ready[rank] = 1;
        while (shared.ready[1 - rank] == 0)
            usleep(100);
        MUST(vbn_connect(half.worker, shared.blob[1 - rank], shared.length[1 - rank], Half::on_lost, &half,
                         &half.peer) == VBN_OK);
    }
    static void on_number(void *arg, const vbn_am_message_t *message)
    {
        auto *self = static_cast<Side *>(arg);
        uint64_t number;
        MUST(message->header_length == sizeof(number));
        std::memcpy(&number, message->header, sizeof(number));
        MUST(number == self->numbers);
        self->numbers++;
        if (message->remote != nullptr)
            vbn_am_drop(message->remote);
    }
    static void on_large(void *arg, const vbn_am_message_t *message)
    {
        auto *self = static_cast<Side *>(arg);
        MUST(message->remote != nullptr && vbn_am_pull(message->remote, &self->room, 1, &self->pull) >= 0);
        self->pulling = true;
    }
    void until(const std::function<bool()> &condition, const char *what)
    {
        auto end = multi::Clock::now() + std::chrono::seconds(full() ? 250 : 150);
        while (!condition()) {
            if (half.lost != VBN_OK || multi::Clock::now() > end) {
                std::fprintf(stderr, "rank %d, waiting for %s: %s\n%s", rank, what,
                             half.lost != VBN_OK ? half.text.c_str() : "too long", half.log.c_str());
                _exit(1);
            }
            if (vbn_progress(half.worker) > 0 || vbn_arm(half.worker) != VBN_OK)
                continue;
            pollfd fd{vbn_event_fd(half.worker), POLLIN, 0};
            (void)poll(&fd, 1, 20);
        }
    }
    void barrier(int stage)
    {
        shared.stage[rank] = stage;
        until([&] { return shared.stage[1 - rank] >= stage; }, "the other side");
    }
    void close()
    {
        vbn_disconnect(half.peer, VBN_CLOSE_FLUSH);
        half.peer = nullptr;
        half.close();
    }
};

struct Send {
    uint64_t number;
    std::vector<uint8_t> data;
    iovec iov;
    vbn_op_t op{};
    bool waits = false;
    void start(Side &side, uint64_t number_, size_t bytes)
    {
        number = number_;
        data.assign(bytes, static_cast<uint8_t>(number_));
        iov = {data.data(), bytes};
        vbn_status_t status = vbn_am_send(side.half.peer, 2, &number, sizeof(number), &iov, 1, 0, &op);
        MUST(status >= 0);
        waits = status == VBN_INPROGRESS;
    }
    bool done() const { return !waits || op.complete == 1; }
    bool good() const { return !waits || (op.complete == 1 && op.status == VBN_OK); }
};

void start_all(Side &side, std::vector<Send> &sends, size_t bytes)
{
    for (size_t i = 0; i < sends.size(); i++)
        sends[i].start(side, i, bytes);
}

bool all_done(const std::vector<Send> &sends)
{
    for (const Send &send : sends)
        if (!send.done())
            return false;
    for (const Send &send : sends)
        MUST(send.good());
    return true;
}

/* Sends while the other side computes. */
void sender(Shared &shared, const Case &way)
{
    Side me(shared, 0, way);
    std::vector<Send> sends(SMALL);
    std::vector<uint8_t> big(LARGE, LARGE_BYTE), warm_bytes(LARGE), put_bytes(LARGE, PUT_BYTE);
    iovec big_iov{big.data(), LARGE}, warm_iov{warm_bytes.data(), LARGE}, put_iov{put_bytes.data(), LARGE};
    vbn_op_t op{}, put{}, flush{};
    vbn_key_t *key = nullptr;
    me.until([&] { return shared.key_length[1] != 0; }, "the key");
    me.barrier(1);
    MUST(vbn_key_import(me.half.peer, shared.key[1], shared.key_length[1], &key) == VBN_OK);
    /* So that a peer with rails has them. */
    vbn_status_t warm = vbn_put(key, 0, &warm_iov, 1, &put);
    MUST(warm >= 0);
    me.until([&] { return warm == VBN_OK || put.complete == 1; }, "the first put");
    put = vbn_op_t{};
    me.barrier(2);
    uint64_t acks = counted(me.half, "link.acks_sent"), again = counted(me.half, "link.retransmits");
    start_all(me, sends, SMALL_BYTES);
    vbn_status_t sent = vbn_am_send(me.half.peer, 3, nullptr, 0, &big_iov, 1, VBN_AM_PULL, &op);
    vbn_status_t written = vbn_put(key, 0, &put_iov, 1, &put);
    vbn_status_t flushed = vbn_flush(me.half.peer, &flush);
    MUST(sent >= 0 && written >= 0 && flushed >= 0);
    me.until([&] { return shared.stage[1] == 3; }, "the other side's end of computing");
    acks = counted(me.half, "link.acks_sent") - acks;
    again = counted(me.half, "link.retransmits") - again;
    if (acks + again > 100) {
        std::fprintf(stderr, "%llu questions and %llu repeated packets while the peer computed\n",
                     static_cast<unsigned long long>(acks), static_cast<unsigned long long>(again));
        _exit(1);
    }
    me.until(
        [&] {
            return all_done(sends) && (sent == VBN_OK || op.complete == 1) &&
                   (written == VBN_OK || put.complete == 1) && (flushed == VBN_OK || flush.complete == 1);
        },
        "the end of the operations");
    MUST((sent == VBN_OK || op.status == VBN_OK) && (written == VBN_OK || put.status == VBN_OK) &&
         (flushed == VBN_OK || flush.status == VBN_OK));
    me.until([&] { return me.numbers == ANSWERS; }, "what the other side had sent before it computed");
    for (const char *none : {"link.resumes", "link.lanes_lost", "peers.lost"})
        if (uint64_t count = counted(me.half, none)) {
            std::fprintf(stderr, "%s is %llu\n%s", none, static_cast<unsigned long long>(count), me.half.log.c_str());
            _exit(1);
        }
    me.barrier(4); /* then the other side closes, and its lanes end one after the other */
    vbn_key_release(key);
    me.close();
}

/* Computes: does not call the core. What it sent before has to arrive, too. */
void computer(Shared &shared, const Case &way, unsigned seconds)
{
    Side me(shared, 1, way);
    std::vector<Send> sends(ANSWERS);
    vbn_mem_t *memory = nullptr;
    size_t length = VBN_KEY_MAX;
    MUST(vbn_mem_alloc(me.half.context, LARGE, VBN_BACKING_MEMFD, nullptr, &memory) == VBN_OK);
    MUST(vbn_key_export(memory, 0, LARGE, VBN_ACCESS_READ | VBN_ACCESS_WRITE, shared.key[1], &length) == VBN_OK);
    auto *bytes = static_cast<uint8_t *>(vbn_mem_address(memory));
    shared.key_length[1] = length;
    me.barrier(1);
    me.barrier(2);
    start_all(me, sends, SMALL_BYTES);
    usleep(seconds * 1000000u); /* what is tested: the time goes by */
    shared.stage[1] = 3;
    me.until([&] { return me.numbers == SMALL && me.pulling && me.pull.complete == 1 && all_done(sends); },
             "what was sent meanwhile");
    MUST(me.pull.status == VBN_OK && me.large[0] == LARGE_BYTE && me.large[LARGE - 1] == LARGE_BYTE);
    me.barrier(4);
    MUST(bytes[0] == PUT_BYTE && bytes[LARGE - 1] == PUT_BYTE);
    MUST(vbn_mem_free(memory) == VBN_OK);
    me.close();
}

/* 0: nothing was lost. link.peer_timeout 0: the default. */
int run(Case way, unsigned seconds, unsigned timeout_ms)
{
    std::string timeout = std::to_string(timeout_ms) + "ms", keepalive = std::to_string(timeout_ms / 5) + "ms";
    if (timeout_ms > 0)
        way.settings.insert(way.settings.end(),
                            {{"VBN_LINK_KEEPALIVE", keepalive.c_str()}, {"VBN_LINK_PEER_TIMEOUT", timeout.c_str()}});
    auto codes = multi::launch(
        2, [&](int rank, Shared &shared) { rank == 0 ? sender(shared, way) : computer(shared, way, seconds); },
        full() ? 280 : 220);
    return codes[0] == 0 && codes[1] == 0 ? 0 : 1;
}

class BusyOver : public testing::TestWithParam<const char *> {};

} // namespace

TEST_P(BusyOver, a_program_that_computes_loses_nothing)
{
    bool device = std::strcmp(GetParam(), "shm") != 0; /* most are in emulated machines, which need more time */
    EXPECT_EQ(run({GetParam(), GetParam(), {}}, device ? 30 : 6, device ? 8000 : 1500), 0);
}

INSTANTIATE_TEST_SUITE_P(Over, BusyOver, testing::ValuesIn(multi::ways({"shm"})),
                         [](const auto &each) { return multi::way_name(each.param); });

/* All at the same time: they mostly wait. */
TEST(Busy, a_program_that_computes_loses_nothing_over_tcp_or_for_long)
{
    std::vector<Case> all = {
        {"tcp", "tcp", {}},
        {"tcp with full sockets", "tcp", {{"VBN_TL_TCP_SOCKET_BUFFER", "16K"}}},
        {"tcp with two rails", "tcp", {{"VBN_LINK_RAILS", "2"}}},
        {"tcp that resumes", "tcp", {{"VBN_LINK_RESUME_TIMEOUT", "60s"}}},
        {"tcp with TLS", "tcp", {{"VBN_TL_TCP_TLS", "true"}}},
    };
    if (full())
        for (const char *way : multi::ways({"shm"}))
            all.push_back({way, way, {}});
    std::vector<pid_t> pids;
    for (const Case &way : all) {
        std::fflush(nullptr);
        pid_t pid = fork();
        ASSERT_GE(pid, 0);
        if (pid == 0)
            _exit(full() ? run(way, 120, 0) : run(way, 6, 1500));
        pids.push_back(pid);
    }
    for (size_t i = 0; i < all.size(); i++) {
        int status = 0;
        ASSERT_EQ(waitpid(pids[i], &status, 0), pids[i]);
        EXPECT_EQ(status, 0) << all[i].name;
    }
}
