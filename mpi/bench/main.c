/* SPDX-License-Identifier: Apache-2.0
 * main.c - mpibench: what ohb's row mpi measures, written for any MPI.
 *
 * usage: mpibench two CPU,CPU    two ranks, one on each of these processors
 *        mpibench four           four ranks, placed by whoever starts them
 *        mpibench start          the time of MPI_Init only
 * Rank 0 prints one line of JSON for each cell. Wrong content of a message ends the job with status 1.
 */
#include "bench.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAGE 4096u

double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void fail(const char *what, const char *cause)
{
    fprintf(stderr, "mpibench: %s: %s\n", what, cause);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

void expect_bytes(const char *what, const char *from, size_t bytes, int value)
{
    for (size_t i = 0; i < bytes; i++)
        if (from[i] != value) {
            fprintf(stderr, "mpibench: %s: byte %zu of %zu is %d and not %d\n", what, i, bytes, from[i], value);
            fail(what, "the library delivered wrong content");
        }
}

/* After MPI_Init, so that no library sees fewer processors than there are. Threads that it has started stay free. */
static void pin(int rank, const char *list)
{
    cpu_set_t set;
    const char *word = rank == 0 ? list : strchr(list, ',');
    if (word == NULL)
        fail(list, "not two processors");
    CPU_ZERO(&set);
    CPU_SET((size_t)atoi(word + (rank == 0 ? 0 : 1)), &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0)
        fail(list, "cannot run on this processor");
}

static char *buffer(const bench_t *bench)
{
    const size_t bytes = (size_t)bench->size * MOST_BYTES;
    char *memory = aligned_alloc(PAGE, bytes);
    if (memory == NULL)
        fail("buffers", "no memory");
    memset(memory, 0, bytes);
    return memory;
}

static void measure(int argc, char **argv)
{
    bench_t bench = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.size);
    const int two = argc == 3 && strcmp(argv[1], "two") == 0;
    if (bench.size != (two ? 2 : 4))
        fail(argv[1], "wrong number of ranks");
    if (two)
        pin(bench.rank, argv[2]);
    bench.out = buffer(&bench);
    bench.in = buffer(&bench);
    if (two)
        probe_open(&bench);
    (two ? cells_two : cells_four)(&bench);
    free(bench.out);
    free(bench.in);
}

static void print_start(double seconds)
{
    int rank;
    double most = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Reduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("{\"row\": \"init\", \"size\": 0, \"unit\": \"ms\", \"value\": %.4f, \"before\": 0, \"after\": 0}\n",
               most * 1e3);
}

int main(int argc, char **argv)
{
    const double start = seconds_now();
    MPI_Init(&argc, &argv);
    const double took = seconds_now() - start;
    if (argc == 2 && strcmp(argv[1], "start") == 0)
        print_start(took);
    else if ((argc == 3 && strcmp(argv[1], "two") == 0) || (argc == 2 && strcmp(argv[1], "four") == 0))
        measure(argc, argv);
    else
        fail("usage", "mpibench two CPU,CPU | four | start");
    MPI_Finalize();
    return 0;
}
