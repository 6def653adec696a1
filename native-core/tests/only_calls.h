/* SPDX-License-Identifier: Apache-2.0
 * only_calls.h - a filter for the thread that calls it: any system call but a few ends the process.
 */
#ifndef VERBENA_TESTS_ONLY_CALLS_H
#define VERBENA_TESTS_ONLY_CALLS_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ONLY_CALLS_MOST 16
#define END_OF_THREAD SYS_exit, SYS_futex, SYS_madvise, SYS_munmap, SYS_rt_sigprocmask

/* At most ONLY_CALLS_MOST numbers. 0: this kernel has no such filter. */
static inline int only_calls(const int *allowed, int count)
{
    struct sock_filter filter[2 * ONLY_CALLS_MOST + 2];
    int at = 0;
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < count && i < ONLY_CALLS_MOST; i++) {
        filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
        filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    const struct sock_fprog program = {.len = (unsigned short)at, .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#endif
