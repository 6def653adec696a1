// SPDX-License-Identifier: Apache-2.0
// test_mem.cc - shareable memory: allocation, named files and their checks, keys, imports.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "mem_harness.h"

namespace {

struct Blob {
    uint8_t bytes[VBN_KEY_MAX];
    size_t length = sizeof(bytes);
    uint64_t handle = 0;
};

class Mem : public ::testing::Test {
protected:
    void SetUp() override
    {
        char name[] = "/tmp/vbn-mem-test-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        directory = name;
        path = directory + "/memory";
        owner = bench_open();
        reader = bench_open();
    }

    void TearDown() override
    {
        EXPECT_EQ(bench_close(owner), VBN_OK) << vbn_error_text();
        EXPECT_EQ(bench_close(reader), VBN_OK) << vbn_error_text();
        unlink(path.c_str());
        EXPECT_EQ(rmdir(directory.c_str()), 0) << "a file was left behind";
    }

    vbn_mem_t *make(size_t bytes, bool named = false)
    {
        vbn_mem_t *mem = nullptr;
        vbn_status_t status = named ? bench_alloc(owner, bytes, VBN_BACKING_FILE, path.c_str(), &mem)
                                    : bench_alloc(owner, bytes, VBN_BACKING_MEMFD, nullptr, &mem);
        EXPECT_EQ(status, VBN_OK) << vbn_error_text();
        return mem;
    }

    Blob key(vbn_mem_t *mem, size_t offset, size_t length, unsigned access)
    {
        Blob blob;
        EXPECT_EQ(mem_key_export(mem, offset, length, access, blob.bytes, &blob.length), VBN_OK) << vbn_error_text();
        EXPECT_EQ(bench_decode(blob.bytes, blob.length, &blob.handle), VBN_OK);
        return blob;
    }

    vbn_status_t open_again()
    {
        vbn_mem_t *mem = nullptr;
        vbn_status_t status = bench_open_file(reader, path.c_str(), &mem);
        if (status == VBN_OK)
            mem_free(mem);
        return status;
    }

    void patch(off_t at, const void *bytes, size_t length)
    {
        int fd = open(path.c_str(), O_RDWR);
        ASSERT_EQ(pwrite(fd, bytes, length, at), static_cast<ssize_t>(length));
        close(fd);
    }

    static bool text_has(const std::string &part)
    {
        return std::string(vbn_error_text()).find(part) != std::string::npos;
    }

    std::string directory;
    std::string path;
    bench_t *owner = nullptr;
    bench_t *reader = nullptr;
};

TEST_F(Mem, IsRoundedUpToPagesZeroedAndCounted)
{
    vbn_mem_t *mem = make(5000);
    EXPECT_EQ(mem_size(mem), 8192u);
    EXPECT_EQ(bench_counter(owner, "mem.bytes"), 8192u);
    uint8_t *bytes = static_cast<uint8_t *>(mem_address(mem));
    EXPECT_EQ(bytes[0] + bytes[8191], 0);
    bytes[8191] = 1;
    EXPECT_EQ(mem_free(mem), VBN_OK);
    EXPECT_EQ(bench_counter(owner, "mem.bytes"), 0u);
}

TEST_F(Mem, WrongRequestsAreRefused)
{
    vbn_mem_t *mem = nullptr;
    EXPECT_EQ(bench_alloc(owner, 0, VBN_BACKING_MEMFD, nullptr, &mem), VBN_ERR_INVALID);
    EXPECT_EQ(bench_alloc(owner, SIZE_MAX, VBN_BACKING_MEMFD, nullptr, &mem), VBN_ERR_INVALID);
    EXPECT_EQ(bench_alloc(owner, 10, VBN_BACKING_FILE, nullptr, &mem), VBN_ERR_INVALID);
    EXPECT_EQ(bench_alloc(owner, 10, VBN_BACKING_MEMFD, "/tmp/x", &mem), VBN_ERR_INVALID);
    EXPECT_EQ(bench_alloc(owner, 10, static_cast<vbn_backing_t>(7), nullptr, &mem), VBN_ERR_INVALID);
    EXPECT_EQ(bench_alloc(owner, size_t(1) << 60, VBN_BACKING_MEMFD, nullptr, &mem), VBN_ERR_NO_MEMORY);
    EXPECT_EQ(bench_alloc(owner, size_t(1) << 60, VBN_BACKING_FILE, path.c_str(), &mem), VBN_ERR_NO_MEMORY);
    EXPECT_TRUE(text_has(path));
    EXPECT_EQ(mem, nullptr);
}

TEST_F(Mem, ARegistryWithMemoryLeftDoesNotClose)
{
    vbn_mem_t *mem = make(100);
    EXPECT_EQ(bench_close(owner), VBN_ERR_INVALID);
    EXPECT_TRUE(text_has("1 memory and 0 mappings"));
    mem_free(mem);
}

TEST_F(Mem, ANamedMemoryIsReadByAnotherProcessOfTheUser)
{
    vbn_mem_t *mem = make(5000, true);
    strcpy(static_cast<char *>(mem_address(mem)), "hello");
    vbn_mem_t *view = nullptr;
    ASSERT_EQ(bench_open_file(reader, path.c_str(), &view), VBN_OK) << vbn_error_text();
    EXPECT_EQ(mem_size(view), 8192u);
    EXPECT_STREQ(static_cast<char *>(mem_address(view)), "hello");
    EXPECT_DEATH(static_cast<volatile char *>(mem_address(view))[0] = 'j', "");
    Blob blob;
    EXPECT_EQ(mem_key_export(view, 0, 10, VBN_ACCESS_WRITE, blob.bytes, &blob.length), VBN_ERR_ACCESS);
    Blob readable = key(view, 0, 10, VBN_ACCESS_READ);
    EXPECT_EQ(mem_free(mem), VBN_OK);
    EXPECT_STREQ(static_cast<char *>(mem_address(view)), "hello") << "the mapping outlives the owner's free";
    EXPECT_EQ(mem_free(view), VBN_OK);
    EXPECT_NE(access(path.c_str(), F_OK), 0);
    (void)readable;
}

TEST_F(Mem, RevokedMemoryStaysMappedButCannotBeOpened)
{
    vbn_mem_t *mem = make(100, true);
    std::string second = directory + "/link";
    ASSERT_EQ(link(path.c_str(), second.c_str()), 0); // keeps the revoked file reachable
    Blob blob = key(mem, 0, 100, VBN_ACCESS_READ);
    EXPECT_EQ(mem_revoke(mem), VBN_OK);
    EXPECT_EQ(mem_revoke(mem), VBN_OK);
    static_cast<char *>(mem_address(mem))[0] = 'x';
    EXPECT_EQ(open_again(), VBN_ERR_STALE);
    vbn_mem_t *view = nullptr;
    EXPECT_EQ(bench_open_file(reader, second.c_str(), &view), VBN_ERR_STALE);
    EXPECT_TRUE(text_has("freed by its owner"));
    void *address = nullptr;
    EXPECT_EQ(bench_resolve(owner, blob.handle, 0, 1, VBN_ACCESS_READ, &address), VBN_ERR_STALE);
    EXPECT_EQ(mem_key_export(mem, 0, 1, VBN_ACCESS_READ, blob.bytes, &blob.length), VBN_ERR_STALE);
    EXPECT_EQ(mem_free(mem), VBN_OK);
    unlink(second.c_str());
}

TEST_F(Mem, DiscardedMemoryHasNoPagesAlthoughItIsMapped)
{
    vbn_mem_t *mem = make(100'000);
    Blob blob = key(mem, 0, 100, VBN_ACCESS_READ);
    int fd = -1;
    ASSERT_EQ(bench_descriptor(owner, blob.handle, &fd), VBN_OK);
    void *peers = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
    ASSERT_NE(peers, MAP_FAILED);
    memset(mem_address(mem), 'x', 100'000);
    struct stat st;
    ASSERT_TRUE(fstat(fd, &st) == 0 && st.st_blocks > 0);
    EXPECT_EQ(mem_discard(mem), VBN_OK) << vbn_error_text();
    EXPECT_EQ(bench_counter(owner, "mem.bytes"), 0u);
    EXPECT_TRUE(fstat(fd, &st) == 0 && st.st_blocks == 0) << st.st_blocks << " blocks are left";
    EXPECT_EQ(static_cast<const char *>(peers)[7] | static_cast<const char *>(mem_address(mem))[99'999], 0);
    EXPECT_EQ(mem_discard(mem), VBN_OK);
    void *address = nullptr;
    EXPECT_EQ(bench_resolve(owner, blob.handle, 0, 1, VBN_ACCESS_READ, &address), VBN_ERR_STALE);
    EXPECT_EQ(mem_free(mem), VBN_OK);
    EXPECT_EQ(bench_counter(owner, "mem.bytes"), 0u);
    munmap(peers, 4096);
    close(fd);
}

TEST_F(Mem, WhatOthersMayUseIsNotDiscarded)
{
    vbn_mem_t *mem = make(100, true);
    vbn_mem_t *view = nullptr;
    vbn_mem_t *shared = nullptr;
    vbn_mem_t *users = nullptr;
    char bytes[100];
    ASSERT_EQ(bench_open_file(reader, path.c_str(), &view), VBN_OK);
    ASSERT_EQ(bench_reserve(owner, 100, &shared), VBN_OK);
    ASSERT_EQ(bench_register(owner, bytes, sizeof(bytes), VBN_ACCESS_READ, &users), VBN_OK);
    for (vbn_mem_t *one : {view, shared, users}) {
        EXPECT_EQ(mem_discard(one), VBN_ERR_INVALID);
        EXPECT_TRUE(text_has("as its owner, can be discarded"));
        EXPECT_EQ(mem_free(one), VBN_OK);
    }
    EXPECT_EQ(open_again(), VBN_OK) << "nothing has happened to it";
    EXPECT_EQ(mem_free(mem), VBN_OK);
}

TEST_F(Mem, ANameThatSomebodyReplacedIsLeftAlone)
{
    vbn_mem_t *mem = make(100, true);
    ASSERT_EQ(unlink(path.c_str()), 0);
    int other = open(path.c_str(), O_CREAT | O_RDWR, 0600);
    close(other);
    EXPECT_EQ(mem_free(mem), VBN_OK);
    EXPECT_EQ(access(path.c_str(), F_OK), 0);
}

TEST_F(Mem, DirectoriesAndFilesOpenToOthersAreRefused)
{
    vbn_mem_t *mem = make(100, true);
    for (mode_t mode : {0620, 0604, 0660}) {
        chmod(path.c_str(), mode);
        EXPECT_EQ(open_again(), VBN_ERR_ACCESS);
    }
    chmod(path.c_str(), 0600);
    chmod(directory.c_str(), 0750);
    EXPECT_EQ(open_again(), VBN_ERR_ACCESS);
    EXPECT_TRUE(text_has("chmod"));
    vbn_mem_t *second = nullptr;
    EXPECT_EQ(bench_alloc(owner, 10, VBN_BACKING_FILE, (directory + "/b").c_str(), &second), VBN_ERR_ACCESS);
    chmod(directory.c_str(), 0700);
    if (chown(path.c_str(), 12345, 12345) == 0) {
        EXPECT_EQ(open_again(), VBN_ERR_ACCESS);
    } else {
        std::cout << "no file can be given away here: those of another user are not tried\n";
    }
    EXPECT_EQ(bench_alloc(owner, 10, VBN_BACKING_FILE, path.c_str(), &second), VBN_ERR_SYSTEM) << "exists already";
    mem_free(mem);
}

TEST_F(Mem, EveryDamagedHeaderIsRefused)
{
    vbn_mem_t *mem = make(100, true);
    uint8_t good[48];
    int fd = open(path.c_str(), O_RDONLY);
    ASSERT_EQ(pread(fd, good, sizeof(good), 0), static_cast<ssize_t>(sizeof(good)));
    close(fd);
    EXPECT_EQ(open_again(), VBN_OK);
    for (size_t at = 0; at < 40; at++) {
        if (at >= 16 && at < 24)
            continue; // the generation may have any value but 0
        uint8_t bad = good[at] ^ 0x55;
        patch(static_cast<off_t>(at), &bad, 1);
        EXPECT_NE(open_again(), VBN_OK) << "byte " << at;
        patch(static_cast<off_t>(at), &good[at], 1);
    }
    const uint8_t zero[8] = {0};
    patch(16, zero, 8);
    EXPECT_EQ(open_again(), VBN_ERR_CORRUPT);
    patch(16, good + 16, 8);
    ASSERT_EQ(truncate(path.c_str(), 4096), 0);
    EXPECT_EQ(open_again(), VBN_ERR_CORRUPT);
    ASSERT_EQ(truncate(path.c_str(), 12288), 0);
    EXPECT_EQ(open_again(), VBN_ERR_CORRUPT);
    ASSERT_EQ(truncate(path.c_str(), 8192), 0);
    mem_free(mem);
    ASSERT_EQ(symlink("/etc/passwd", path.c_str()), 0);
    EXPECT_NE(open_again(), VBN_OK);
    unlink(path.c_str());
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(open_again(), VBN_ERR_ACCESS);
}

TEST_F(Mem, AFullTmpfsIsAnErrorWithPathAndCureAndLeavesNoFile)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "cannot mount a small tmpfs: run as root";
    std::string mount_point = directory + "/small";
    ASSERT_EQ(mkdir(mount_point.c_str(), 0700), 0);
    if (mount("none", mount_point.c_str(), "tmpfs", 0, "size=1m,mode=700") != 0) {
        std::string reason = strerror(errno);
        rmdir(mount_point.c_str());
        GTEST_SKIP() << "cannot mount a small tmpfs: " << reason;
    }
    std::string file = mount_point + "/big";
    vbn_mem_t *mem = nullptr;
    vbn_mem_t *fits = nullptr;
    EXPECT_EQ(bench_alloc(owner, 2 << 20, VBN_BACKING_FILE, file.c_str(), &mem), VBN_ERR_NO_MEMORY);
    EXPECT_TRUE(text_has(file) && text_has("free") && text_has("size="));
    EXPECT_NE(access(file.c_str(), F_OK), 0);
    EXPECT_EQ(bench_alloc(owner, 512 << 10, VBN_BACKING_FILE, file.c_str(), &fits), VBN_OK) << vbn_error_text();
    memset(mem_address(fits), 1, mem_size(fits)); // every page is there: no SIGBUS
    EXPECT_EQ(bench_alloc(owner, 512 << 10, VBN_BACKING_FILE, (file + "2").c_str(), &mem), VBN_ERR_NO_MEMORY);
    EXPECT_EQ(mem_free(fits), VBN_OK);
    EXPECT_EQ(umount(mount_point.c_str()), 0);
    rmdir(mount_point.c_str());
}

TEST_F(Mem, KeysResolveWithinTheirRangeAndRightsOnly)
{
    vbn_mem_t *mem = make(8192);
    Blob blob = key(mem, 1000, 100, VBN_ACCESS_READ);
    void *address = nullptr;
    EXPECT_EQ(bench_resolve(owner, blob.handle, 0, 100, VBN_ACCESS_READ, &address), VBN_OK);
    EXPECT_EQ(address, static_cast<uint8_t *>(mem_address(mem)) + 1000);
    EXPECT_EQ(bench_resolve(owner, blob.handle, 100, 0, VBN_ACCESS_READ, &address), VBN_OK);
    EXPECT_EQ(bench_resolve(owner, blob.handle, 1, 100, VBN_ACCESS_READ, &address), VBN_ERR_RANGE);
    EXPECT_EQ(bench_resolve(owner, blob.handle, UINT64_MAX, 2, VBN_ACCESS_READ, &address), VBN_ERR_RANGE);
    EXPECT_EQ(bench_resolve(owner, blob.handle, 2, UINT64_MAX, VBN_ACCESS_READ, &address), VBN_ERR_RANGE);
    EXPECT_EQ(bench_resolve(owner, blob.handle, 0, 1, VBN_ACCESS_WRITE, &address), VBN_ERR_ACCESS);
    EXPECT_EQ(bench_resolve(owner, blob.handle ^ 1, 0, 1, VBN_ACCESS_READ, &address), VBN_ERR_STALE);
    EXPECT_EQ(bench_resolve(reader, blob.handle, 0, 1, VBN_ACCESS_READ, &address), VBN_ERR_STALE);
    EXPECT_EQ(bench_counter(owner, "key.refused"), 5u);
    EXPECT_EQ(mem_free(mem), VBN_OK);
    EXPECT_EQ(bench_resolve(owner, blob.handle, 0, 1, VBN_ACCESS_READ, &address), VBN_ERR_STALE);
}

TEST_F(Mem, ExportChecksItsArgumentsAndReusesEqualKeys)
{
    vbn_mem_t *mem = make(4096);
    Blob blob = key(mem, 0, 4096, VBN_ACCESS_READ);
    EXPECT_EQ(key(mem, 0, 4096, VBN_ACCESS_READ).handle, blob.handle);
    EXPECT_NE(key(mem, 0, 4096, VBN_ACCESS_READ | VBN_ACCESS_WRITE).handle, blob.handle);
    Blob bad;
    EXPECT_EQ(mem_key_export(mem, 0, 4097, VBN_ACCESS_READ, bad.bytes, &bad.length), VBN_ERR_RANGE);
    EXPECT_EQ(mem_key_export(mem, SIZE_MAX, 2, VBN_ACCESS_READ, bad.bytes, &bad.length), VBN_ERR_RANGE);
    EXPECT_EQ(mem_key_export(mem, 0, 1, 0, bad.bytes, &bad.length), VBN_ERR_INVALID);
    EXPECT_EQ(mem_key_export(mem, 0, 1, 4, bad.bytes, &bad.length), VBN_ERR_INVALID);
    bad.length = 10;
    EXPECT_EQ(mem_key_export(mem, 0, 1, VBN_ACCESS_READ, bad.bytes, &bad.length), VBN_ERR_LIMIT);
    mem_free(mem);
}

TEST_F(Mem, ABlobIsDecodedOnlyWhenEverythingInItIsPossible)
{
    vbn_mem_t *mem = make(4096);
    Blob blob = key(mem, 16, 32, VBN_ACCESS_READ);
    uint64_t handle;
    for (size_t cut = 0; cut < blob.length; cut++)
        EXPECT_EQ(bench_decode(blob.bytes, cut, &handle), VBN_ERR_PROTOCOL);
    EXPECT_EQ(bench_decode(blob.bytes, blob.length + 1, &handle), VBN_ERR_PROTOCOL);
    std::mt19937 random(99);
    unsigned refused = 0;
    for (int i = 0; i < 20000; i++) { // bench_decode aborts when an accepted range is impossible
        Blob bad = blob;
        for (unsigned flips = 0; flips <= random() % 3; flips++)
            bad.bytes[random() % bad.length] ^= static_cast<uint8_t>(1u << random() % 8);
        refused += bench_decode(bad.bytes, bad.length, &handle) != VBN_OK;
    }
    EXPECT_GT(refused, 1000u);
    mem_free(mem);
}

TEST_F(Mem, ImportsAreSharedCountedAndOutliveTheOwner)
{
    for (bool named : {false, true}) {
        vbn_mem_t *mem = make(10000, named);
        static_cast<char *>(mem_address(mem))[9999] = 'z';
        Blob blob = key(mem, 0, 10000, VBN_ACCESS_READ);
        void *first = nullptr, *second = nullptr, *third = nullptr;
        int fd = -1;
        ASSERT_EQ(bench_import(reader, blob.bytes, blob.length, -1, &first), VBN_OK);
        EXPECT_EQ(first, nullptr) << "nothing is mapped yet";
        ASSERT_EQ(bench_descriptor(owner, blob.handle, &fd), VBN_OK) << vbn_error_text();
        EXPECT_EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
        ASSERT_EQ(bench_import(reader, blob.bytes, blob.length, dup(fd), &first), VBN_OK) << vbn_error_text();
        ASSERT_EQ(bench_import(reader, blob.bytes, blob.length, fd, &second), VBN_OK);
        ASSERT_EQ(bench_import(reader, blob.bytes, blob.length, -1, &third), VBN_OK);
        EXPECT_EQ(first, second);
        EXPECT_EQ(first, third);
        EXPECT_EQ(bench_counter(reader, "mem.imported.bytes"), 12288u);
        EXPECT_EQ(bench_close(reader), VBN_ERR_INVALID);
        mem_free(mem);
        EXPECT_EQ(static_cast<char *>(bench_import_address(first))[9999], 'z');
        for (void *import : {first, second, third})
            bench_import_release(import);
        EXPECT_EQ(bench_counter(reader, "mem.imported.bytes"), 0u);
    }
}

TEST_F(Mem, AConnectionFindsOnlyTheMemoryThatCameOverIt)
{
    vbn_mem_t *mem = make(4096), *other = make(4096);
    static_cast<char *>(mem_address(other))[0] = 'x';
    Blob blob = key(mem, 0, 4096, VBN_ACCESS_READ), others = key(other, 0, 4096, VBN_ACCESS_READ);
    void *true_one = nullptr, *false_one = nullptr, *found = nullptr;
    int fd = -1;
    ASSERT_EQ(bench_descriptor(owner, others.handle, &fd), VBN_OK);
    bench_import_from(reader, 2); // it hands out memory of its own under another's name
    ASSERT_EQ(bench_import(reader, blob.bytes, blob.length, fd, &false_one), VBN_OK) << vbn_error_text();
    bench_import_from(reader, 1);
    ASSERT_EQ(bench_import(reader, blob.bytes, blob.length, -1, &found), VBN_OK);
    EXPECT_EQ(found, nullptr) << "what connection 2 says is not believed of connection 1";
    ASSERT_EQ(bench_descriptor(owner, blob.handle, &fd), VBN_OK);
    ASSERT_EQ(bench_import(reader, blob.bytes, blob.length, fd, &true_one), VBN_OK) << vbn_error_text();
    EXPECT_NE(bench_import_address(true_one), bench_import_address(false_one));
    EXPECT_EQ(static_cast<char *>(bench_import_address(true_one))[0], 0);
    EXPECT_EQ(static_cast<char *>(bench_import_address(false_one))[0], 'x');
    for (void *import : {true_one, false_one})
        bench_import_release(import);
    mem_free(mem);
    mem_free(other);
}

TEST_F(Mem, AKeySaysNothingAboutTheNextOneAtItsPlace)
{
    const uint64_t generation = UINT64_C(1) << 32;
    uint64_t last = 0;
    unsigned guessed = 0;
    for (int i = 0; i < 100; i++) {
        vbn_mem_t *mem = make(4096);
        uint64_t handle = key(mem, 0, 4096, VBN_ACCESS_READ).handle;
        guessed += handle == last + generation;
        last = handle;
        mem_free(mem);
    }
    EXPECT_LE(guessed, 1u);
}

TEST_F(Mem, WritableKeysMapWritable)
{
    vbn_mem_t *mem = make(4096);
    Blob blob = key(mem, 0, 4096, VBN_ACCESS_READ | VBN_ACCESS_WRITE);
    int fd = -1;
    void *import = nullptr;
    ASSERT_EQ(bench_descriptor(owner, blob.handle, &fd), VBN_OK);
    ASSERT_EQ(bench_import(reader, blob.bytes, blob.length, fd, &import), VBN_OK) << vbn_error_text();
    static_cast<char *>(bench_import_address(import))[5] = 'w';
    EXPECT_EQ(static_cast<char *>(mem_address(mem))[5], 'w');
    bench_import_release(import);
    mem_free(mem);
}

TEST_F(Mem, DescriptorsThatCouldShrinkOrLieAreRefused)
{
    vbn_mem_t *mem = make(8192);
    Blob blob = key(mem, 0, 8192, VBN_ACCESS_READ);
    void *import = nullptr;
    int unsealed = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ASSERT_EQ(ftruncate(unsealed, 8192), 0);
    EXPECT_NE(bench_import(reader, blob.bytes, blob.length, dup(unsealed), &import), VBN_OK);
    ASSERT_EQ(ftruncate(unsealed, 4096), 0);
    ASSERT_EQ(fcntl(unsealed, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    EXPECT_EQ(bench_import(reader, blob.bytes, blob.length, unsealed, &import), VBN_ERR_PROTOCOL);
    EXPECT_EQ(bench_import(reader, blob.bytes, blob.length, open("/dev/null", O_RDONLY), &import), VBN_ERR_PROTOCOL);
    EXPECT_NE(bench_import(reader, blob.bytes, blob.length, open("/etc/passwd", O_RDONLY), &import), VBN_OK);
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    EXPECT_EQ(bench_import(reader, blob.bytes, blob.length, pipes[0], &import), VBN_ERR_PROTOCOL);
    close(pipes[1]);
    EXPECT_EQ(import, nullptr);
    mem_free(mem);
}

TEST_F(Mem, FindTellsWhichMemoryHoldsARange)
{
    vbn_mem_t *a = make(4096);
    vbn_mem_t *b = make(4096, true);
    uint8_t *at = static_cast<uint8_t *>(mem_address(b));
    EXPECT_EQ(bench_find(owner, at, 4096), b);
    EXPECT_EQ(bench_find(owner, at + 4000, 96), b);
    EXPECT_EQ(bench_find(owner, at + 4000, 97), nullptr);
    EXPECT_EQ(bench_find(owner, at - 1, 2), nullptr);
    EXPECT_EQ(bench_find(owner, at, SIZE_MAX), nullptr);
    EXPECT_EQ(bench_find(owner, mem_address(a), 1), a);
    EXPECT_EQ(bench_find(owner, &at, 1), nullptr);
    mem_revoke(b);
    EXPECT_EQ(bench_find(owner, at, 1), nullptr);
    mem_free(a);
    mem_free(b);
}

TEST_F(Mem, ManyThreadsMayUseOneRegistry)
{
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([this] {
            for (int i = 0; i < 100; i++) {
                vbn_mem_t *mem = make(4096);
                Blob blob = key(mem, 0, 100, VBN_ACCESS_READ);
                int fd = -1;
                void *import = nullptr;
                void *address = nullptr;
                ASSERT_EQ(bench_descriptor(owner, blob.handle, &fd), VBN_OK);
                ASSERT_EQ(bench_import(reader, blob.bytes, blob.length, fd, &import), VBN_OK);
                ASSERT_EQ(bench_resolve(owner, blob.handle, 0, 100, VBN_ACCESS_READ, &address), VBN_OK);
                bench_import_release(import);
                mem_free(mem);
            }
        });
    }
    for (auto &thread : threads)
        thread.join();
}

} // namespace
