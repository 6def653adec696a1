// SPDX-License-Identifier: Apache-2.0
// test_faults.cc - what a host may refuse and a process may do to itself: each ends in a documented error that names
// cause and cure, or in a slower way that works; nothing hangs.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <memory>
#include <thread>

#include "deny.h"
#include "pair.h"

using multi::Half;
using multi::Pair;
using multi::Shared;
using Bytes = std::vector<uint8_t>;

namespace {

bool says(const std::string &text, const char *words)
{
    return text.find(words) != std::string::npos;
}

/* Runs in a process of its own, because limits and filters cannot be taken back. */
void in_child(const std::function<void()> &role)
{
    auto codes = multi::launch(1, [&](int, Shared &) { role(); });
    if (codes[0] == multi::NO_SECCOMP)
        GTEST_SKIP() << "no seccomp filters here: allow seccomp() in the container profile";
    EXPECT_EQ(codes[0], 0);
}

void deny_or_skip(std::initializer_list<long> calls, int error)
{
    if (!multi::deny(calls, error))
        _exit(multi::NO_SECCOMP);
}

TEST(Faults, without_memfd_workers_talk_over_tcp_and_memory_names_cause_and_cure)
{
    in_child([] {
        deny_or_skip({SYS_memfd_create}, EPERM);
        Pair pair("self,shm,tcp");
        MUST(says(pair.a.log, "transport shm is not available") && says(pair.a.log, "memfd_create"));
        MUST(says(pair.a.log, "seccomp"));
        MUST(pair.a.connect(pair.b) == VBN_OK);
        MUST(pair.send(100) == VBN_OK && pair.send(100) == VBN_OK);
        char why[512];
        (void)vbn_explain(pair.a.peer, why, sizeof(why));
        MUST(says(why, "tcp"));
        vbn_mem_t *mem = nullptr;
        MUST(vbn_mem_alloc(pair.a.context, 8192, VBN_BACKING_MEMFD, nullptr, &mem) < 0);
        MUST(says(vbn_error_text(), "memfd_create") && says(vbn_error_text(), "seccomp"));
        pair.close();
    });
}

TEST(Faults, each_errno_of_memfd_create_has_its_own_cause_and_cure)
{
    struct Case {
        int error;
        vbn_status_t status;
        const char *cure, *not_this;
    };
    for (const Case &c :
         {Case{EPERM, VBN_ERR_ACCESS, "seccomp", "ulimit"}, Case{ENOSYS, VBN_ERR_SYSTEM, "Linux 3.17", "ulimit"},
          Case{EMFILE, VBN_ERR_LIMIT, "ulimit -n", "seccomp"}, Case{ENFILE, VBN_ERR_LIMIT, "fs.file-max", "seccomp"},
          Case{ENOMEM, VBN_ERR_NO_MEMORY, "bytes left", "seccomp"}}) {
        SCOPED_TRACE(strerror(c.error));
        in_child([&c] {
            Half half;
            vbn_mem_t *mem = nullptr;
            MUST(half.open("tcp") == VBN_OK);
            deny_or_skip({SYS_memfd_create}, c.error);
            MUST(vbn_mem_alloc(half.context, 8192, VBN_BACKING_MEMFD, nullptr, &mem) == c.status);
            MUST(says(vbn_error_text(), "memfd_create") && says(vbn_error_text(), c.cure) &&
                 !says(vbn_error_text(), c.not_this));
            half.close();
        });
    }
}

TEST(Faults, without_descriptors_a_memory_names_the_limit_and_no_figure_that_nobody_knows)
{
    in_child([] {
        Half half;
        vbn_mem_t *mem = nullptr;
        MUST(half.open("tcp") == VBN_OK);
        deny_or_skip({SYS_memfd_create, SYS_openat}, EMFILE); /* so /proc/meminfo says nothing either */
        MUST(vbn_mem_alloc(half.context, 8192, VBN_BACKING_MEMFD, nullptr, &mem) == VBN_ERR_LIMIT);
        MUST(says(vbn_error_text(), "ulimit -n"));
        MUST(!says(vbn_error_text(), "available") && !says(vbn_error_text(), "18446744073709551615"));
        half.close();
    });
}

TEST(Faults, without_a_job_key_the_text_says_how_to_make_one)
{
    vbn_config_t *config = nullptr;
    vbn_context_t *context = nullptr;
    ASSERT_EQ(vbn_config_create(&config), VBN_OK);
    EXPECT_EQ(vbn_open(config, &context), VBN_ERR_SETTING);
    EXPECT_TRUE(says(vbn_error_text(), "vbn-info --new-key") && says(vbn_error_text(), "vbn_config_read_job_key"));
    vbn_config_destroy(config);
}

TEST(Faults, texts_about_one_thing_are_in_the_singular)
{
    in_child([] {
        Pair pair("shm");
        vbn_mem_t *mem = nullptr;
        vbn_key_t *key = nullptr;
        vbn_op_t op{}, send{};
        uint8_t blob[VBN_KEY_MAX], byte = 0;
        size_t length = sizeof(blob);
        char text[512];
        iovec two[2] = {{&byte, 1}, {&byte, 1}};
        MUST(pair.a.connect(pair.b) == VBN_OK);
        (void)vbn_explain_call(pair.a.peer, VBN_CALL_AM, 1, text, sizeof(text));
        MUST(says(text, "of 1 byte is sent"));
        MUST(vbn_mem_alloc(pair.b.context, 4096, VBN_BACKING_MEMFD, nullptr, &mem) == VBN_OK);
        MUST(vbn_key_export(mem, 0, 1, VBN_ACCESS_READ, blob, &length) == VBN_OK);
        MUST(vbn_key_import(pair.a.peer, blob, length, &key) == VBN_OK);
        MUST(vbn_get(key, 0, two, 2, &op) == VBN_ERR_RANGE && says(vbn_error_text(), "key's 1 byte"));
        MUST(!says(vbn_error_text(), "1 bytes"));
        vbn_key_release(key);
        MUST(pair.finish(vbn_tag_send(pair.a.peer, 7, two, 2, 0, &send), send) == VBN_OK);
        MUST(pair.until(
            [&] { return vbn_tag_probe(pair.b.worker, nullptr, 7, UINT64_MAX, nullptr, nullptr) == VBN_OK; }));
        MUST(vbn_tag_recv(pair.b.worker, nullptr, 7, UINT64_MAX, two, 1, nullptr, &op) == VBN_ERR_TRUNCATED);
        MUST(says(vbn_error_text(), "2 bytes with tag 0x7 for buffers of 1 byte;"));
        MUST(vbn_close(pair.b.context) == VBN_ERR_INVALID && says(vbn_error_text(), "1 worker:"));
        vbn_worker_destroy(pair.b.worker);
        pair.b.worker = nullptr;
        MUST(vbn_close(pair.b.context) == VBN_ERR_INVALID && says(vbn_error_text(), "1 memory and 0 mappings"));
        MUST(vbn_mem_free(mem) == VBN_OK);
        pair.close();
    });
}

/* Large data of private memory both ways: pulled, put and got. */
void large_data_arrives(Pair &pair)
{
    constexpr size_t SIZE = 3 << 20;
    Bytes there(SIZE, 1), here(SIZE, 2);
    iovec iov{here.data(), SIZE};
    vbn_mem_t *mem = nullptr;
    vbn_key_t *key = nullptr;
    vbn_op_t op{};
    uint8_t blob[VBN_KEY_MAX];
    size_t length = sizeof(blob);
    MUST(pair.a.connect(pair.b) == VBN_OK);
    MUST(vbn_mem_register(pair.b.context, there.data(), SIZE, VBN_ACCESS_READ | VBN_ACCESS_WRITE, &mem) == VBN_OK);
    MUST(vbn_key_export(mem, 0, SIZE, VBN_ACCESS_READ | VBN_ACCESS_WRITE, blob, &length) == VBN_OK);
    MUST(vbn_key_import(pair.a.peer, blob, length, &key) == VBN_OK);
    MUST(pair.finish(vbn_put(key, 0, &iov, 1, &op), op) == VBN_OK);
    MUST(there == here);
    there.assign(SIZE, 3);
    op = {};
    MUST(pair.finish(vbn_get(key, 0, &iov, 1, &op), op) == VBN_OK);
    MUST(here == there);
    vbn_key_release(key);

    Bytes got(SIZE, 0);
    vbn_op_t send{}, receive{};
    iovec to{got.data(), SIZE};
    MUST(vbn_tag_recv(pair.b.worker, nullptr, 9, UINT64_MAX, &to, 1, nullptr, &receive) == VBN_INPROGRESS);
    MUST(vbn_tag_send(pair.a.peer, 9, &iov, 1, 0, &send) == VBN_INPROGRESS);
    MUST(pair.until([&] { return send.complete + receive.complete == 2; }));
    MUST(receive.status == VBN_OK && got == here);
    MUST(vbn_mem_free(mem) == VBN_OK);
    pair.close();
}

TEST(Faults, without_cross_memory_copy_large_data_arrives_all_the_same)
{
    in_child([] {
        deny_or_skip({SYS_process_vm_readv, SYS_process_vm_writev}, EPERM);
        Pair pair("shm");
        large_data_arrives(pair);
    });
}

TEST(Faults, without_userfaultfd_registered_memory_works_and_the_log_says_what_it_costs)
{
    in_child([] {
        deny_or_skip({SYS_userfaultfd}, EPERM);
        Pair pair("shm");
        large_data_arrives(pair);
        MUST(says(pair.b.log, "userfaultfd is refused") && says(pair.b.log, "seccomp"));
    });
}

int open_descriptors()
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

void limit_descriptors(int end)
{
    const rlimit limit{static_cast<rlim_t>(end), 256};
    MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* The limit is on the number of a descriptor, not on how many are open, and a launcher may leave high ones behind. */
void leave_descriptors(int room)
{
    int fd = -1;
    for (int left = room; left >= 0; left -= fcntl(fd, F_GETFD) < 0)
        fd++;
    limit_descriptors(fd);
}

TEST(Faults, a_worker_that_finds_no_descriptor_is_an_error_with_the_cure_and_leaves_none_open)
{
    in_child([] {
        int before = open_descriptors(), refused = 0;
        for (int room = 0;; room++) {
            MUST(room < 60);
            leave_descriptors(room);
            Half half;
            vbn_status_t status = half.open("self,shm,tcp");
            std::string text = vbn_error_text() + half.log;
            bool all = status == VBN_OK && !says(half.log, "not available");
            MUST(all || says(text, "ulimit -n"));
            MUST(status == VBN_OK || status == VBN_ERR_LIMIT);
            refused += status != VBN_OK;
            half.close();
            limit_descriptors(256);
            MUST(open_descriptors() == before);
            if (all)
                break;
        }
        MUST(refused > 2);
    });
}

/* The window is full, so the message waits; the call is complete when it returns. */
TEST(Faults, an_empty_message_that_waits_needs_its_buffers_no_more)
{
    in_child([] {
        setenv("VBN_LINK_RESUME_TIMEOUT", "10s", 1); /* packets are kept until acknowledged */
        setenv("VBN_LINK_WINDOW", "8", 1);
        Pair pair("tcp");
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(100) == VBN_OK);
        uint8_t data[2] = {};
        vbn_op_t ops[10] = {};
        for (vbn_op_t &each : ops)
            MUST(vbn_am_send(pair.a.peer, 1, nullptr, 0, nullptr, 0, 0, &each) == VBN_OK);
        iovec iov[2] = {{data, 0}, {data + 1, 0}};
        vbn_op_t op{};
        MUST(vbn_am_send(pair.a.peer, 1, nullptr, 0, iov, 2, 0, &op) == VBN_OK && op.complete == 1);
        iov[0].iov_len = iov[1].iov_len = 1;
        MUST(pair.until([&] { return pair.b.messages == 12 || pair.a.lost != VBN_OK; }));
        MUST(pair.a.lost == VBN_OK && pair.send(100) == VBN_OK);
        MUST(pair.a.log.find("broke") == std::string::npos);
        pair.close();
    });
}

void connect_with_few_descriptors(const char *transport)
{
    int refused = 0;
    setenv("VBN_LINK_WIREUP_TIMEOUT", "3s", 1); /* so long a peer that is refused is dialled again */
    for (int room = 0;; room++) {
        MUST(room < 30);
        Pair pair(transport);
        leave_descriptors(room);
        vbn_status_t status = pair.a.connect(pair.b);
        std::string text = status < 0 ? vbn_error_text() : "";
        if (status == VBN_OK)
            status = pair.send(100);
        MUST(pair.until([&] { return status < 0 || pair.b.messages == 1 || pair.a.lost != VBN_OK; }));
        bool arrived = pair.b.messages == 1;
        text += pair.a.text + pair.a.log + pair.b.log;
        if (!arrived && !says(text, "ulimit -n"))
            std::fprintf(stderr, "%d descriptors: %s\n", room, text.c_str());
        MUST(arrived || says(text, "ulimit -n"));
        refused += !arrived;
        limit_descriptors(256);
        pair.close();
        if (arrived)
            break;
    }
    MUST(refused > 0);
}

class FaultsOver : public ::testing::TestWithParam<const char *> {};

TEST_P(FaultsOver, a_connection_that_finds_no_descriptor_ends_with_the_cure)
{
    in_child([] { connect_with_few_descriptors(GetParam()); });
}

/* Everything that a child of fork() may try with what it inherited. */
struct Inherited {
    Pair pair;
    vbn_mem_t *mem = nullptr;
    vbn_key_t *key = nullptr;
    uint8_t blob[VBN_KEY_MAX];
    size_t blob_length = sizeof(blob);
    Bytes data = Bytes(64, 5), room = Bytes(64, 0);
    vbn_op_t receive{};
    iovec to{room.data(), 64};

    explicit Inherited(const char *transport) : pair(transport)
    {
        MUST(pair.a.connect(pair.b) == VBN_OK);
        MUST(vbn_mem_alloc(pair.b.context, 4096, VBN_BACKING_MEMFD, nullptr, &mem) == VBN_OK);
        MUST(vbn_key_export(mem, 0, 4096, VBN_ACCESS_READ | VBN_ACCESS_WRITE, blob, &blob_length) == VBN_OK);
        MUST(vbn_key_import(pair.a.peer, blob, blob_length, &key) == VBN_OK);
        MUST(pair.send(100) == VBN_OK);
        iovec iov{data.data(), 8};
        vbn_op_t op{};
        MUST(pair.finish(vbn_put(key, 0, &iov, 1, &op), op) == VBN_OK);
        MUST(vbn_tag_recv(pair.a.worker, nullptr, 3, UINT64_MAX, &to, 1, nullptr, &receive) == VBN_INPROGRESS);
    }
    void try_objects()
    {
        vbn_worker_t *worker = nullptr;
        vbn_mem_t *memory = nullptr;
        uint8_t address[VBN_ADDRESS_MAX] = {1};
        size_t length = sizeof(address);
        vbn_peer_t *peer = nullptr;
        vbn_key_t *other = nullptr;
        MUST(vbn_worker_create(pair.a.context, &worker) == VBN_ERR_FORKED);
        MUST(vbn_progress(pair.a.worker) == 0 && vbn_arm(pair.a.worker) == VBN_ERR_FORKED);
        MUST(vbn_worker_address(pair.a.worker, address, &length) == VBN_ERR_FORKED);
        MUST(vbn_connect(pair.a.worker, address, 50, nullptr, nullptr, &peer) == VBN_ERR_FORKED);
        MUST(vbn_mem_alloc(pair.a.context, 4096, VBN_BACKING_MEMFD, nullptr, &memory) == VBN_ERR_FORKED);
        MUST(vbn_mem_register(pair.a.context, data.data(), 64, VBN_ACCESS_READ, &memory) == VBN_ERR_FORKED);
        MUST(vbn_mem_revoke(mem) == VBN_ERR_FORKED && vbn_mem_free(mem) == VBN_ERR_FORKED);
        MUST(vbn_key_import(pair.a.peer, blob, blob_length, &other) == VBN_ERR_FORKED);
    }
    void try_operations()
    {
        iovec iov{data.data(), 64};
        vbn_op_t op{};
        vbn_strided_t blocks{data.data(), 8, 4, 8, 16};
        vbn_signal_t signal{key, 64, VBN_ATOMIC_ADD, 1};
        vbn_tag_info_t info;
        vbn_peer_t *peer = pair.a.peer;
        vbn_worker_t *worker = pair.a.worker;
        MUST(vbn_am_send(peer, 1, nullptr, 0, &iov, 1, 0, &op) == VBN_ERR_FORKED);
        MUST(vbn_am_send(peer, 1, nullptr, 0, &iov, 1, VBN_AM_PULL, &op) == VBN_ERR_FORKED);
        MUST(vbn_tag_send(peer, 1, &iov, 1, 0, &op) == VBN_ERR_FORKED);
        MUST(vbn_tag_recv(worker, nullptr, 1, 0, &iov, 1, nullptr, &op) == VBN_ERR_FORKED);
        MUST(vbn_tag_probe(worker, nullptr, 1, 0, &info, nullptr) == VBN_ERR_FORKED);
        MUST(vbn_put(key, 0, &iov, 1, &op) == VBN_ERR_FORKED && vbn_get(key, 0, &iov, 1, &op) == VBN_ERR_FORKED);
        MUST(vbn_put_strided(key, 0, &blocks, &op) == VBN_ERR_FORKED);
        MUST(vbn_get_strided(key, 0, &blocks, &op) == VBN_ERR_FORKED);
        MUST(vbn_put_signal(key, 0, &iov, 1, &signal, &op) == VBN_ERR_FORKED);
        MUST(vbn_atomic(key, 0, VBN_ATOMIC_ADD, 8, 1, 0, nullptr, &op) == VBN_ERR_FORKED);
        MUST(vbn_fence(worker) == VBN_ERR_FORKED && vbn_flush(peer, &op) == VBN_ERR_FORKED);
        MUST(vbn_flush_all(worker, &op) == VBN_ERR_FORKED);
        MUST(says(vbn_error_text(), "open a context of its own"));
    }
    /* A context of the child's own works. */
    static void try_own()
    {
        Pair own("shm,tcp");
        MUST(own.a.connect(own.b) == VBN_OK && own.send(5000) == VBN_OK);
        own.close();
    }
};

TEST_P(FaultsOver, after_fork_every_call_of_the_child_is_refused_and_the_parent_goes_on)
{
    in_child([] {
        Inherited it(GetParam());
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            it.try_objects();
            it.try_operations();
            vbn_disconnect(it.pair.a.peer, VBN_CLOSE_NOW);
            vbn_worker_destroy(it.pair.a.worker);
            MUST(vbn_close(it.pair.a.context) == VBN_ERR_FORKED);
            Inherited::try_own();
            _exit(0);
        }
        int status = -1;
        MUST(waitpid(child, &status, 0) == child);
        MUST(status == 0);
        MUST(it.pair.send(100) == VBN_OK && it.pair.send(100000) == VBN_OK);
        const auto *word = static_cast<const uint8_t *>(vbn_mem_address(it.mem));
        MUST(word[0] == 5 && word[7] == 5 && word[8] == 0 && word[64] == 0); /* the child changed nothing */
        MUST(it.receive.complete == 0 && vbn_tag_cancel(&it.receive) == VBN_OK);
        vbn_key_release(it.key);
        MUST(vbn_mem_free(it.mem) == VBN_OK);
        it.pair.close();
    });
}

TEST_P(FaultsOver, two_contexts_of_one_process_share_nothing_and_keys_keep_them_apart)
{
    in_child([] {
        Half a, b, other;
        MUST(a.open(GetParam(), 1) == VBN_OK && b.open(GetParam(), 1) == VBN_OK && other.open(GetParam(), 2) == VBN_OK);
        MUST(a.connect(b) == VBN_OK && other.connect(b) == VBN_OK);
        uint8_t byte = 1;
        iovec iov{&byte, 1};
        vbn_op_t good{}, bad{};
        vbn_status_t sent = vbn_am_send(a.peer, 1, nullptr, 0, &iov, 1, 0, &good);
        MUST(sent >= 0 && vbn_am_send(other.peer, 1, nullptr, 0, &iov, 1, 0, &bad) >= 0);
        auto end = multi::Clock::now() + std::chrono::seconds(60);
        while (b.messages == 0 || other.lost == VBN_OK) {
            MUST(multi::Clock::now() < end);
            for (Half *half : {&a, &b, &other})
                (void)vbn_progress(half->worker);
        }
        MUST(other.lost == VBN_ERR_AUTH && says(other.text, "key") && b.messages == 1 && a.lost == VBN_OK);
        vbn_counter_t counters[128];
        size_t count = vbn_counters(a.context, counters, 128);
        for (size_t i = 0; i < count && i < 128; i++)
            MUST(std::strcmp(counters[i].name, "wireup.auth_failed") != 0 || counters[i].value == 0);
        other.close();
        for (int i = 0; i < 1000; i++)
            (void)(vbn_progress(a.worker) + vbn_progress(b.worker));
        MUST(a.lost == VBN_OK);
        a.close();
        b.close();
    });
}

INSTANTIATE_TEST_SUITE_P(Over, FaultsOver, ::testing::Values("shm", "tcp"),
                         [](const auto &each) { return std::string(each.param); });

/* A process that stands still for longer than every time-out and goes on is what a jump of the clock looks like. */
void stands_still(int rank, Shared &shared, const char *transport)
{
    multi::Node node(shared, rank, 2, transport);
    unsigned messages = 0;
    int64_t limit_ns = 0;
    MUST(vbn_setting(node.context, "link.peer_timeout", nullptr, 0, &limit_ns) == VBN_OK && limit_ns == 50000000);
    MUST(vbn_am_handler(
             node.worker, 1, [](void *arg, const vbn_am_message_t *) { (*static_cast<unsigned *>(arg))++; },
             &messages) == VBN_OK);
    node.connect_all(shared);
    uint64_t data = 1;
    iovec iov{&data, sizeof(data)};
    for (unsigned i = 1; i <= 200; i++) {
        vbn_op_t op{};
        MUST(vbn_am_send(node.peers[1 - rank], 1, nullptr, 0, &iov, 1, 0, &op) >= 0);
        node.until([&] { return op.complete == 1 && messages >= i; });
        if (i == 100 && rank == 1) {
            shared.stage[1] = 100;
            raise(SIGSTOP);
        }
    }
    MUST(node.lost[1 - rank] == VBN_OK);
    node.barrier(shared, 200);
    node.close();
}

void continues_after_standing_still(const char *transport)
{
    auto *shared = static_cast<Shared *>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(static_cast<void *>(shared), MAP_FAILED);
    setenv("VBN_LINK_KEEPALIVE", "20ms", 1);
    setenv("VBN_LINK_PEER_TIMEOUT", "50ms", 1);
    pid_t pids[2];
    for (int rank = 0; rank < 2; rank++) {
        pids[rank] = fork();
        if (pids[rank] == 0) {
            alarm(60);
            stands_still(rank, *shared, transport);
            _exit(0);
        }
    }
    for (const char *name : {"VBN_LINK_KEEPALIVE", "VBN_LINK_PEER_TIMEOUT"})
        unsetenv(name);
    int status = 0;
    ASSERT_EQ(waitpid(pids[1], &status, WUNTRACED), pids[1]);
    ASSERT_TRUE(WIFSTOPPED(status));
    usleep(500000); /* what is tested: time goes by, more than any time-out set above */
    kill(pids[1], SIGCONT);
    for (pid_t pid : pids) {
        ASSERT_EQ(waitpid(pid, &status, 0), pid);
        EXPECT_EQ(status, 0);
    }
    munmap(shared, sizeof(Shared));
}

TEST_P(FaultsOver, a_peer_that_stands_still_beyond_every_time_out_goes_on_without_loss)
{
    continues_after_standing_still(GetParam());
}

#ifndef NDEBUG
TEST(FaultsDebug, two_threads_inside_one_worker_end_the_process_with_the_reason)
{
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        dup2(pipes[1], STDERR_FILENO);
        Half half;
        (void)half.open("self");
        auto spin = [&] {
            for (int i = 0; i < 100000000; i++)
                (void)vbn_progress(half.worker);
        };
        std::thread one(spin), two(spin);
        one.join();
        two.join();
        _exit(0);
    }
    close(pipes[1]);
    std::string text;
    char part[512];
    for (ssize_t n; (n = read(pipes[0], part, sizeof(part))) > 0;)
        text.append(part, static_cast<size_t>(n));
    close(pipes[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
    EXPECT_TRUE(says(text, "]: error: two threads") && says(text, "give each thread a worker of its own")) << text;
}

TEST(FaultsDebug, a_worker_may_pass_from_thread_to_thread)
{
    Pair pair("shm");
    EXPECT_EQ(pair.a.connect(pair.b), VBN_OK);
    for (int i = 0; i < 3; i++)
        std::thread([&] { EXPECT_EQ(pair.send(5000), VBN_OK); }).join();
    pair.close();
}
#endif

} // namespace
