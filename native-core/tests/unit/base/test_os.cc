// SPDX-License-Identifier: Apache-2.0
// Tests of the wrappers around the kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "full.h"

extern "C" {
#include "base/os.h"
#include "base/os_own.h"
}

namespace {

struct TempDir {
    char path[64] = "/tmp/vbn-test-XXXXXX";
    TempDir() { EXPECT_NE(mkdtemp(path), nullptr); }
    ~TempDir() { rmdir(path); }
    std::string file(const char *name) const { return std::string(path) + "/" + name; }
};

TEST(Os, ClockMovesForward)
{
    uint64_t first = os_now_ns();
    EXPECT_GT(first, 0u);
    EXPECT_GE(os_now_ns(), first);
}

TEST(Os, RandomFillsTheWholeBufferAndNothingElse)
{
    unsigned char bytes[1002];
    memset(bytes, 0, sizeof(bytes));
    os_random(bytes + 1, 1000);
    EXPECT_EQ(bytes[0], 0);
    EXPECT_EQ(bytes[1001], 0);
    for (size_t at = 1; at < 1001; at += 100) {
        static const unsigned char zeros[100] = {};
        EXPECT_NE(memcmp(bytes + at, zeros, 100), 0);
    }
    EXPECT_NE(os_random_u64(), os_random_u64());
}

TEST(Os, MemfdIsAllocatedZeroedAndSealed)
{
    int fd = -1;
    size_t size = 3 * os_page_bytes();
    ASSERT_EQ(os_memfd("test", size, &fd), VBN_OK);
    struct stat info = {};
    ASSERT_EQ(fstat(fd, &info), 0);
    EXPECT_EQ((size_t)info.st_size, size);
    EXPECT_GE((size_t)info.st_blocks * 512, size) << "pages are allocated";
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    EXPECT_EQ(ftruncate(fd, 0), -1);
    EXPECT_EQ(ftruncate(fd, (off_t)size * 2), -1);
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1) << "nobody may add seals";
    EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    close(fd);
}

TEST(Os, ReadOnlyDescriptorCannotBeMappedForWriting)
{
    int fd = -1;
    int readonly = -1;
    void *writable = nullptr;
    void *view = nullptr;
    size_t size = os_page_bytes();
    ASSERT_EQ(os_memfd("test", size, &fd), VBN_OK);
    ASSERT_EQ(os_reopen_readonly(fd, &readonly), VBN_OK);
    ASSERT_EQ(os_map(fd, size, true, &writable), VBN_OK);
    ASSERT_EQ(os_map(readonly, size, false, &view), VBN_OK);
    memcpy(writable, "hello", 6);
    EXPECT_STREQ((char *)view, "hello") << "both see the same pages";
    void *refused = nullptr;
    EXPECT_EQ(os_map(readonly, size, true, &refused), VBN_ERR_ACCESS);
    EXPECT_EQ(refused, nullptr);
    os_unmap(writable, size);
    os_unmap(view, size);
    os_unmap(nullptr, size);
    close(readonly);
    close(fd);
}

TEST(Os, OnlyWholePagesOfPrivateMemoryAreEmptied)
{
    size_t page = os_page_bytes();
    void *map = mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(map, MAP_FAILED);
    char *bytes = static_cast<char *>(map);
    memset(bytes, 1, 4 * page);
    os_empty(bytes + 1, page - 2);
    os_empty(bytes + page - 1, 2);
    os_empty(bytes, 0);
    EXPECT_EQ(std::count(bytes, bytes + 4 * page, 1), static_cast<ptrdiff_t>(4 * page)) << "no page lies in these";
    os_empty(bytes + 1, 3 * page);
    EXPECT_EQ(std::count(bytes, bytes + page, 1), static_cast<ptrdiff_t>(page));
    EXPECT_EQ(std::count(bytes + page, bytes + 3 * page, 0), static_cast<ptrdiff_t>(2 * page));
    EXPECT_EQ(std::count(bytes + 3 * page, bytes + 4 * page, 1), static_cast<ptrdiff_t>(page));
    munmap(map, 4 * page);
}

TEST(Os, ImpossibleSizesAreRefused)
{
    int fd = -1;
    void *address = nullptr;
    EXPECT_EQ(os_memfd("test", 0, &fd), VBN_ERR_INVALID);
    EXPECT_EQ(os_memfd("test", SIZE_MAX, &fd), VBN_ERR_INVALID);
    EXPECT_EQ(os_map(0, 0, false, &address), VBN_ERR_INVALID);
    EXPECT_EQ(fd, -1);
}

TEST(Os, CreatedFileIsPrivateAndNeverReplacesAnother)
{
    TempDir dir;
    int fd = -1;
    std::string path = dir.file("a");
    mode_t old = umask(0);
    EXPECT_EQ(os_create_file(path.c_str(), 5000, &fd), VBN_OK);
    umask(old);
    struct stat info = {};
    ASSERT_EQ(fstat(fd, &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    EXPECT_EQ(info.st_size, 5000);
    int second = -1;
    EXPECT_EQ(os_create_file(path.c_str(), 5000, &second), VBN_ERR_SYSTEM);
    EXPECT_NE(std::string(err_text()).find(path), std::string::npos);
    EXPECT_EQ(second, -1);
    close(fd);
    unlink(path.c_str());
}

TEST(Os, FileThatCannotBeAllocatedIsNotLeftBehind)
{
    TempDir dir;
    int fd = -1;
    std::string path = dir.file("huge");
    EXPECT_LT(os_create_file(path.c_str(), (size_t)INT64_MAX, &fd), 0);
    EXPECT_EQ(access(path.c_str(), F_OK), -1);
    EXPECT_LT(os_create_file("/nonexistent/dir/file", 100, &fd), 0);
    EXPECT_EQ(fd, -1);
}

TEST(Os, FileThatCannotFitDoesNotFillTheDiskBeforeItFails)
{
    TempDir dir;
    int fd = -1;
    int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    ASSERT_GE(inotify_add_watch(events, dir.path, IN_MODIFY), 0);
    EXPECT_LT(os_create_file(dir.file("huge").c_str(), size_t(1) << 60, &fd), 0);
    char event[sizeof(struct inotify_event) + NAME_MAX + 1];
    EXPECT_EQ(read(events, event, sizeof(event)), -1) << "something was allocated";
    ASSERT_EQ(os_create_file(dir.file("small").c_str(), 4096, &fd), 0);
    EXPECT_GT(read(events, event, sizeof(event)), 0) << "an allocation is seen";
    unlink(dir.file("small").c_str());
    close(fd);
    close(events);
}

TEST(Os, NoDescriptorIsReopened)
{
    int fd;
    EXPECT_LT(os_reopen_readonly(-1, &fd), 0);
}

/* Mapped memory shown with this path. */
unsigned mappings(const char *path)
{
    std::ifstream maps("/proc/self/maps");
    std::string line;
    unsigned count = 0;
    while (std::getline(maps, line))
        count += line.find(path) != std::string::npos;
    return count;
}

/* Runs func in a child and returns its exit code. */
template <typename F> int in_child(F func)
{
    pid_t child = fork();
    if (child == 0)
        _exit(func());
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Os, IdentitiesAreStableAndSharedWithChildren)
{
    uint64_t host = os_host_id();
    uint64_t net = os_netns_id();
    EXPECT_NE(host, 0u);
    EXPECT_NE(net, 0u);
    EXPECT_EQ(os_host_id(), host);
    EXPECT_EQ(os_netns_id(), net);
    EXPECT_EQ(in_child([=] { return os_host_id() == host && os_netns_id() == net ? 0 : 1; }), 0);
}

TEST(Os, ForkGenerationDiffersInTheChildOnly)
{
    uint64_t mine = os_fork_generation();
    EXPECT_EQ(in_child([=] { return os_fork_generation() == mine + 1 ? 0 : 1; }), 0);
    EXPECT_EQ(os_fork_generation(), mine);
}

/* Sockets that this process has open. */
int sockets()
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) {
        struct stat st;
        count += fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
    }
    return count;
}

TEST(Os, AChildLosesWhatBelongsToTheParentAlone)
{
    int before = sockets(), pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0); /* one end is the process's own */
    int own = os_own_socket(AF_UNIX, SOCK_STREAM);
    ASSERT_GE(own, 0);
    ASSERT_TRUE(os_own_keep(pair[0]));
    EXPECT_EQ(in_child([=] {
                  bool lost = fcntl(own, F_GETFD) < 0 && fcntl(pair[0], F_GETFD) < 0 && fcntl(pair[1], F_GETFD) >= 0;
                  os_own_close(pair[1]); /* a number that the parent does not keep */
                  int again = dup(pair[1]);
                  os_own_close(again); /* it may be the number that was the parent's */
                  return lost && fcntl(again, F_GETFD) >= 0 && fcntl(pair[1], F_GETFD) >= 0 ? 0 : 1;
              }),
              0);
    EXPECT_EQ(sockets(), before + 3);
    char byte;
    int copy = dup(pair[0]);
    os_own_close(pair[0]);
    EXPECT_EQ(read(pair[1], &byte, 1), 0); /* the end, although there is a copy */
    close(copy);
    close(pair[1]);
    os_own_close(own);
    EXPECT_EQ(sockets(), before);
    EXPECT_FALSE(os_own_forget(own));
}

/* As an RDMA device's, whose mappings keep its file open, and so its queues. */
TEST(Os, a_child_of_fork_has_nothing_mapped_of_the_devices_that_are_its_parents_own)
{
    constexpr size_t BYTES = 3 * 4096;
    int own = open("/dev/zero", O_RDWR | O_CLOEXEC), other = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(own, 0);
    ASSERT_GE(other, 0);
    unsigned before = mappings("/dev/zero");
    auto *first = static_cast<uint8_t *>(mmap(nullptr, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, own, 0));
    auto *second = static_cast<uint8_t *>(mmap(nullptr, BYTES, PROT_READ, MAP_PRIVATE, own, 0));
    auto *kept = static_cast<uint8_t *>(mmap(nullptr, BYTES, PROT_READ, MAP_PRIVATE, other, 0));
    ASSERT_TRUE(first != MAP_FAILED && second != MAP_FAILED && kept != MAP_FAILED);
    first[BYTES - 1] = 1;
    ASSERT_GT(mappings("/dev/zero"), before);
    EXPECT_EQ(in_child([] { return mappings("/dev/zero") > 0 ? 0 : 1; }), 0); /* nobody's own yet */
    ASSERT_TRUE(os_own_keep(own));
    EXPECT_EQ(in_child([=] { return mappings("/dev/zero") == 0 && kept[1] == 'E' ? 0 : 1; }), 0);
    EXPECT_EQ(first[BYTES - 1], 1);
    EXPECT_TRUE(os_own_forget(own));
    for (auto *at : {first, second, kept})
        munmap(at, BYTES);
    close(own);
    close(other);
}

TEST(Os, AForkBesideThreadsThatOpenDescriptorsLeavesTheChildNone)
{
    int before = sockets();
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++)
        threads.emplace_back([&] {
            while (!stop) {
                int fd = os_own_socket(AF_UNIX, SOCK_STREAM);
                if (fd >= 0)
                    os_own_close(fd);
            }
        });
    int left = 0;
    for (unsigned i = 0, forks = usual_or_full(40, 200); i < forks; i++)
        left += in_child([=] { return sockets() == before ? 0 : 1; }) != 0;
    stop = true;
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQ(left, 0);
    EXPECT_EQ(sockets(), before);
}

TEST(Os, CpuCountFollowsTheAffinityMask)
{
    unsigned all = os_cpu_count();
    EXPECT_GE(all, 1u);
    EXPECT_EQ(in_child([] {
                  cpu_set_t one;
                  CPU_ZERO(&one);
                  CPU_SET((size_t)sched_getcpu(), &one);
                  return sched_setaffinity(0, sizeof(one), &one) == 0 && os_cpu_count() == 1 ? 0 : 1;
              }),
              0);
}

} // namespace
