// SPDX-License-Identifier: Apache-2.0
// test_no_syscall.cc - counts the system calls of a process that sends over shm once it is warm: a seccomp filter turns
// each into a signal that is counted. Sender and receiver are two workers of one thread, so nobody ever sleeps.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>

#include "launch.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#if !defined(SANITIZED) && defined(__x86_64__)
namespace {

using multi::Node;
using multi::Shared;

volatile sig_atomic_t calls;

void count_call(int, siginfo_t *, void *)
{
    calls = calls + 1;
}

/* From here on only writing, leaving, returning from signals and the receiver's look at its sockets are not counted. */
bool forbid_calls()
{
    struct sigaction action{};
    action.sa_sigaction = count_call;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSYS, &action, nullptr);
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_write, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_exit_group, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_rt_sigreturn, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_epoll_wait, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog program{sizeof(code) / sizeof(code[0]), code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

struct Pair {
    Shared &shared;
    Node sender, receiver;
    uint64_t received = 0;
    uint8_t data[4096] = {};
    vbn_op_t op{};

    explicit Pair(Shared &page) : shared(page), sender(page, 0, 1, "shm"), receiver(page, 0, 1, "shm")
    {
        MUST(vbn_am_handler(receiver.worker, 1, handle, this) == VBN_OK);
        sender.connect(shared, 0); /* the address that the receiver wrote last */
    }
    static void handle(void *arg, const vbn_am_message_t *) { static_cast<Pair *>(arg)->received++; }
    void send(size_t length, size_t header_length)
    {
        iovec iov{data, length};
        uint64_t expected = received + 1;
        vbn_status_t status = vbn_am_send(sender.peers[0], 1, data, header_length, &iov, 1, 0, &op);
        MUST(status >= 0);
        for (int turn = 0; received != expected; turn++) {
            MUST(turn < 1000000);
            (void)vbn_progress(receiver.worker);
            (void)vbn_progress(sender.worker);
        }
    }
    void send_tagged(size_t length)
    {
        iovec iov{data, length}, place{data, sizeof(data)};
        vbn_op_t receive{};
        MUST(vbn_tag_recv(receiver.worker, nullptr, 1, UINT64_MAX, &place, 1, nullptr, &receive) == VBN_INPROGRESS);
        MUST(vbn_tag_send(sender.peers[0], 1, &iov, 1, 0, &op) >= 0);
        for (int turn = 0; receive.complete == 0; turn++) {
            MUST(turn < 1000000);
            (void)vbn_progress(receiver.worker);
            (void)vbn_progress(sender.worker);
        }
    }
    void send_all_kinds(int rounds)
    {
        for (int i = 0; i < rounds; i++) {
            send(8, 0);    /* in one cache line */
            send(64, 16);  /* in a slot */
            send(4096, 6); /* in a chunk */
            send_tagged(8);
            send_tagged(4096);
        }
    }
};

void play(int, Shared &shared)
{
    Pair pair(shared);
    pair.send_all_kinds(100);
    if (!forbid_calls()) {
        std::fprintf(stderr, "seccomp filters are not allowed here: %s\n", std::strerror(errno));
        _exit(77);
    }
    pair.send_all_kinds(1000);
    if (calls != 0)
        std::fprintf(stderr, "%d system calls in 5000 messages\n", static_cast<int>(calls));
    if (calls != 0)
        _exit(1);
    syscall(SYS_getppid); /* the counter counts */
    _exit(calls == 1 ? 0 : 2);
}

TEST(NoSyscall, warm_sends_over_shm_make_no_system_call)
{
    auto codes = multi::launch(1, play);
    if (codes[0] == 77)
        GTEST_SKIP() << "no seccomp filters here: allow seccomp() in the container profile";
    EXPECT_EQ(codes[0], 0);
}

} // namespace
#else
TEST(NoSyscall, warm_sends_over_shm_make_no_system_call)
{
    GTEST_SKIP() << "a sanitizer makes system calls of its own, or this is not x86-64";
}
#endif
