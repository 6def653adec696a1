// SPDX-License-Identifier: Apache-2.0
// test_seals.cc - memory of another process is looked at only where its owner cannot shorten it any more.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>

extern "C" {
#include "base/os.h"
#include "base/status.h"
}

namespace {

int owner_acts = -1; // the descriptor whose owner shortens and seals it at the moment at which its seals are asked for

struct Memory {
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    Memory() { EXPECT_EQ(0, ftruncate(fd, 8192)); }
    ~Memory() { close(fd); }
};

} // namespace

extern "C" int fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    long argument = va_arg(arguments, long);
    va_end(arguments);
    if (command == F_GET_SEALS && fd == owner_acts) {
        EXPECT_EQ(0, ftruncate(fd, 0));
        EXPECT_EQ(0, syscall(SYS_fcntl, fd, F_ADD_SEALS, F_SEAL_SHRINK));
    }
    return static_cast<int>(syscall(SYS_fcntl, fd, command, argument));
}

TEST(Seals, only_memory_that_nobody_can_shorten_has_a_size)
{
    Memory memory;
    uint64_t bytes = 7;
    EXPECT_EQ(VBN_ERR_ACCESS, os_sealed_bytes(memory.fd, &bytes));
    EXPECT_EQ(0, fcntl(memory.fd, F_ADD_SEALS, F_SEAL_GROW));
    EXPECT_EQ(VBN_ERR_ACCESS, os_sealed_bytes(memory.fd, &bytes));
    EXPECT_EQ(0, fcntl(memory.fd, F_ADD_SEALS, F_SEAL_SHRINK));
    ASSERT_EQ(VBN_OK, os_sealed_bytes(memory.fd, &bytes)) << err_text();
    EXPECT_EQ(8192u, bytes);
    int pipes[2];
    ASSERT_EQ(0, pipe(pipes));
    EXPECT_EQ(VBN_ERR_ACCESS, os_sealed_bytes(pipes[0], &bytes));
    close(pipes[0]);
    close(pipes[1]);
}

TEST(Seals, the_size_is_that_after_the_sealing)
{
    Memory memory;
    uint64_t bytes = 7;
    owner_acts = memory.fd;
    EXPECT_EQ(VBN_OK, os_sealed_bytes(memory.fd, &bytes)) << err_text();
    owner_acts = -1;
    EXPECT_EQ(0u, bytes);
}
