/* SPDX-License-Identifier: Apache-2.0
 * Who waits in one library serves the other: PE 0 waits for a symmetric variable while PE 1 sends it 4 MB by MPI, which need
 * PE 0's help, before it writes the variable; and rank 0 waits in MPI_Recv while the others need atomics of it.
 * PEs: 2 3 hosts tcp
 */
#include <mpi.h>

#include "rule.h"

#define BYTES (4 << 20)
#define ROUNDS 20

static long flag;
static long counter;

static void shmem_waits(unsigned char *buffer)
{
    for (int round = 1; round <= ROUNDS; round++) {
        if (me == 0) {
            MPI_Request request;
            MPI_Irecv(buffer, BYTES, MPI_BYTE, 1, round, MPI_COMM_WORLD, &request);
            shmem_long_wait_until(&flag, SHMEM_CMP_EQ, round);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            CHECK(is_filled(buffer, BYTES, round));
        } else if (me == 1) {
            fill(buffer, BYTES, round);
            MPI_Send(buffer, BYTES, MPI_BYTE, 0, round, MPI_COMM_WORLD);
            shmem_long_p(&flag, round, 0);
            shmem_quiet();
        }
    }
}

static void mpi_waits(void)
{
    for (int round = 1; round <= ROUNDS; round++) {
        int word = 0;
        if (me == 0) {
            for (int from = 1; from < size; from++)
                MPI_Recv(&word, 1, MPI_INT, from, 1000 + round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            for (int i = 0; i < 50; i++)
                (void)shmem_long_atomic_fetch_inc(&counter, 0);
            MPI_Send(&word, 1, MPI_INT, 0, 1000 + round, MPI_COMM_WORLD);
        }
    }
    CHECK(me != 0 || counter == 50 * ROUNDS * (size - 1));
}

static void test(void)
{
    unsigned char *buffer = malloc(BYTES);
    MPI_Init(NULL, NULL);
    CHECK(buffer != NULL);
    shmem_waits(buffer);
    shmem_barrier_all();
    mpi_waits();
    free(buffer);
    MPI_Finalize();
}
