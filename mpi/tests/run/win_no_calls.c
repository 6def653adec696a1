/* SPDX-License-Identifier: Apache-2.0
 * win_no_calls.c - operations on node memory make no system call: a thread does them behind a filter that ends the process at the
 * first one. Another thread flushes, too: a flush makes progress now and then, which looks at the sockets (epoll_wait), reads a
 * peer's wake that came after this rank had found the message by itself (recvmsg), and yields where ranks are more than processors.
 * ranks: 2 3
 */
#define RULE_THREADS MPI_THREAD_SERIALIZED

#include <pthread.h>

#include "only_calls.h"
#include "rule.h"

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1 /* it makes system calls of its own */
#else
#define SANITIZED 0
#endif
#define ROUNDS 10000

static MPI_Win win;
static int behind_filter; /* threads */

/* Of each kind one, on words of the next rank, which no other rank accesses: 0 is put and got, 1 added to, 2 swapped. A word of
 * memory that another process holds for long is waited for with system calls. */
static void operations(long i, int flushes)
{
    const long one = 1;
    const long after = i + 1;
    const int next = (rank + 1) % size;
    long got = -1;
    long added = -1;
    long swapped = -1;
    MPI_Put(&i, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
    if (flushes)
        MPI_Win_flush(next, win);
    MPI_Get(&got, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
    MPI_Fetch_and_op(&one, &added, MPI_LONG, next, 1, MPI_SUM, win);
    MPI_Accumulate(&one, 1, MPI_LONG, next, 1, 1, MPI_LONG, MPI_SUM, win);
    if (flushes)
        MPI_Win_flush_all(win);
    MPI_Compare_and_swap(&after, &i, &swapped, MPI_LONG, next, 2, win);
    if (flushes) {
        MPI_Win_flush(next, win);
        CHECK(got == i && added == 2 * i && swapped == i);
    }
}

static void *without_flush(void *unused)
{
    static const int allowed[] = {END_OF_THREAD};
    (void)unused;
    operations(0, 1); /* connects, maps the memory, makes the thread's heap */
    MPI_Barrier(MPI_COMM_WORLD);
    if (SANITIZED || !only_calls(allowed, sizeof(allowed) / sizeof(allowed[0])))
        return NULL;
    behind_filter++;
    for (long i = 1; i < ROUNDS; i++)
        operations(i, 0);
    return NULL;
}

static void *with_flush(void *unused)
{
    static const int allowed[] = {SYS_epoll_wait, SYS_recvmsg, SYS_sched_yield, END_OF_THREAD};
    (void)unused;
    operations(ROUNDS, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!only_calls(allowed, sizeof(allowed) / sizeof(allowed[0])))
        return NULL;
    behind_filter++;
    for (long i = ROUNDS + 1; i < 2 * ROUNDS; i++)
        operations(i, 1);
    return NULL;
}

static void run(void *(*work)(void *))
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static void test(void)
{
    long *words;
    MPI_Win_allocate(3 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &words, &win);
    memset(words, 0, 3 * sizeof(long));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    run(without_flush);
    if (behind_filter == 1)
        run(with_flush);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (behind_filter == 0 && !SANITIZED && rank == 0)
        printf("this kernel has no filter for system calls\n");
    CHECK(behind_filter == 0 || (words[1] == 4L * ROUNDS && words[2] == 2L * ROUNDS && words[0] == 2L * ROUNDS - 1));
    MPI_Win_free(&win);
}
