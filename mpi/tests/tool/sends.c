/* SPDX-License-Identifier: Apache-2.0
 * sends.c - each rank sends itself three messages.
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank;
    int got = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++) {
        MPI_Send(&rank, 1, MPI_INT, rank, i, MPI_COMM_WORLD);
        MPI_Recv(&got, 1, MPI_INT, rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return got != rank;
}
