/* SPDX-License-Identifier: Apache-2.0
 * MPI and OpenSHMEM in one program: initialised and finalised in any order, OpenSHMEM several times, each usable as long as it
 * is open; PE = rank. Arguments: who is first (mpi, shmem), who ends first, and how often OpenSHMEM is initialised: run.py gives
 * all of them.
 */
#define RULE_OWN_MAIN
#include <mpi.h>

#include "rule.h"

static long box;
static int value;

static void use_mpi(void)
{
    int rank, ranks, sum;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    value = rank;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 3, &value, 1, MPI_INT, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (sum != ranks * (ranks - 1) / 2 || value != before)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static void use_shmem(void)
{
    me = shmem_my_pe();
    size = shmem_n_pes();
    long *block = shmem_malloc(1000 * sizeof(long));
    CHECK(block != NULL);
    shmem_long_p(&block[999], 10 + me, (me + 1) % size);
    shmem_long_p(&box, 20 + me, (me + 1) % size);
    shmem_barrier_all();
    CHECK(block[999] == 10 + (me + size - 1) % size && box == 20 + (me + size - 1) % size);
    CHECK(shmem_long_atomic_fetch(&box, (me + 1) % size) == 20 + me);
    shmem_free(block);
}

/* The symmetric heap as a buffer of messages. */
static void use_both(void)
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CHECK(rank == shmem_my_pe() && ranks == shmem_n_pes());
    unsigned char *out = shmem_malloc(1 << 20);
    unsigned char *in = shmem_malloc(1 << 20);
    fill(out, 1 << 20, rank);
    MPI_Sendrecv(out, 1 << 20, MPI_BYTE, (rank + 1) % ranks, 1, in, 1 << 20, MPI_BYTE, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(is_filled(in, 1 << 20, (rank + ranks - 1) % ranks));
    MPI_Barrier(MPI_COMM_WORLD);
    shmem_putmem(in, out, 1 << 20, (rank + 1) % ranks);
    shmem_barrier_all();
    CHECK(is_filled(in, 1 << 20, (rank + ranks - 1) % ranks));
    shmem_free(in);
    shmem_free(out);
}

static void shmem_all(int times)
{
    for (int i = 1; i < times; i++) {
        shmem_init();
        use_shmem();
        shmem_finalize();
    }
    shmem_init();
    use_shmem();
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    const int mpi_first = strcmp(argv[1], "mpi") == 0;
    const int times = atoi(argv[3]);
    if (mpi_first) {
        MPI_Init(NULL, NULL);
        use_mpi();
    }
    shmem_all(times);
    if (!mpi_first)
        MPI_Init(NULL, NULL);
    use_mpi();
    use_shmem();
    use_both();
    if (strcmp(argv[2], "mpi") == 0) {
        MPI_Finalize();
        use_shmem();
        shmem_finalize();
    } else {
        shmem_finalize();
        use_mpi();
        MPI_Finalize();
    }
    return 0;
}
