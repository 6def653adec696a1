/* SPDX-License-Identifier: Apache-2.0
 * finishes.c - not a rule: a job of which some ranks end in other ways than by MPI_Finalize and 0, for ends.py. usage: finishes WAY
 *   code, signal  rank 1 ends with 3, or by SIGKILL, after MPI_Finalize; the others then wait for stdin, rank 0 for its end
 *   leave         all ranks end with 0 and without MPI_Finalize
 *   some          rank 1 does, the others call MPI_Finalize
 *   missed        rank 1 does, and the others wait for a message from any rank
 */
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *way;

static int is(const char *word)
{
    return strcmp(way, word) == 0;
}

static int finish(int rank)
{
    char byte;
    MPI_Finalize();
    if (rank == 1 && is("code"))
        return 3;
    if (rank == 1 && is("signal"))
        raise(SIGKILL);
    while (read(0, &byte, 1) > 0)
        ;
    printf("rank %d has written its results\n", rank);
    return 0;
}

int main(int argc, char **argv)
{
    int rank;
    int got;
    way = argc == 2 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (is("leave") || (rank == 1 && (is("some") || is("missed"))))
        return 0;
    if (is("missed"))
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return finish(rank);
}
