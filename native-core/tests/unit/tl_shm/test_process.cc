// SPDX-License-Identifier: Apache-2.0
// test_process.cc - real processes: peers that are killed, sleepers, imports, and running out of descriptors.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness.h"
#include "users.h"

extern "C" {
vbn_status_t mem_alloc(struct mem_registry *, size_t, vbn_backing_t, const char *, vbn_mem_t **);
vbn_status_t mem_free(vbn_mem_t *);
vbn_status_t mem_revoke(vbn_mem_t *);
void *mem_address(const vbn_mem_t *);
vbn_status_t mem_key_export(vbn_mem_t *, size_t, size_t, unsigned, void *, size_t *);
}

namespace {

constexpr int kChildSeconds = 60; // a child that hangs is ended by SIGALRM

struct Key {
    uint8_t bytes[VBN_KEY_MAX];
    size_t length = sizeof(bytes);
};

// A child process with a pipe in each direction; the child's code gets {read fd, write fd}.
class Child {
public:
    explicit Child(const std::function<int(int, int)> &code)
    {
        int down[2];
        int up[2];
        if (pipe(down) != 0 || pipe(up) != 0)
            abort();
        pid_ = fork();
        if (pid_ == 0) {
            alarm(kChildSeconds);
            close(down[1]);
            close(up[0]);
            _exit(code(down[0], up[1]));
        }
        close(down[0]);
        close(up[1]);
        in = up[0];
        out = down[1];
    }

    ~Child()
    {
        if (pid_ > 0)
            kill9();
        close(in);
        close(out);
    }

    void kill9()
    {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }

    int wait()
    {
        int status = 0;
        waitpid(pid_, &status, 0);
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    }

    int in;
    int out;

private:
    pid_t pid_;
};

template <typename T> bool put(int fd, const T &value)
{
    return write(fd, &value, sizeof(value)) == static_cast<ssize_t>(sizeof(value));
}

template <typename T> bool take(int fd, T *value)
{
    pollfd ready = {fd, POLLIN, 0};
    return poll(&ready, 1, 30000) == 1 && read(fd, value, sizeof(*value)) == static_cast<ssize_t>(sizeof(*value));
}

struct Address {
    uint8_t bytes[256];
    size_t length = 0;
};

// In the child: opens a side, connects to the parent's address and becomes ready.
lane_t *join(int in, side_t **side_p)
{
    Address address;
    if (!take(in, &address))
        return nullptr;
    side_t *side = side_open("shm", nullptr, 99);
    *side_p = side;
    lane_t *lane = side != nullptr ? lane_connect(side, address.bytes, address.length, true) : nullptr;
    return lane != nullptr && drive_until(side, nullptr, &lane->readies, 1) ? lane : nullptr;
}

void send_hard(lane_t *lane, side_t *side, uint32_t bytes)
{
    while (lane_send(lane, bytes, 1) == VBN_BUSY)
        drive(side, nullptr, 1);
}

class ShmProcess : public ::testing::Test {
protected:
    void start(const std::function<int(int, int)> &code)
    {
        child = std::make_unique<Child>(code);
        side = side_open("shm", nullptr, 1);
        ASSERT_NE(side, nullptr) << vbn_error_text();
        Address address;
        address.length = side_address(side, address.bytes);
        ASSERT_TRUE(put(child->out, address));
    }

    lane_t *wait_lane()
    {
        for (int i = 0; i < 200000 && side_lane_count(side) == 0; i++) {
            drive(side, nullptr, 10);
            usleep(500);
        }
        return side_lane(side, 0);
    }

    void TearDown() override
    {
        if (side != nullptr)
            side_close(side);
        child.reset();
    }

    std::unique_ptr<Child> child;
    side_t *side = nullptr;
};

TEST_F(ShmProcess, APeerKilledWhileOpeningIsLost)
{
    start([](int in, int out) {
        Address address;
        if (!take(in, &address))
            return 1;
        side_t *own = side_open("shm", nullptr, 99);
        lane_t *lane = lane_connect(own, address.bytes, address.length, false);
        if (lane == nullptr || lane_send(lane, 40, 1) != VBN_OK)
            return 2;
        put(out, 1);
        pause();
        return 0;
    });
    lane_t *lane = wait_lane();
    ASSERT_NE(lane, nullptr);
    int word;
    ASSERT_TRUE(take(child->in, &word));
    child->kill9();
    ASSERT_TRUE(drive_until(side, nullptr, &lane->errors, 1));
    EXPECT_EQ(lane->status, VBN_ERR_PEER_LOST);
    EXPECT_EQ(lane->next_rx, 1u);
}

TEST_F(ShmProcess, WhatAKilledPeerPublishedIsDeliveredBeforeItIsLost)
{
    start([](int in, int out) {
        side_t *own;
        lane_t *lane = join(in, &own);
        if (lane == nullptr)
            return 1;
        for (int i = 0; i < 6; i++) // as many as a small ring takes
            if (lane_send(lane, i % 5 == 0 ? 3000 : 30, 1) != VBN_OK)
                return 2;
        put(out, 1);
        pause();
        return 0;
    });
    lane_t *lane = wait_lane();
    ASSERT_NE(lane, nullptr);
    ASSERT_TRUE(drive_until(side, nullptr, &lane->readies, 1));
    int word;
    ASSERT_TRUE(take(child->in, &word));
    child->kill9();
    ASSERT_TRUE(drive_until(side, nullptr, &lane->errors, 1));
    EXPECT_EQ(lane->next_rx, 6u);
    EXPECT_EQ(lane->wrong, 0u);
    EXPECT_EQ(lane->errors, 1u);
}

TEST_F(ShmProcess, PeersKilledAtAnyMomentOfATransferLeaveWholePacketsOnly)
{
    for (int round = 0; round < 15; round++) {
        start([](int in, int) {
            side_t *own;
            lane_t *lane = join(in, &own);
            for (uint32_t i = 0; lane != nullptr; i++)
                send_hard(lane, own, i * 37 % 8000);
            return 1;
        });
        lane_t *lane = wait_lane();
        ASSERT_NE(lane, nullptr);
        ASSERT_TRUE(drive_rx(side, nullptr, lane, static_cast<uint32_t>(round) * 97 + 1));
        child->kill9();
        ASSERT_TRUE(drive_until(side, nullptr, &lane->errors, 1));
        EXPECT_EQ(lane->wrong, 0u);
        EXPECT_EQ(lane->status, VBN_ERR_PEER_LOST);
        side_close(side);
        side = nullptr;
    }
}

TEST_F(ShmProcess, SendingToAKilledPeerEndsInAnErrorAndNotInAHang)
{
    start([](int in, int) {
        side_t *own;
        if (join(in, &own) == nullptr)
            return 1;
        pause();
        return 0;
    });
    lane_t *lane = wait_lane();
    ASSERT_NE(lane, nullptr);
    ASSERT_TRUE(drive_until(side, nullptr, &lane->readies, 1));
    child->kill9();
    for (int i = 0; i < 100; i++)
        (void)lane_send(lane, 100, 1);
    ASSERT_TRUE(drive_until(side, nullptr, &lane->errors, 1));
    EXPECT_EQ(lane->status, VBN_ERR_PEER_LOST);
}

// Progress until idle, arm, sleep: the documented loop, on both sides.
bool await_asleep(side_t *side, lane_t *lane, uint32_t packets)
{
    while (lane->next_rx < packets && lane->errors == 0) {
        if (side_progress(side) > 0)
            continue;
        if (side_arm(side) != VBN_OK)
            continue;
        pollfd waiting = {side_fd(side), POLLIN, 0};
        if (poll(&waiting, 1, 20000) != 1)
            return false; // a wake-up was missed
    }
    return lane->errors == 0 && lane->wrong == 0;
}

TEST_F(ShmProcess, SleepersNeverMissAWakeUp)
{
    constexpr uint32_t kRounds = 5000;
    start([](int in, int) {
        side_t *own;
        lane_t *lane = join(in, &own);
        for (uint32_t i = 0; lane != nullptr && i < kRounds; i++) {
            if (!await_asleep(own, lane, i + 1))
                return 2;
            send_hard(lane, own, 8);
        }
        return lane == nullptr ? 1 : 0;
    });
    lane_t *lane = wait_lane();
    ASSERT_NE(lane, nullptr);
    ASSERT_TRUE(drive_until(side, nullptr, &lane->readies, 1));
    for (uint32_t i = 0; i < kRounds; i++) {
        send_hard(lane, side, 8);
        ASSERT_TRUE(await_asleep(side, lane, i + 1)) << i;
    }
    EXPECT_EQ(child->wait(), 0);
    EXPECT_GT(side_counter(side, "shm.tx.wakes"), 0u);
}

TEST_F(ShmProcess, ASenderThatSleepsForRoomIsWoken)
{
    constexpr uint32_t kPackets = 20000;
    start([](int in, int) {
        side_t *own;
        lane_t *lane = join(in, &own);
        if (lane == nullptr)
            return 1;
        for (uint32_t i = 0; i < kPackets;) {
            if (lane_send(lane, 1000, 1) == VBN_OK) {
                i++;
                continue;
            }
            unsigned before = lane->tx_readies;
            while (lane->tx_readies == before) {
                if (side_progress(own) > 0 || lane->tx_readies != before || side_arm(own) != VBN_OK)
                    continue;
                pollfd waiting = {side_fd(own), POLLIN, 0};
                if (poll(&waiting, 1, 20000) != 1)
                    return 2;
            }
        }
        lane_disconnect(lane);
        return 0;
    });
    lane_t *lane = wait_lane();
    ASSERT_NE(lane, nullptr);
    ASSERT_TRUE(drive_rx(side, nullptr, lane, kPackets));
    EXPECT_EQ(lane->wrong, 0u);
    EXPECT_EQ(child->wait(), 0);
}

// The child owns memory, exports keys and answers; the parent imports.
class ShmImport : public ShmProcess {
protected:
    void start_owner()
    {
        start([](int in, int out) {
            side_t *own;
            lane_t *lane = join(in, &own);
            vbn_mem_t *mem[2];
            Key keys[3];
            if (lane == nullptr || mem_alloc(side_memory(own), 100000, VBN_BACKING_MEMFD, nullptr, &mem[0]) != VBN_OK ||
                mem_alloc(side_memory(own), 4096, VBN_BACKING_MEMFD, nullptr, &mem[1]) != VBN_OK)
                return 1;
            memset(mem_address(mem[0]), 0x5a, 100000);
            mem_key_export(mem[0], 0, 100000, VBN_ACCESS_READ, keys[0].bytes, &keys[0].length);
            mem_key_export(mem[0], 50, 100, VBN_ACCESS_READ | VBN_ACCESS_WRITE, keys[1].bytes, &keys[1].length);
            mem_key_export(mem[1], 0, 10, VBN_ACCESS_READ, keys[2].bytes, &keys[2].length);
            mem_revoke(mem[1]);
            put(out, keys);
            pollfd stop = {in, POLLIN, 0};
            while (poll(&stop, 1, 0) == 0)
                drive(own, nullptr, 50);
            return static_cast<uint8_t *>(mem_address(mem[0]))[60] == 0x77 ? 0 : 3;
        });
        owner_lane = wait_lane();
        ASSERT_NE(owner_lane, nullptr);
        ASSERT_TRUE(drive_until(side, nullptr, &owner_lane->readies, 1));
        ASSERT_TRUE(take(child->in, &owner_keys));
    }

    lane_t *owner_lane = nullptr;
    Key owner_keys[3];
};

TEST_F(ShmImport, MapsThePeersMemoryOncePerRight)
{
    start_owner();
    imported_t first = {}, second = {}, writable = {};
    ASSERT_EQ(lane_import(owner_lane, owner_keys[0].bytes, owner_keys[0].length, &first), VBN_OK);
    ASSERT_TRUE(drive_until(side, nullptr, &first.calls, 1));
    ASSERT_EQ(first.status, VBN_OK) << vbn_error_text();
    EXPECT_EQ(static_cast<uint8_t *>(first.address)[99999], 0x5a);
    ASSERT_EQ(lane_import(owner_lane, owner_keys[0].bytes, owner_keys[0].length, &second), VBN_OK);
    EXPECT_EQ(second.calls, 1u) << "known already: at once";
    EXPECT_EQ(second.address, first.address);
    ASSERT_EQ(lane_import(owner_lane, owner_keys[1].bytes, owner_keys[1].length, &writable), VBN_OK);
    ASSERT_TRUE(drive_until(side, nullptr, &writable.calls, 1));
    ASSERT_EQ(writable.status, VBN_OK) << vbn_error_text();
    EXPECT_NE(writable.address, first.address);
    static_cast<uint8_t *>(writable.address)[60] = 0x77;
    EXPECT_EQ(static_cast<uint8_t *>(first.address)[60], 0x77);
    EXPECT_DEATH(static_cast<volatile uint8_t *>(first.address)[0] = 1, "");
    put(child->out, 1);
    EXPECT_EQ(child->wait(), 0);
    EXPECT_EQ(static_cast<uint8_t *>(first.address)[99999], 0x5a) << "mapped beyond the owner's death";
    for (imported_t *import : {&first, &second, &writable})
        imported_release(import);
    EXPECT_EQ(side_counter(side, "mem.imported.bytes"), 0u);
}

TEST_F(ShmImport, AStaleKeyIsRefusedByItsOwner)
{
    start_owner();
    imported_t stale = {};
    ASSERT_EQ(lane_import(owner_lane, owner_keys[2].bytes, owner_keys[2].length, &stale), VBN_OK);
    ASSERT_TRUE(drive_until(side, nullptr, &stale.calls, 1));
    EXPECT_EQ(stale.status, VBN_ERR_STALE);
    EXPECT_EQ(owner_lane->errors, 0u);
}

TEST_F(ShmImport, ManyRequestsAtOnceAreAllAnswered)
{
    start_owner();
    std::vector<imported_t> results(500);
    for (auto &result : results) {
        result = {};
        ASSERT_EQ(lane_import(owner_lane, owner_keys[0].bytes, owner_keys[0].length, &result), VBN_OK);
    }
    for (auto &result : results) {
        ASSERT_TRUE(drive_until(side, nullptr, &result.calls, 1));
        EXPECT_EQ(result.status, VBN_OK);
        imported_release(&result);
    }
}

TEST_F(ShmImport, PendingRequestsEndOnceWhenTheOwnerIsKilledOrWeDisconnect)
{
    start_owner();
    std::vector<imported_t> results(200);
    child->kill9();
    for (auto &result : results) {
        result = {};
        if (lane_import(owner_lane, owner_keys[1].bytes, owner_keys[1].length, &result) != VBN_OK)
            result.calls = 1;
    }
    ASSERT_TRUE(drive_until(side, nullptr, &owner_lane->errors, 1));
    for (auto &result : results)
        EXPECT_EQ(result.calls, 1u);
}

TEST_F(ShmImport, DisconnectingEndsPendingRequestsWithClosed)
{
    start_owner();
    imported_t pending = {};
    ASSERT_EQ(lane_import(owner_lane, owner_keys[1].bytes, owner_keys[1].length, &pending), VBN_OK);
    lane_disconnect(owner_lane);
    EXPECT_EQ(pending.calls, 1u);
    EXPECT_EQ(pending.status, VBN_ERR_CLOSED);
}

TEST_F(ShmImport, WithoutADescriptorLeftAnImportFailsAndTheConnectionLives)
{
    start_owner();
    rlimit old;
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
    rlimit none = {0, old.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    imported_t import = {};
    EXPECT_EQ(lane_import(owner_lane, owner_keys[0].bytes, owner_keys[0].length, &import), VBN_OK);
    bool answered = drive_until(side, nullptr, &import.calls, 1);
    setrlimit(RLIMIT_NOFILE, &old);
    ASSERT_TRUE(answered);
    EXPECT_EQ(import.status, VBN_ERR_LIMIT);
    EXPECT_EQ(owner_lane->errors, 0u);
    ASSERT_EQ(lane_import(owner_lane, owner_keys[0].bytes, owner_keys[0].length, &import), VBN_OK);
    ASSERT_TRUE(drive_until(side, nullptr, &import.calls, 2));
    EXPECT_EQ(import.status, VBN_OK);
    imported_release(&import);
}

TEST_F(ShmProcess, AConnectionOfAnotherUserIsRefusedWithTheSettingByName)
{
    if (!can_become(65534))
        GTEST_SKIP() << CANNOT_BECOME;
    start([](int in, int) {
        Address address;
        if (!take(in, &address) || setuid(65534) != 0)
            return 1;
        side_t *own = side_open("shm", "security.same_user=false", 99);
        lane_t *lane = lane_connect(own, address.bytes, address.length, true);
        if (lane == nullptr || !drive_until(own, nullptr, &lane->errors, 1))
            return 2;
        return lane->status == VBN_ERR_ACCESS && strstr(lane->text, "security.same_user=false there") != nullptr ? 0
                                                                                                                 : 3;
    });
    for (pollfd ended = {child->in, POLLIN, 0}; poll(&ended, 1, 1) == 0;)
        drive(side, nullptr, 20);
    EXPECT_EQ(child->wait(), 0);
}

TEST_F(ShmProcess, AConnectionThatFindsNoDescriptorIsRefusedAtOnce)
{
    start([](int in, int) {
        Address address;
        if (!take(in, &address))
            return 1;
        side_t *own = side_open("shm", nullptr, 99);
        lane_t *lane = lane_connect(own, address.bytes, address.length, true);
        if (lane == nullptr || !drive_until(own, nullptr, &lane->errors, 1))
            return 2;
        return lane->status == VBN_ERR_LIMIT ? 0 : 3; /* and not that the peer has ended */
    });
    // Take every free descriptor below a low limit, so that only the reserve is left.
    rlimit old;
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
    rlimit low = {64, old.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    std::vector<int> taken;
    for (int fd = dup(0); fd >= 0; fd = dup(0))
        taken.push_back(fd);
    int status = 0;
    for (int i = 0; i < 200000 && side_lane_count(side) == 0 && side_counter(side, "shm.rx.packets") == 0; i++) {
        drive(side, nullptr, 20);
        siginfo_t info = {};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0)
            break;
        usleep(500);
    }
    for (int fd : taken)
        close(fd);
    setrlimit(RLIMIT_NOFILE, &old);
    EXPECT_EQ(side_lane_count(side), 0u);
    status = child->wait();
    EXPECT_EQ(status, 0);
}

} // namespace
