/* SPDX-License-Identifier: Apache-2.0
 * main.c - mpibench: what ohb's row mpi measures, written for any MPI. Its forms are those of common/form.c.
 */
#include "bench.h"

#include <mpi.h>
#include <stdlib.h>

#define PAGE 4096u

static void meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void gather(const bench_t *bench, double mine, double *values)
{
    (void)bench;
    MPI_Gather(&mine, 1, MPI_DOUBLE, values, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static int agree(int value)
{
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return value;
}

/* For every rank a message: what alltoall gets and gives. */
static char *memory(size_t bytes)
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return aligned_alloc(PAGE, bytes * (size_t)size);
}

static void release(char *memory)
{
    free(memory);
}

static void abort_all(void)
{
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
    const double start = seconds_now();
    MPI_Init(&argc, &argv);
    const double took = seconds_now() - start;
    const library_t library = {"mpibench", MOST_BYTES, forms,  form_count, meet,
                               gather,     agree,      memory, release,    abort_all};
    bench_t bench = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.size);
    bench_run(&library, &bench, argc, argv, took);
    MPI_Finalize();
    return 0;
}
