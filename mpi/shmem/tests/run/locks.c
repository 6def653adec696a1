/* SPDX-License-Identifier: Apache-2.0
 * Locks: one PE at a time is inside, what it has written is seen by the next, and a lock that is set is not set by a test.
 * PEs: 1 2 4 5 hosts tcp
 */
#include "rule.h"

static long locks[3];
static long counter;
static long inside;

static void increment(long *lock, int by_test)
{
    if (by_test)
        while (shmem_test_lock(lock) != 0)
            ;
    else
        shmem_set_lock(lock);
    CHECK(shmem_long_atomic_fetch_inc(&inside, 0) == 0);
    const long now = shmem_long_g(&counter, 0);
    shmem_long_p(&counter, now + 1, 0);
    shmem_long_atomic_add(&inside, -1, 0);
    shmem_clear_lock(lock);
}

static void test(void)
{
    for (int lock = 0; lock < 3; lock++) {
        shmem_barrier_all();
        counter = 0;
        shmem_barrier_all();
        for (int i = 0; i < 100; i++)
            increment(&locks[lock], i % 4 == 3);
        shmem_barrier_all();
        CHECK(shmem_long_g(&counter, 0) == 100 * size);
    }
    if (me == 0)
        CHECK(shmem_test_lock(&locks[0]) == 0);
    shmem_barrier_all();
    if (me != 0)
        CHECK(shmem_test_lock(&locks[0]) == 1);
    shmem_barrier_all();
    if (me == 0)
        shmem_clear_lock(&locks[0]);
    shmem_barrier_all();
}
