/* SPDX-License-Identifier: Apache-2.0
 * nodes.c - not a rule: each rank prints how many ranks its node has, and which one it is there, for hosts.py.
 */
#include <mpi.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Comm node;
    int rank;
    int size;
    int place;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    MPI_Comm_rank(node, &place);
    printf("%d: %d of %d\n", rank, place, size);
    MPI_Comm_free(&node);
    MPI_Finalize();
    return 0;
}
