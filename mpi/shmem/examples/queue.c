/* SPDX-License-Identifier: Apache-2.0
 * queue.c - a queue of work: PEs take numbers of tasks by fetch-add from PE 0, which works as well and serves nobody; results
 * go where they belong by a put. The sum does not depend on the number of PEs. Calls of OpenSHMEM 1.4 only.
 *
 *     oshcc queue.c -o queue && oshrun -n 4 ./queue [TASKS]
 */
#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCH 8 /* taken at a time */

static long next; /* of PE 0: the first task that nobody has taken */
static long done; /* of PE 0 */

/* Steps of the Collatz sequence from n to 1. */
static long work(long n)
{
    long steps = 0;
    for (; n != 1; steps++)
        n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    return steps;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    shmem_init();
    const long tasks = argc > 1 ? atol(argv[1]) : 2000;
    long taken = 0;
    long *results = shmem_malloc((size_t)tasks * sizeof(long));
    if (results == NULL)
        shmem_global_exit(1);
    shmem_barrier_all(); /* nobody begins before next is 0 everywhere */
    const double start = now();
    for (long first; (first = shmem_long_atomic_fetch_add(&next, BATCH, 0)) < tasks;)
        for (long task = first; task < first + BATCH && task < tasks; task++, taken++)
            shmem_long_p(&results[task], work(task + 1), 0);
    shmem_long_atomic_add(&done, taken, 0);
    shmem_barrier_all();
    const double took = now() - start;
    if (shmem_my_pe() == 0) {
        long sum = 0;
        for (long task = 0; task < tasks; task++)
            sum += results[task] * (task % 97 + 1);
        printf("checksum %ld, %ld tasks\nseconds %.4f\n", sum, done, took);
    }
    shmem_free(results);
    shmem_finalize();
    return 0;
}
