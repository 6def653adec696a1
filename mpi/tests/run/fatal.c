/* SPDX-License-Identifier: Apache-2.0
 * fatal.c - not a rule: an error under MPI_ERRORS_ARE_FATAL, for run.py.
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Send(&argc, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
