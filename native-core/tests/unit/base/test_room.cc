// SPDX-License-Identifier: Apache-2.0
// test_room.cc - what the host and control groups have left, by files as kernels of both versions write them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "users.h"

extern "C" {
#include "base/os_room.h"
}

namespace {

constexpr uint64_t MIB = 1 << 20;

class Room : public ::testing::Test {
protected:
    std::filesystem::path root;

    void SetUp() override
    {
        char name[] = "/tmp/vbn-room-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        root = name;
        put("proc/meminfo", "MemTotal:       16000000 kB\nMemFree:         1000000 kB\nMemAvailable:    8388608 kB\n");
    }
    void TearDown() override { std::filesystem::remove_all(root); }

    void put(const std::string &path, const std::string &text)
    {
        std::filesystem::create_directories((root / path).parent_path());
        std::ofstream(root / path) << text;
    }
    void unified(const std::string &group, const std::string &limit, uint64_t usage, uint64_t droppable)
    {
        put(group + "/memory.max", limit + "\n");
        put(group + "/memory.current", std::to_string(usage) + "\n");
        put(group + "/memory.stat", "anon 1\nfile 2\ninactive_file " + std::to_string(droppable) + "\nactive_file 0\n");
    }
    void separate(const std::string &group, uint64_t limit, uint64_t usage, uint64_t droppable)
    {
        put(group + "/memory.limit_in_bytes", std::to_string(limit) + "\n");
        put(group + "/memory.usage_in_bytes", std::to_string(usage) + "\n");
        put(group + "/memory.stat",
            "cache 1\ninactive_file 7\ntotal_inactive_file " + std::to_string(droppable) + "\n");
    }
    os_room_t look()
    {
        os_room_t room;
        os_room_ask(root.c_str(), &room);
        return room;
    }
};

constexpr const char *UNIFIED_MOUNT =
    "31 22 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char *SEPARATE_MOUNT = "30 22 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
                                       "35 22 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n";

TEST_F(Room, WithoutGroupsTheHostSays)
{
    EXPECT_EQ(look().bytes, 8192 * MIB);
    EXPECT_STREQ(look().bound, "the host");
}

TEST_F(Room, WithoutProcNobodySays)
{
    std::filesystem::remove_all(root / "proc");
    EXPECT_EQ(look().bytes, UINT64_MAX);
}

TEST_F(Room, AGroupOfVersion2LeavesItsLimitLessWhatIsUsedAndCannotBeDropped)
{
    put("proc/self/cgroup", "0::/job/step\n");
    put("proc/self/mountinfo", UNIFIED_MOUNT);
    unified("sys/fs/cgroup/job/step", "max", 100 * MIB, 0);
    unified("sys/fs/cgroup/job", std::to_string(200 * MIB), 150 * MIB, 30 * MIB);
    EXPECT_EQ(look().bytes, 80 * MIB - 200 * MIB / 64);
    EXPECT_STREQ(look().bound, "control group /sys/fs/cgroup/job (memory.max 209715200)");
}

TEST_F(Room, TheNearestLimitCountsWhereItIsTheLowest)
{
    put("proc/self/cgroup", "0::/job/step\n");
    put("proc/self/mountinfo", UNIFIED_MOUNT);
    unified("sys/fs/cgroup/job/step", std::to_string(64 * MIB), 60 * MIB, 0);
    unified("sys/fs/cgroup/job", std::to_string(200 * MIB), 60 * MIB, 0);
    EXPECT_EQ(look().bytes, 3 * MIB);
}

TEST_F(Room, AFullGroupLeavesNothing)
{
    put("proc/self/cgroup", "0::/job\n");
    put("proc/self/mountinfo", UNIFIED_MOUNT);
    unified("sys/fs/cgroup/job", std::to_string(64 * MIB), 70 * MIB, 0);
    EXPECT_EQ(look().bytes, 0u);
}

TEST_F(Room, AGroupOfVersion1BesideOthers)
{
    put("proc/self/cgroup", "8:pids:/\n4:memory:/docker/abc\n1:cpu:/docker/abc\n0::/\n");
    put("proc/self/mountinfo", SEPARATE_MOUNT);
    separate("sys/fs/cgroup/memory/docker/abc", 200 * MIB, 50 * MIB, 10 * MIB);
    separate("sys/fs/cgroup/memory", 9223372036854771712u, 5000 * MIB, 0);
    EXPECT_EQ(look().bytes, 160 * MIB - 200 * MIB / 64);
    EXPECT_STREQ(look().bound, "control group /sys/fs/cgroup/memory/docker/abc (memory.limit_in_bytes 209715200)");
}

TEST_F(Room, InAContainerTheMountIsItsOwnGroup)
{
    put("proc/self/cgroup", "4:memory:/docker/abc\n");
    put("proc/self/mountinfo", "35 22 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
    separate("sys/fs/cgroup/memory", 200 * MIB, 50 * MIB, 0);
    EXPECT_EQ(look().bytes, 150 * MIB - 200 * MIB / 64);
}

TEST_F(Room, AGroupThatCannotBeSeenIsTheMount)
{
    put("proc/self/cgroup", "0::/../../outside\n");
    put("proc/self/mountinfo", UNIFIED_MOUNT);
    unified("sys/fs/cgroup", std::to_string(128 * MIB), 28 * MIB, 0);
    EXPECT_EQ(look().bytes, 98 * MIB);
}

TEST_F(Room, AGroupThatIsGoneIsLookedForAbove)
{
    put("proc/self/cgroup", "0::/job/gone\n");
    put("proc/self/mountinfo", UNIFIED_MOUNT);
    unified("sys/fs/cgroup", std::to_string(128 * MIB), 28 * MIB, 0);
    EXPECT_EQ(look().bytes, 98 * MIB);
}

TEST_F(Room, BrokenFilesAreNoLimit)
{
    put("proc/self/cgroup", "nonsense\n:\n0::\n4:memory\n0::/job\n");
    put("proc/self/mountinfo", "x\n - \n31 22 - cgroup2 x\n" + std::string(UNIFIED_MOUNT));
    put("sys/fs/cgroup/job/memory.max", "many\n");
    EXPECT_EQ(look().bytes, 8192 * MIB);
}

/* A process of this user that holds the turn until the object's end. */
class Holder {
public:
    explicit Holder(uid_t user)
    {
        int ready[2];
        char byte;
        EXPECT_EQ(pipe(ready), 0);
        child = fork();
        if (child == 0) {
            if (setresuid(user, user, user) != 0 || flock(open("/proc/meminfo", O_RDONLY), LOCK_EX) != 0 ||
                write(ready[1], "", 1) != 1)
                _exit(1);
            for (;;)
                pause();
        }
        close(ready[1]);
        EXPECT_EQ(read(ready[0], &byte, 1), 1);
        close(ready[0]);
    }
    ~Holder()
    {
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
    }

private:
    pid_t child;
};

TEST(RoomTurn, AnotherUserIsNotWaitedFor)
{
    if (!can_become(65534))
        GTEST_SKIP() << CANNOT_BECOME;
    int fd = open("/proc/meminfo", O_RDONLY);
    {
        Holder own(0);
        EXPECT_FALSE(os_room_is_foreign(fd));
    }
    Holder other(65534);
    EXPECT_TRUE(os_room_is_foreign(fd));
    os_room_leave(os_room_enter());
    close(fd);
}

TEST(RoomTurn, OneAfterTheOther)
{
    int first = os_room_enter();
    ASSERT_GE(first, 0);
    os_room_leave(first);
    int second = os_room_enter();
    EXPECT_GE(second, 0);
    os_room_leave(second);
    os_room_leave(-1);
}

} // namespace
