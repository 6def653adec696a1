/* SPDX-License-Identifier: Apache-2.0
 * samplesort.c - sorts numbers that are spread over all ranks.
 *
 *     mpicc -O2 samplesort.c -o samplesort && mpiexec -n 4 ./samplesort [NUMBERS]
 *
 * Each rank sorts its own numbers and shows some of them. From these samples all ranks choose the same borders; each
 * number then goes to the rank between whose borders it lies, and is sorted there.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct part {
    uint64_t *numbers;
    int count;
} part_t;

static void *memory(size_t count, size_t bytes)
{
    void *found = calloc(count + 1, bytes);
    if (found == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return found;
}

/* Number `place` of all: the same whatever the number of ranks (the finishing steps of splitmix64). */
static uint64_t number_at(uint64_t place)
{
    uint64_t z = (place + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int by_value(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* size - 1 borders, out of size samples of each rank. */
static uint64_t *choose_borders(const part_t *mine, int size)
{
    uint64_t *samples = memory((size_t)size, sizeof(*samples));
    uint64_t *all = memory((size_t)size * (size_t)size, sizeof(*all));
    for (int i = 0; i < size; i++)
        samples[i] = mine->count == 0 ? 0 : mine->numbers[(long)mine->count * i / size];
    MPI_Allgather(samples, size, MPI_UINT64_T, all, size, MPI_UINT64_T, MPI_COMM_WORLD);
    qsort(all, (size_t)size * (size_t)size, sizeof(*all), by_value);
    for (int i = 1; i < size; i++)
        samples[i - 1] = all[i * size];
    free(all);
    return samples;
}

/* Sends every number to its rank; what has come is not sorted yet. */
static part_t spread(const part_t *mine, const uint64_t *borders, int size)
{
    int *counts = memory((size_t)size * 4, sizeof(*counts));
    int *places = counts + size;
    int *in_counts = counts + 2 * size;
    int *in_places = counts + 3 * size;
    for (int i = 0, rank = 0; i < mine->count; i++) {
        while (rank < size - 1 && mine->numbers[i] >= borders[rank])
            rank++;
        counts[rank]++;
    }
    MPI_Alltoall(counts, 1, MPI_INT, in_counts, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 1; i < size; i++) {
        places[i] = places[i - 1] + counts[i - 1];
        in_places[i] = in_places[i - 1] + in_counts[i - 1];
    }
    part_t here = {.count = in_places[size - 1] + in_counts[size - 1]};
    here.numbers = memory((size_t)here.count, sizeof(*here.numbers));
    MPI_Alltoallv(mine->numbers, counts, places, MPI_UINT64_T, here.numbers, in_counts, in_places, MPI_UINT64_T,
                  MPI_COMM_WORLD);
    free(counts);
    return here;
}

/* Sum of value * place over all numbers in their order: another order gives another sum. */
static uint64_t checksum(const part_t *part, int rank)
{
    uint64_t before = 0, sum = 0, all = 0;
    const uint64_t count = (uint64_t)part->count;
    MPI_Exscan(&count, &before, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (uint64_t i = 0; i < count; i++)
        sum += part->numbers[i] * ((rank == 0 ? 0 : before) + i + 1);
    MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const long total = argc > 1 ? atol(argv[1]) : 100000;
    const long first = total * rank / size;
    part_t mine = {.count = (int)(total * (rank + 1) / size - first)};
    mine.numbers = memory((size_t)mine.count, sizeof(*mine.numbers));
    for (int i = 0; i < mine.count; i++)
        mine.numbers[i] = number_at((uint64_t)(first + i));
    const double start = MPI_Wtime();
    qsort(mine.numbers, (size_t)mine.count, sizeof(*mine.numbers), by_value);
    uint64_t *borders = choose_borders(&mine, size);
    part_t sorted = spread(&mine, borders, size);
    qsort(sorted.numbers, (size_t)sorted.count, sizeof(*sorted.numbers), by_value);
    const double took = MPI_Wtime() - start;
    const uint64_t sum = checksum(&sorted, rank);
    if (rank == 0)
        printf("samplesort: %ld numbers, checksum %016llx\nseconds %.6f\n", total, (unsigned long long)sum, took);
    free(mine.numbers);
    free(sorted.numbers);
    free(borders);
    MPI_Finalize();
    return 0;
}
