/* SPDX-License-Identifier: Apache-2.0
 * Inside a node puts, gets, atomics, fence, quiet and waits that are over make no system call: a thread does them behind a
 * filter that ends the process at the first one.
 * PEs: 1 2
 */
#include <pthread.h>

#include "only_calls.h"
#include "rule.h"

static long words[1000];
static long copy[1000];
static int behind_filter;

static void *work(void *heap_arg)
{
    long *heap = heap_arg;
    const int next = (me + 1) % size;
    static const int allowed[] = {END_OF_THREAD};
    if (!only_calls(allowed, sizeof(allowed) / sizeof(allowed[0])))
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
