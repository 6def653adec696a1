/* SPDX-License-Identifier: Apache-2.0
 * win_no_calls.c - operations on node memory and their flushes make no system call: a thread does them behind a filter that ends
 * the process at the first one.
 * ranks: 2 3
 */
#define RULE_THREADS MPI_THREAD_SERIALIZED

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rule.h"

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1 /* it makes system calls of its own */
#else
#define SANITIZED 0
#endif
#define ROUNDS 10000

static MPI_Win win;
static int behind_filter;

/* What ends a thread may be called. A flush makes progress at times, which looks at the sockets, and yields where ranks are more
 * than processors. */
static int install(void)
{
    static const int allowed[] = {SYS_epoll_wait, SYS_sched_yield, SYS_exit,          SYS_futex,
                                  SYS_madvise,    SYS_munmap,      SYS_rt_sigprocmask};
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

/* On words of the next rank, which no other rank accesses: 0 is put and got, 1 added to, 2 swapped. A word of memory that another
 * process holds for long is waited for with system calls. */
static void operations(long first, long end)
{
    const long one = 1;
    const int next = (rank + 1) % size;
    for (long i = first; i < end; i++) {
        const long after = i + 1;
        long before = -1;
        MPI_Put(&i, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
        MPI_Win_flush(next, win);
        MPI_Get(&before, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
        MPI_Win_flush(next, win);
        CHECK(before == i);
        MPI_Fetch_and_op(&one, &before, MPI_LONG, next, 1, MPI_SUM, win);
        MPI_Accumulate(&one, 1, MPI_LONG, next, 1, 1, MPI_LONG, MPI_SUM, win);
        MPI_Win_flush_all(win);
        MPI_Compare_and_swap(&after, &i, &before, MPI_LONG, next, 2, win);
        MPI_Win_flush(next, win);
        CHECK(before == i);
    }
}

static void *work(void *unused)
{
    (void)unused;
    operations(0, 1); /* connects, maps the memory, makes the thread's heap */
    MPI_Barrier(MPI_COMM_WORLD);
    if (SANITIZED || !install())
        return NULL;
    behind_filter = 1;
    operations(1, ROUNDS);
    return NULL;
}

static void test(void)
{
    pthread_t thread;
    long *words;
    MPI_Win_allocate(3 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &words, &win);
    memset(words, 0, 3 * sizeof(long));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!behind_filter && !SANITIZED && rank == 0)
        printf("this kernel has no filter for system calls\n");
    CHECK(!behind_filter || (words[1] == 2L * ROUNDS && words[2] == ROUNDS));
    MPI_Win_free(&win);
}
