/* SPDX-License-Identifier: Apache-2.0
 * Inside a node puts, gets, atomics, fence, quiet and waits that are over make no system call: a thread does them behind a
 * filter that ends the process at the first one.
 * PEs: 1 2
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rule.h"

static long words[1000];
static long copy[1000];
static int behind_filter;

/* What ends a thread may be called. */
static int install(void)
{
    static const int allowed[] = {SYS_exit, SYS_futex, SYS_madvise, SYS_munmap, SYS_rt_sigprocmask};
    enum { COUNT = sizeof(allowed) / sizeof(allowed[0]) };
    struct sock_filter filter[2 * COUNT + 2];
    int at = 0;
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < COUNT; i++) {
        filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
        filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    const struct sock_fprog program = {.len = (unsigned short)at, .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void *work(void *heap_arg)
{
    long *heap = heap_arg;
    const int next = (me + 1) % size;
    if (!install())
        return NULL;
    behind_filter = 1;
    for (int i = 0; i < 10000; i++) {
        shmem_long_p(&heap[i % 100], i, next);
        shmem_long_put(heap, words, 100, next);
        shmem_long_put_nbi(words, copy, 500, next);
        shmem_long_get(copy, heap, 100, next);
        shmem_long_iput(heap, copy, 2, 1, 20, next);
        shmem_long_atomic_inc(&heap[200], next);
        (void)shmem_long_atomic_fetch_add(&words[900], 1, next);
        (void)shmem_long_atomic_compare_swap(&heap[201], i, i + 1, next);
        shmem_fence();
        shmem_quiet();
        shmem_long_wait_until(&heap[300], SHMEM_CMP_EQ, 0);
    }
    return NULL;
}

static void test(void)
{
    pthread_t thread;
    long *heap = shmem_calloc(1000, sizeof(long));
    CHECK(pthread_create(&thread, NULL, work, heap) == 0 && pthread_join(thread, NULL) == 0);
    if (!behind_filter && me == 0)
        printf("this kernel has no filter for system calls\n");
    shmem_barrier_all();
    CHECK(!behind_filter || (heap[200] == 10000 && words[900] == 10000));
}
