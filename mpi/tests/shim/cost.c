/* SPDX-License-Identifier: Apache-2.0
 * cost.c - calls whose instructions run.py counts, once through the standard ABI and once through a family's library. One rank, to
 * itself; argument: which call.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 1000, MANY = 64 };

void cost_round(const char *call, MPI_Comm comm, MPI_Request requests[], MPI_Status statuses[]);

__attribute__((noinline)) void cost_round(const char *call, MPI_Comm comm, MPI_Request requests[],
                                          MPI_Status statuses[])
{
    int value = 0;
    if (call[0] == 'r')
        MPI_Comm_rank(comm, &value);
    else if (call[0] == 's')
        MPI_Comm_size(comm, &value);
    else if (call[0] == 'p')
        MPI_Iprobe(MPI_ANY_SOURCE, 5, comm, &value, statuses);
    else if (call[0] == 'm') { /* a message */
        MPI_Irecv(&value, 1, MPI_INT, 0, 0, comm, &requests[0]);
        MPI_Send(&value, 1, MPI_INT, 0, 0, comm);
        MPI_Wait(&requests[0], statuses);
    } else if (call[0] == 'w')
        MPI_Waitall(MANY, requests, statuses);
}

int main(int argc, char **argv)
{
    MPI_Comm dup;
    MPI_Request requests[MANY];
    MPI_Status statuses[MANY];
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    for (int i = 0; i < MANY; i++)
        requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < ROUNDS; i++)
        cost_round(argv[1], dup, requests, statuses);
    printf("calls %d\n", ROUNDS);
    MPI_Comm_free(&dup);
    return MPI_Finalize();
}
