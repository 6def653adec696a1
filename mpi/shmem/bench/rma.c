/* SPDX-License-Identifier: Apache-2.0
 * rma.c - loops of one-sided operations: PE 0 works on PE 1's memory, PE 1 waits in a barrier. What arrived is looked at.
 */
#include "bench.h"

#include <shmem.h>
#include <string.h>

static void prepare(bench_t *bench, size_t bytes)
{
    memset(bench->out, bench->rank + 1, bytes);
    memset(bench->in, 0, bytes);
    shmem_barrier_all();
}

static double finish(double start, int rounds)
{
    shmem_quiet();
    const double took = (seconds_now() - start) / rounds;
    shmem_barrier_all();
    return took;
}

double rma_put(bench_t *bench, size_t bytes, int rounds)
{
    prepare(bench, bytes);
    const double start = seconds_now();
    for (int i = 0; bench->rank == 0 && i < rounds; i++)
        shmem_putmem(bench->in, bench->out, bytes, 1);
    const double took = finish(start, rounds);
    if (bench->rank == 1)
        expect_bytes("put", bench->in, bytes, 1);
    return took;
}

double rma_put_quiet(bench_t *bench, size_t bytes, int rounds)
{
    prepare(bench, bytes);
    const double start = seconds_now();
    for (int i = 0; bench->rank == 0 && i < rounds; i++) {
        shmem_putmem(bench->in, bench->out, bytes, 1);
        shmem_quiet();
    }
    const double took = finish(start, rounds);
    if (bench->rank == 1)
        expect_bytes("put and quiet", bench->in, bytes, 1);
    return took;
}

double rma_get(bench_t *bench, size_t bytes, int rounds)
{
    prepare(bench, bytes);
    const double start = seconds_now();
    for (int i = 0; bench->rank == 0 && i < rounds; i++)
        shmem_getmem(bench->in, bench->out, bytes, 1);
    const double took = finish(start, rounds);
    if (bench->rank == 0)
        expect_bytes("get", bench->in, bytes, 2);
    return took;
}

double rma_p(bench_t *bench, size_t bytes, int rounds)
{
    long *word = (long *)(void *)bench->in;
    prepare(bench, bytes);
    const double start = seconds_now();
    for (int i = 0; bench->rank == 0 && i < rounds; i++)
        shmem_long_p(word, 0x0101010101010101, 1);
    const double took = finish(start, rounds);
    if (bench->rank == 1)
        expect_bytes("p", bench->in, bytes, 1);
    return took;
}

double rma_g(bench_t *bench, size_t bytes, int rounds)
{
    long *word = (long *)(void *)bench->in;
    prepare(bench, bytes);
    const double start = seconds_now();
    for (int i = 0; bench->rank == 0 && i < rounds; i++)
        *word = shmem_long_g((long *)(void *)bench->out, 1);
    const double took = finish(start, rounds);
    if (bench->rank == 0)
        expect_bytes("g", bench->in, bytes, 2);
    return took;
}

static long *counter(bench_t *bench)
{
    prepare(bench, sizeof(long));
    return (long *)(void *)bench->in;
}

static void expect_count(bench_t *bench, const char *what, int count)
{
    if (bench->rank == 1 && *(const long *)(const void *)bench->in != count)
        bench_fail(what, "the counter has another value than the number of operations");
}

double amo_fetch_add(bench_t *bench, size_t bytes, int rounds)
{
    long *word = counter(bench);
    (void)bytes;
    const double start = seconds_now();
    for (int i = 0; bench->rank == 0 && i < rounds; i++)
        if (shmem_long_atomic_fetch_add(word, 1, 1) != i)
            bench_fail("fetch_add", "the value before is not the number of operations before");
    const double took = finish(start, rounds);
    expect_count(bench, "fetch_add", rounds);
    return took;
}

double amo_increment(bench_t *bench, size_t bytes, int rounds)
{
    long *word = counter(bench);
    (void)bytes;
    const double start = seconds_now();
    for (int i = 0; bench->rank == 0 && i < rounds; i++)
        shmem_long_atomic_inc(word, 1);
    const double took = finish(start, rounds);
    expect_count(bench, "inc", rounds);
    return took;
}

double amo_compare_swap(bench_t *bench, size_t bytes, int rounds)
{
    long *word = counter(bench);
    (void)bytes;
    const double start = seconds_now();
    for (int i = 0; bench->rank == 0 && i < rounds; i++)
        if (shmem_long_atomic_compare_swap(word, i, i + 1, 1) != i)
            bench_fail("cswap", "the value before is not the one that was swapped in");
    const double took = finish(start, rounds);
    expect_count(bench, "cswap", rounds);
    return took;
}
