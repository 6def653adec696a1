/* SPDX-License-Identifier: Apache-2.0
 * ring.c - a token goes round all ranks, each adds its number.
 *
 *     mpicc ring.c -o ring && mpiexec -n 4 ./ring
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank;
    int size;
    long token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int next = (rank + 1) % size;
    const int before = (rank - 1 + size) % size;
    if (rank == 0)
        MPI_Sendrecv_replace(&token, 1, MPI_LONG, next, 0, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else {
        MPI_Recv(&token, 1, MPI_LONG, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        token += rank;
        MPI_Send(&token, 1, MPI_LONG, next, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%d ranks, the token is %ld\n", size, token);
    MPI_Finalize();
    return 0;
}
