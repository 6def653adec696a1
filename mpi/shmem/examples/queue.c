/* SPDX-License-Identifier: Apache-2.0
 * queue.c - a queue of work: PEs take numbers of tasks by fetch-add from PE 0, which works as well and serves nobody; results
 * go where they belong by a put. The sum does not depend on the number of PEs.
 *
 *     oshcc queue.c -o queue && oshrun -n 4 ./queue
 */
#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>

#define TASKS 2000
#define BATCH 8 /* taken at a time */

static long next; /* of PE 0: the first task that nobody has taken */
static long taken;
static long all_taken;

/* Steps of the Collatz sequence from n to 1. */
static long work(long n)
{
    long steps = 0;
    for (; n != 1; steps++)
        n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    return steps;
}

int main(void)
{
    shmem_init();
    long *results = shmem_malloc(TASKS * sizeof(long));
    if (results == NULL)
        shmem_global_exit(1);
    shmem_barrier_all(); /* nobody begins before next is 0 everywhere */
    for (long first; (first = shmem_long_atomic_fetch_add(&next, BATCH, 0)) < TASKS;)
        for (long task = first; task < first + BATCH && task < TASKS; task++, taken++)
            shmem_long_p(&results[task], work(task + 1), 0);
    shmem_barrier_all();
    (void)shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all_taken, &taken, 1);
    if (shmem_my_pe() == 0) {
        long sum = 0;
        for (long task = 0; task < TASKS; task++)
            sum += results[task] * (task % 97 + 1);
        printf("checksum %ld, %ld tasks\n", sum, all_taken);
    }
    shmem_free(results);
    shmem_finalize();
    return 0;
}
