/* SPDX-License-Identifier: Apache-2.0
 * reads.h - whether the kernel lets a process read memory: the tests of copies by the kernel need it, and a container's
 * seccomp profile, Yama or a kernel without CONFIG_CROSS_MEMORY_ATTACH forbid it. */
#ifndef VBN_TESTS_MULTI_READS_H
#define VBN_TESTS_MULTI_READS_H

#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

namespace multi {

inline bool reads_from(pid_t pid, uint64_t &word)
{
    uint64_t to = 0;
    iovec local{&to, sizeof(to)}, remote{&word, sizeof(word)};
    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == sizeof(to);
}

inline bool reads_itself()
{
    uint64_t word = 1;
    return reads_from(getpid(), word);
}

/* One that it has not started: Yama lets a process read its own children. */
inline bool reads_others()
{
    uint64_t word = 1;
    pid_t reader = fork();
    if (reader == 0)
        _exit(reads_from(getppid(), word) ? 0 : 1);
    int status = -1;
    return reader > 0 && waitpid(reader, &status, 0) == reader && status == 0;
}

} // namespace multi
#endif
