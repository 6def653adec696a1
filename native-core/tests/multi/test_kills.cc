// SPDX-License-Identifier: Apache-2.0
// test_kills.cc - an exchange of two processes in which one is killed (SIGKILL) at each of its steps in turn: before
// and after each call of the core, and, by ptrace, at each system call that changes something. Whoever dials may be
// the one that dies, or the one that survives. The survivor's operations all end, it is told of the loss with the
// reason, nothing hangs, and what was acknowledged is there.
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>

#include "full.h"
#include "pair.h"

using multi::Half;

namespace {

constexpr size_t LARGE = 300000;
constexpr int GAVE_UP = 78; /* exit code: ptrace is refused */

/* Shared by the processes; outlives the one that dies. */
struct Arena {
    std::atomic<size_t> address_length, key_length; /* of the one that is dialled; 0 = not there yet */
    uint8_t address[VBN_ADDRESS_MAX], key[VBN_KEY_MAX];
    std::atomic<bool> dead;
    alignas(4096) uint8_t memory[LARGE]; /* registered by the one that is dialled */
    uint8_t pulled[LARGE];               /* what it pulled */
};

/* One side of the exchange. Dies by its own hand at call number `die_at` (0: does not). */
class Player {
public:
    Player(Arena &arena_, const char *transport, unsigned die_at_) : arena(arena_), die_at(die_at_)
    {
        setenv("VBN_LINK_WIREUP_TIMEOUT", "5s", 1);
        step();
        MUST(half.open(transport) == VBN_OK);
        step();
    }
    Half half;
    Arena &arena;
    unsigned steps = 0, die_at;

    void step()
    {
        if (++steps == die_at)
            kill(getpid(), SIGKILL);
    }
    void turn()
    {
        step();
        unsigned events = vbn_progress(half.worker);
        step();
        if (events > 0 || vbn_arm(half.worker) != VBN_OK)
            return;
        pollfd fd{vbn_event_fd(half.worker), POLLIN, 0};
        (void)poll(&fd, 1, 5);
    }
    /* Until the condition holds or the peer is lost. */
    void until(const std::function<bool()> &condition)
    {
        auto end = multi::Clock::now() + std::chrono::seconds(30);
        while (!condition() && half.lost == VBN_OK) {
            MUST(multi::Clock::now() < end);
            turn();
        }
    }
};

/* An operation of the survivor: it ends, whatever happens. */
struct Op {
    vbn_op_t op{};
    vbn_status_t status = VBN_ERR_CLOSED; /* not issued */
    void issued(Player &player, vbn_status_t result)
    {
        status = result;
        player.step();
        player.until([&] { return status != VBN_INPROGRESS || op.complete == 1; });
    }
    bool done() const
    {
        return status == VBN_OK || (status == VBN_INPROGRESS && op.complete == 1 && op.status == VBN_OK);
    }
    bool ended() const { return status != VBN_INPROGRESS || op.complete == 1; }
};

bool all_are(const uint8_t *bytes, uint8_t value)
{
    return std::all_of(bytes, bytes + LARGE, [&](uint8_t byte) { return byte == value; });
}

void dial(Arena &arena, const char *transport, unsigned die_at)
{
    Player me(arena, transport, die_at);
    static uint8_t one[LARGE], two[LARGE], got[LARGE];
    std::memset(one, 1, LARGE);
    std::memset(two, 2, LARGE);
    while (arena.key_length == 0) {
        if (arena.dead)
            return me.half.close();
        usleep(100);
    }
    if (vbn_connect(me.half.worker, arena.address, arena.address_length, Half::on_lost, &me.half, &me.half.peer) < 0)
        return me.half.close(); /* it is gone already, and the call said so */
    me.step();
    Op small, large, put, get, add, flush;
    iovec first{one, 8}, all{one, LARGE}, data{two, LARGE}, back{got, LARGE};
    vbn_key_t *key = nullptr;
    uint64_t before = 0;
    small.issued(me, vbn_am_send(me.half.peer, 1, nullptr, 0, &first, 1, 0, &small.op));
    me.until([&] { return me.half.messages > 0; });
    large.issued(me, vbn_am_send(me.half.peer, 2, nullptr, 0, &all, 1, VBN_AM_PULL, &large.op));
    if (vbn_key_import(me.half.peer, arena.key, arena.key_length, &key) == VBN_OK) {
        put.issued(me, vbn_put(key, 0, &data, 1, &put.op));
        get.issued(me, vbn_get(key, 0, &back, 1, &get.op));
        add.issued(me, vbn_atomic(key, 0, VBN_ATOMIC_ADD, 8, 1, 0, &before, &add.op));
        vbn_key_release(key);
    }
    flush.issued(me, vbn_flush(me.half.peer, &flush.op));
    for (const Op *op : {&small, &large, &put, &get, &add, &flush}) {
        MUST(op->ended());
        MUST(op->done() || me.half.lost != VBN_OK);
    }
    MUST(me.half.lost == VBN_OK || !me.half.text.empty());
    MUST(flush.done() || me.half.lost != VBN_OK);
    /* What was acknowledged is there, also when it died afterwards. */
    MUST(!large.done() || all_are(arena.pulled, 1));
    MUST(!put.done() || std::all_of(arena.memory + 8, arena.memory + LARGE, [](uint8_t byte) { return byte == 2; }));
    MUST(!get.done() || all_are(got, 2));
    MUST(!add.done() || (before == 0x0202020202020202 && arena.memory[0] == 3));
    me.step();
    vbn_disconnect(me.half.peer, VBN_CLOSE_FLUSH);
    me.half.peer = nullptr;
    me.step();
    me.half.close();
}

/* The dialled side: answers, pulls, and lends its memory. */
struct Server {
    Player &me;
    vbn_op_t reply{}, pull{};
    iovec room{};
    bool known = false, pulling = false;
    static void small(void *arg, const vbn_am_message_t *m)
    {
        auto *self = static_cast<Server *>(arg);
        self->known = true;
        (void)vbn_am_send(m->peer, 1, nullptr, 0, nullptr, 0, 0, &self->reply); /* it may be gone */
        self->me.step();
    }
    static void large(void *arg, const vbn_am_message_t *m)
    {
        auto *self = static_cast<Server *>(arg);
        self->room = {self->me.arena.pulled, m->length};
        self->pulling = vbn_am_pull(m->remote, &self->room, 1, &self->pull) == VBN_INPROGRESS;
        if (!self->pulling)
            vbn_am_drop(m->remote);
        self->me.step();
    }
};

void serve(Arena &arena, const char *transport, unsigned die_at)
{
    Player me(arena, transport, die_at);
    Server server{me};
    vbn_mem_t *mem = nullptr;
    size_t length = VBN_ADDRESS_MAX, key_length = VBN_KEY_MAX;
    MUST(vbn_am_handler(me.half.worker, 1, Server::small, &server) == VBN_OK);
    MUST(vbn_am_handler(me.half.worker, 2, Server::large, &server) == VBN_OK);
    vbn_worker_set_peer_lost(me.half.worker, Half::on_lost, &me.half);
    MUST(vbn_mem_register(me.half.context, arena.memory, LARGE, VBN_ACCESS_READ | VBN_ACCESS_WRITE, &mem) == VBN_OK);
    MUST(vbn_key_export(mem, 0, LARGE, VBN_ACCESS_READ | VBN_ACCESS_WRITE, arena.key, &key_length) == VBN_OK);
    MUST(vbn_worker_address(me.half.worker, arena.address, &length) == VBN_OK);
    me.step();
    arena.address_length = length;
    arena.key_length = key_length;
    me.until([&] { return arena.dead && !server.known; }); /* else it hears of the end, by close or by death */
    MUST(!server.known || me.half.lost != VBN_OK);
    MUST(!server.known || !me.half.text.empty());
    MUST(!server.pulling || server.pull.complete == 1);
    me.step();
    MUST(vbn_mem_free(mem) == VBN_OK);
    me.step();
    me.half.close();
}

/* System calls that make a step of an exchange; waiting and looking at the clock do not. */
bool is_step(uint64_t call)
{
    switch (call) {
    case SYS_socket:
    case SYS_bind:
    case SYS_listen:
    case SYS_connect:
    case SYS_accept4:
    case SYS_sendmsg:
    case SYS_recvmsg:
    case SYS_sendto:
    case SYS_recvfrom:
    case SYS_write:
    case SYS_memfd_create:
    case SYS_fallocate:
    case SYS_ftruncate:
    case SYS_mmap:
    case SYS_munmap:
    case SYS_close:
    case SYS_shutdown:
    case SYS_epoll_ctl:
    case SYS_setsockopt:
    case SYS_process_vm_readv:
    case SYS_process_vm_writev:
    case SYS_userfaultfd: return true;
    default: return false;
    }
}

/* Lets the traced process run and kills it at its step number `at`. Its status as waitpid gives it. */
int kill_at(pid_t pid, unsigned at)
{
    unsigned steps = 0;
    int status = 0, deliver = 0;
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        return status;
    (void)ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    for (;;) {
        if (ptrace(PTRACE_SYSCALL, pid, nullptr, deliver) != 0 || waitpid(pid, &status, __WALL) != pid ||
            !WIFSTOPPED(status))
            return status;
        deliver = WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);
        __ptrace_syscall_info info{};
        if (deliver != 0 || ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0)
            continue;
        if (info.op == PTRACE_SYSCALL_INFO_ENTRY && is_step(info.entry.nr) && ++steps == at)
            break;
    }
    kill(pid, SIGKILL);
    (void)waitpid(pid, &status, __WALL);
    return status;
}

using Role = void (*)(Arena &, const char *, unsigned);

pid_t start(Role role, Arena &arena, const char *transport, unsigned die_at, bool traced)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    alarm(60);
    if (traced && ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0)
        _exit(GAVE_UP);
    if (traced)
        raise(SIGSTOP);
    role(arena, transport, die_at);
    _exit(0);
}

struct Death {
    bool dialler, by_ptrace;
    const char *transport;
};

/* One exchange; the victim dies at step `at`. Returns whether it got that far; `survivor` is the other's exit code. */
bool play(const Death &death, unsigned at, int *survivor)
{
    void *page = mmap(nullptr, sizeof(Arena), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto *arena = new (page) Arena{};
    Role dies = death.dialler ? dial : serve, lives = death.dialler ? serve : dial;
    pid_t victim = start(dies, *arena, death.transport, death.by_ptrace ? 0 : at, death.by_ptrace);
    pid_t other = start(lives, *arena, death.transport, 0, false);
    int status = 0;
    if (death.by_ptrace)
        status = kill_at(victim, at);
    else
        (void)waitpid(victim, &status, 0);
    bool died = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (WIFEXITED(status) && WEXITSTATUS(status) == GAVE_UP)
        *survivor = GAVE_UP;
    else
        EXPECT_TRUE(died || status == 0) << "the one that was to die: " << status;
    arena->dead = true;
    bool traced = *survivor != GAVE_UP;
    (void)waitpid(other, &status, 0);
    if (traced)
        *survivor = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    munmap(page, sizeof(Arena));
    return died;
}

class Kills : public ::testing::TestWithParam<Death> {};

TEST_P(Kills, at_each_step_leave_a_survivor_whose_operations_all_end)
{
    unsigned at = 1, deaths = 0;
    int survivor = 0;
    auto hurry = multi::Clock::now() +
                 std::chrono::seconds(60); /* then a loaded machine gets fewer of the steps to do */
    for (;; at++) {
        if (!play(GetParam(), at, &survivor))
            break;
        deaths++;
        ASSERT_EQ(survivor, 0) << "death at step " << at;
        if (at >= 20 && !test_is_full())
            at += 2; /* a third of them */
        if (at > 150 || (deaths > 20 && multi::Clock::now() > hurry))
            at += 6; /* the rest is much alike: waiting, closing */
    }
    if (survivor == GAVE_UP)
        GTEST_SKIP()
            << "ptrace is refused here: allow it in the container profile, or kernel.yama.ptrace_scope below 3";
    EXPECT_EQ(survivor, 0) << "nobody was killed";
    EXPECT_GT(deaths, 20u) << "the victim has more steps than that";
    std::printf("%u deaths\n", deaths);
}

std::string name_of(const ::testing::TestParamInfo<Death> &info)
{
    return std::string(info.param.transport) + (info.param.dialler ? "_of_the_dialler" : "_of_the_dialled") +
           (info.param.by_ptrace ? "_in_system_calls" : "_between_calls");
}

INSTANTIATE_TEST_SUITE_P(Each, Kills,
                         ::testing::Values(Death{true, false, "shm"}, Death{false, false, "shm"},
                                           Death{true, false, "tcp"}, Death{false, false, "tcp"},
                                           Death{true, true, "shm"}, Death{false, true, "shm"},
                                           Death{true, true, "tcp"}, Death{false, true, "tcp"}),
                         name_of);

} // namespace
