/* SPDX-License-Identifier: Apache-2.0
 * aborts.c - MPI_Abort with the code of the argument; "handler": an error with MPI_ERRORS_ABORT (deaths.py).
 */
#include <mpi.h>

#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc == 2 && strcmp(argv[1], "handler") == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
        MPI_Send(NULL, 0, MPI_INT, 99, 0, MPI_COMM_WORLD);
    }
    MPI_Abort(MPI_COMM_WORLD, argc == 2 ? atoi(argv[1]) : 1);
}
