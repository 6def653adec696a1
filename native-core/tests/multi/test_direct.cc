// SPDX-License-Identifier: Apache-2.0
// test_direct.cc - large announced messages between real processes: every size and alignment, a sender that does nothing
// meanwhile, processes that may not read each other, and death in the middle.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <fstream>
#include <string>

#include "launch.h"
#include "pin.h"
#include "reads.h"

using multi::Node;
using multi::Shared;

namespace {

constexpr size_t ROOM = 3 << 20;

uint8_t byte_of(uint64_t round, size_t at)
{
    return static_cast<uint8_t>(round * 31 + at * 7 + (at >> 9));
}

/* Pulls every message that is announced and checks it. */
struct Puller {
    Node &node;
    std::vector<uint8_t> room = std::vector<uint8_t>(ROOM + 64);
    vbn_op_t op{};
    iovec iov{};
    uint64_t pulled = 0, bytes = 0;
    size_t shift = 0;
    bool check = true;

    explicit Puller(Node &n) : node(n)
    {
        op.done = on_done;
        op.user = this;
        MUST(vbn_am_handler(node.worker, 1, handle, this) == VBN_OK);
    }
    static void handle(void *arg, const vbn_am_message_t *m)
    {
        auto *self = static_cast<Puller *>(arg);
        self->shift = m->length % 61;
        self->iov = iovec{self->room.data() + self->shift, m->length};
        vbn_status_t status = vbn_am_pull(m->remote, &self->iov, 1, &self->op);
        MUST(status >= 0);
        if (status == VBN_OK)
            on_done(&self->op, VBN_OK, m->length);
    }
    static void on_done(vbn_op_t *op, vbn_status_t status, size_t length)
    {
        auto *self = static_cast<Puller *>(op->user);
        if (!self->check)
            return;
        MUST(status == VBN_OK);
        for (size_t i = 0; i < length; i++)
            MUST(self->room[self->shift + i] == byte_of(self->pulled, i));
        self->pulled++;
        self->bytes += length;
    }
};

size_t size_of(uint64_t round)
{
    static const size_t sizes[] = {1, 8191, 8192, 65535, 65536, 65537, 100001, 262144, 1000003, ROOM - 100};
    return sizes[round % 10];
}

void send_one(Node &node, uint8_t *data, uint64_t round, size_t size, unsigned flags = 0)
{
    for (size_t i = 0; i < size; i++)
        data[i] = byte_of(round, i);
    iovec iov{data, size};
    vbn_op_t op{};
    vbn_status_t status = vbn_am_send(node.peers[1], 1, nullptr, 0, &iov, 1, VBN_AM_PULL | flags, &op);
    MUST(status >= 0);
    node.until([&] { return op.complete == 1; });
    MUST(op.status == VBN_OK && op.length == size);
}

/* No process of ours may copy from another one. Exit code 77: no filters here. */
void forbid_copies()
{
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog program{sizeof(code) / sizeof(code[0]), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(77);
}

struct Case {
    const char *name;
    bool memory;   /* the sender's data lies in memory of the core */
    int forbidden; /* rank that may not copy, -1 none, 2 both */
    unsigned flags = 0;

    bool may(int rank) const { return forbidden != rank && forbidden != 2; }
    bool mapped() const { return memory && flags == 0; }
};

/* Memory of vbn_mem_alloc is mapped here. */
bool maps_memory()
{
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.find("memfd:vbn-mem") != std::string::npos)
            return true;
    return false;
}

/* allowed: by the host, where the case does not forbid it. */
void exchange(int rank, Shared &shared, const Case &c, bool allowed)
{
    constexpr uint64_t ROUNDS = 40;
    pin_model("far"); /* by which copies pay */
    if (!c.may(rank))
        forbid_copies();
    Node node(shared, rank, 2, "shm");
    node.connect_all(shared);
    if (rank == 0) {
        vbn_mem_t *mem;
        std::vector<uint8_t> heap(ROOM + 64);
        MUST(vbn_mem_alloc(node.context, ROOM + 64, VBN_BACKING_MEMFD, nullptr, &mem) == VBN_OK);
        uint8_t *base = c.memory ? static_cast<uint8_t *>(vbn_mem_address(mem)) : heap.data();
        for (uint64_t round = 0; round < ROUNDS; round++)
            send_one(node, base + round % 37, round, size_of(round), c.flags);
        node.barrier(shared, 1);
        MUST(vbn_mem_free(mem) == VBN_OK);
        MUST((c.may(0) && allowed) || counter(node, "copy.written.bytes") == 0);
    } else {
        Puller puller(node);
        node.until([&] { return puller.pulled == ROUNDS; });
        uint64_t streamed = counter(node, "get.stream.bytes"), mapped = counter(node, "get.mapped.bytes");
        uint64_t read = counter(node, "copy.read.bytes");
        MUST(c.mapped() ? mapped > 0 : mapped == 0);
        MUST(c.mapped() == maps_memory());
        if (c.forbidden == -1 && allowed)
            MUST(streamed < 8192 * ROUNDS && (c.mapped() || read > 0));
        else
            MUST(read == 0 && (c.mapped() || streamed == puller.bytes));
        node.barrier(shared, 1);
    }
    node.close();
}

class Direct : public ::testing::TestWithParam<Case> {};

TEST_P(Direct, messages_of_all_sizes_and_alignments_arrive)
{
    bool allowed = multi::reads_others();
    auto codes = multi::launch(2, [=](int rank, Shared &shared) { exchange(rank, shared, GetParam(), allowed); });
    if (codes[0] == 77 || codes[1] == 77)
        GTEST_SKIP() << "no seccomp filters here: allow seccomp() in the container profile";
    EXPECT_EQ(codes[0], 0);
    EXPECT_EQ(codes[1], 0);
}

INSTANTIATE_TEST_SUITE_P(Ways, Direct,
                         ::testing::Values(Case{"heap", false, -1}, Case{"memory", true, -1},
                                           Case{"sender_may_not", false, 0}, Case{"receiver_may_not", false, 1},
                                           Case{"nobody_may", false, 2}, Case{"nobody_may_but_memory", true, 2},
                                           Case{"private_memory", true, -1, VBN_SEND_PRIVATE},
                                           Case{"private_memory_nobody_may", true, 2, VBN_SEND_PRIVATE}),
                         [](const auto &each) { return std::string(each.param.name); });

/* The receiver needs nothing of a sender that computes. */
TEST(DirectProgress, a_sender_that_does_nothing_does_not_hold_the_receiver_up)
{
    if (!multi::reads_others())
        GTEST_SKIP() << "process_vm_readv is forbidden here: run with ptrace rights";
    auto codes = multi::launch(2, [](int rank, Shared &shared) {
        pin_model("far");
        Node node(shared, rank, 2, "shm");
        node.connect_all(shared);
        if (rank == 0) {
            std::vector<uint8_t> data(ROOM);
            send_one(node, data.data(), 0, 100);
            for (size_t i = 0; i < data.size(); i++)
                data[i] = byte_of(1, i);
            iovec iov{data.data(), data.size()};
            vbn_op_t op{};
            MUST(vbn_am_send(node.peers[1], 1, nullptr, 0, &iov, 1, 0, &op) >= 0);
            while (shared.stage[1] == 0) /* no progress here */
                usleep(1000);
            node.until([&] { return op.complete == 1; });
            MUST(op.status == VBN_OK);
        } else {
            Puller puller(node);
            node.until([&] { return puller.pulled == 2; });
            shared.stage[1] = 1;
        }
        node.barrier(shared, 2);
        node.close();
    });
    EXPECT_EQ(codes[0], 0);
    EXPECT_EQ(codes[1], 0);
}

/* rank `victim` is killed while large messages are on their way; the other one's operations end. */
void die(int rank, Shared &shared, int victim, useconds_t delay)
{
    Node node(shared, rank, 2, "shm");
    node.connect_all(shared);
    Puller puller(node);
    puller.check = false;
    node.barrier(shared, 1);
    if (rank == victim) {
        pid_t self = getpid();
        if (fork() == 0) {
            usleep(delay);
            kill(self, SIGKILL);
            _exit(0);
        }
    }
    std::vector<uint8_t> data(ROOM);
    vbn_op_t op{};
    op.complete = 1;
    iovec iov{data.data(), data.size()};
    node.until([&] {
        if (op.complete == 1 && rank == 0 && node.lost[1] == 0)
            (void)vbn_am_send(node.peers[1], 1, nullptr, 0, &iov, 1, 0, &op);
        return node.lost[1 - rank] != 0;
    });
    MUST(op.complete == 1);
    node.close();
}

TEST(DirectDeath, the_survivor_of_a_killed_pair_ends_its_operations)
{
    for (int victim : {0, 1}) {
        for (useconds_t delay : {1000u, 5000u, 20000u}) {
            auto codes = multi::launch(2, [&](int rank, Shared &shared) { die(rank, shared, victim, delay); });
            EXPECT_EQ(codes[victim], -SIGKILL);
            EXPECT_EQ(codes[1 - victim], 0) << "victim " << victim << " after " << delay << " us";
        }
    }
}

} // namespace
