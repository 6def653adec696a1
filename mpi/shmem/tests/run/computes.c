/* SPDX-License-Identifier: Apache-2.0
 * A PE that computes and calls nothing is reached all the same: by puts, gets, atomics, strided puts and signals. It computes
 * until it sees in its own memory that the others are done. RULE_SECONDS: at least so long.
 * PEs: 2 3 hosts tcp
 */
#include <time.h>

#include "rule.h"

static volatile long done;
static long counter;
static long words[1000];
static uint64_t arrived;

static int computes_on(time_t start)
{
    const char *seconds = getenv("RULE_SECONDS");
    return done < size - 1 || (seconds != NULL && time(NULL) - start < atoi(seconds));
}

static void reach(void)
{
    long mine[1000], back[1000];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 1000; i++)
            mine[i] = me * 100000 + round * 1000 + i;
        shmem_long_put(words, mine, 500, 0);
        shmem_long_iput(words + 500, mine, 2, 1, 200, 0);
        shmem_long_put_signal(&words[900 + me], &mine[7], 1, &arrived, 1, SHMEM_SIGNAL_ADD, 0);
        shmem_quiet();
        shmem_long_get(back, words, 500, 0);
        CHECK(size > 2 || back[499] == mine[499]);
        CHECK(shmem_long_g(&words[900 + me], 0) == mine[7]);
        (void)shmem_long_atomic_fetch_add(&counter, 1, 0);
    }
    shmem_quiet();
    shmem_long_atomic_inc((long *)(uintptr_t)&done, 0);
}

static void test(void)
{
    shmem_barrier_all();
    if (me != 0)
        reach();
    for (const time_t start = time(NULL); me == 0 && computes_on(start);)
        ;
    shmem_barrier_all();
    CHECK(me != 0 || (counter == 20 * (size - 1) && arrived == (uint64_t)(20 * (size - 1))));
}
