/* SPDX-License-Identifier: Apache-2.0
 * main.c - shmembench: what ohb's row shmem measures, written for any OpenSHMEM from 1.4 on. Its forms are those of
 * mpi/bench/common/form.c.
 */
#include "bench.h"

#include <shmem.h>
#include <string.h>

#define PAGE 4096u
#define MOST_PES 64

static double times[MOST_PES];
static int answer;

static void meet(void)
{
    shmem_barrier_all();
}

static void gather(const bench_t *bench, double mine, double *values)
{
    shmem_double_p(&times[bench->rank], mine, 0);
    shmem_barrier_all();
    memcpy(values, times, (size_t)bench->size * sizeof(double));
    shmem_barrier_all();
}

static int agree(int value)
{
    if (shmem_my_pe() == 0)
        answer = value;
    shmem_barrier_all();
    value = shmem_int_g(&answer, 0);
    shmem_barrier_all();
    return value;
}

static char *memory(size_t bytes)
{
    return shmem_align(PAGE, bytes);
}

static void release(char *memory)
{
    shmem_free(memory);
}

static void abort_all(void)
{
    shmem_global_exit(1);
}

int main(int argc, char **argv)
{
    const double start = seconds_now();
    shmem_init();
    const double took = seconds_now() - start;
    const library_t library = {"shmembench", MOST_BYTES, forms,  form_count, meet,
                               gather,       agree,      memory, release,    abort_all};
    bench_t bench = {.rank = shmem_my_pe(), .size = shmem_n_pes()};
    if (bench.size > MOST_PES)
        return 1;
    bench_run(&library, &bench, argc, argv, took);
    shmem_finalize();
    return 0;
}
