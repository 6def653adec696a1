/* SPDX-License-Identifier: Apache-2.0
 * shmembench.c - times of single operations, written for any OpenSHMEM from 1.4 on. PE 0 measures towards the last PE; every
 * line is one row: name, bytes, microseconds of a round, the fastest of three loops. What was written is looked at.
 *
 * usage: oshrun -n 2 ./shmembench [ROUNDS]
 */
#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST (1u << 20)
#define LOOPS 3

static char *there;
static char *here;
static long *word;
static long *flag;
static int other;
static int rounds;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static void put(size_t bytes)
{
    shmem_putmem(there, here, bytes, other);
    shmem_quiet();
}

static void get(size_t bytes)
{
    shmem_getmem(here, there, bytes, other);
}

static void fetch_add(size_t bytes)
{
    (void)bytes;
    (void)shmem_long_atomic_fetch_add(word, 1, other);
}

static void increment(size_t bytes)
{
    (void)bytes;
    shmem_long_atomic_inc(word, other);
}

static void compare_swap(size_t bytes)
{
    (void)bytes;
    (void)shmem_long_atomic_compare_swap(word, 0, 1, other);
}

/* Puts without a quiet: how many a second. */
static void put_only(size_t bytes)
{
    (void)bytes;
    shmem_long_p((long *)(void *)there, 7, other);
}

static void barrier(size_t bytes)
{
    (void)bytes;
    shmem_barrier_all();
}

/* A word goes round all PEs, each waits for it. */
static void ring(size_t bytes)
{
    static long turn;
    const int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes();
    (void)bytes;
    turn++;
    if (me == 0)
        shmem_long_p(flag, turn, next);
    shmem_long_wait_until(flag, SHMEM_CMP_GE, turn);
    if (me != 0) {
        shmem_long_p(flag, turn, next);
        shmem_quiet();
    }
}

static void measure(const char *name, void (*round)(size_t bytes), size_t bytes, int count, int all)
{
    double best = 0;
    shmem_barrier_all();
    for (int loop = 0; loop <= LOOPS; loop++) { /* the first one warms up */
        const double start = now();
        for (int i = 0; (all || shmem_my_pe() == 0) && i < count; i++)
            round(bytes);
        shmem_quiet();
        const double took = (now() - start) / count;
        best = loop == 1 || (loop > 1 && took < best) ? took : best;
        shmem_barrier_all();
    }
    if (shmem_my_pe() == 0)
        printf("%-12s %8zu %10.4f us\n", name, bytes, best);
}

int main(int argc, char **argv)
{
    shmem_init();
    rounds = argc > 1 ? atoi(argv[1]) : 10000;
    other = shmem_n_pes() - 1;
    there = shmem_malloc(MOST);
    here = shmem_malloc(MOST);
    word = shmem_malloc(sizeof(long));
    flag = shmem_malloc(sizeof(long));
    if (there == NULL || here == NULL || word == NULL || flag == NULL || rounds < 10)
        return 1;
    memset(here, shmem_my_pe() == 0 ? 7 : 0, MOST);
    *word = *flag = 0;
    shmem_barrier_all();
    measure("put", put, 8, rounds, 0);
    measure("put", put, 65536, rounds / 10, 0);
    measure("put", put, MOST, rounds / 10, 0);
    measure("p", put_only, 8, rounds, 0);
    measure("get", get, 8, rounds, 0);
    measure("get", get, 65536, rounds / 10, 0);
    measure("fetch_add", fetch_add, 8, rounds, 0);
    measure("inc", increment, 8, rounds, 0);
    measure("cswap", compare_swap, 8, rounds, 0);
    measure("barrier", barrier, 0, rounds / 10, 1);
    measure("ring", ring, 8, rounds / 10, 1);
    for (size_t i = 8; shmem_my_pe() == other && i < MOST; i++) /* its first bytes are of put_only */
        if (there[i] != 7)
            return 1;
    shmem_finalize();
    return 0;
}
