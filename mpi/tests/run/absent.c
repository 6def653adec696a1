/* SPDX-License-Identifier: Apache-2.0
 * absent.c - not a rule: rank 1 is killed, rank 3 lives and calls no collective any more, as after an error in another set; the
 * others call one, for deaths.py. usage: absent CALL
 * Rank 3 alone has had a message with rank 1, so who else waits for rank 3 learns from it that rank 1 is lost.
 */
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stand_in.h"

#define BYTES (1 << 20) /* announced, and fetched by whoever receives it */

static char data[BYTES];

static int duplicate(void)
{
    MPI_Comm more;
    return MPI_Comm_dup(MPI_COMM_WORLD, &more);
}

static int start_duplicate(void)
{
    MPI_Comm more;
    MPI_Request request;
    const int made = MPI_Comm_idup(MPI_COMM_WORLD, &more, &request);
    return made != MPI_SUCCESS ? made : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int split(void)
{
    MPI_Comm more;
    return MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &more);
}

static int sum(void)
{
    return MPI_Allreduce(MPI_IN_PLACE, data, BYTES, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
}

static int broadcast(void)
{
    return MPI_Bcast(data, BYTES, MPI_CHAR, 2, MPI_COMM_WORLD);
}

static int start_barrier(void)
{
    MPI_Request request;
    const int begun = MPI_Ibarrier(MPI_COMM_WORLD, &request);
    return begun != MPI_SUCCESS ? begun : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static const struct {
    const char *name;
    int (*call)(void);
} calls[] = {{"dup", duplicate}, {"idup", start_duplicate}, {"split", split},
             {"sum", sum},       {"broadcast", broadcast},  {"barrier", start_barrier}};

int main(int argc, char **argv)
{
    int (*call)(void) = NULL;
    int rank;
    int flag;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        call = argc > 1 && strcmp(argv[1], calls[i].name) == 0 ? calls[i].call : call;
    if (call == NULL)
        return 2;
    stand_in();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 1) {
        MPI_Recv(data, 1, MPI_CHAR, 3, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        raise(SIGKILL);
    }
    if (rank == 3) {
        MPI_Send(data, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        for (;;)
            MPI_Iprobe(0, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    }
    const int rc = call();
    printf("rank %d: %s\n", rank, rc == MPI_SUCCESS ? "well" : "an error");
    fflush(stdout);
    for (;;) /* mpiexec is ended from outside */
        MPI_Iprobe(0, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}
