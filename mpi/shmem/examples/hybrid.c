/* SPDX-License-Identifier: Apache-2.0
 * hybrid.c - MPI and OpenSHMEM in one program, on one runtime: rank = PE. Each PE counts words of its share by their first
 * byte and adds what it finds to the owner's counters by atomics; MPI gathers the result out of the symmetric heap.
 *
 *     oshcc hybrid.c -o hybrid -lmpi_abi && oshrun -n 4 ./hybrid
 */
#include <mpi.h>
#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>

#define WORDS 100000
#define KINDS 240 /* divided among the PEs */

static unsigned word_at(long place)
{
    unsigned long mixed = (unsigned long)place * 0x9e3779b97f4a7c15ul;
    return (unsigned)(mixed >> 40) % KINDS;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    shmem_init();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int share = (KINDS + ranks - 1) / ranks;
    long *counters = shmem_calloc((size_t)share, sizeof(long));
    long *all = malloc((size_t)share * (size_t)ranks * sizeof(long));
    if (counters == NULL || all == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (long place = rank; place < WORDS; place += ranks) {
        const unsigned word = word_at(place);
        shmem_long_atomic_inc(&counters[word % (unsigned)share], (int)(word / (unsigned)share));
    }
    shmem_barrier_all();
    MPI_Gather(counters, share, MPI_LONG, all, share, MPI_LONG, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        long sum = 0, words = 0;
        for (int kind = 0; kind < KINDS; kind++) {
            sum += all[kind] * (kind + 1);
            words += all[kind];
        }
        printf("checksum %ld of %ld words\n", sum, words);
    }
    free(all);
    shmem_finalize();
    MPI_Finalize();
    return 0;
}
