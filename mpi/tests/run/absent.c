/* SPDX-License-Identifier: Apache-2.0
 * absent.c - not a rule: rank 1 is killed, rank 3 lives and calls no collective any more, as after an error in another set; the
 * others call one, for deaths.py. usage: absent CALL [session]; session: there is no MPI_Init.
 * Rank 3 alone has had a message with rank 1, so who else waits for rank 3 learns from it that rank 1 is lost. In sessions
 * all ranks have made the communicator together.
 */
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stand_in.h"

#define BYTES (1 << 20) /* announced, and fetched by whoever receives it */

static char data[BYTES];
static MPI_Comm world = MPI_COMM_NULL;
static MPI_Comm half = MPI_COMM_NULL; /* the even ranks, the odd ones */

static int duplicate(void)
{
    MPI_Comm more;
    return MPI_Comm_dup(world, &more);
}

static int start_duplicate(void)
{
    MPI_Comm more;
    MPI_Request request;
    const int made = MPI_Comm_idup(world, &more, &request);
    return made != MPI_SUCCESS ? made : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int split(void)
{
    MPI_Comm more;
    return MPI_Comm_split(world, 0, 0, &more);
}

static int sum(void)
{
    return MPI_Allreduce(MPI_IN_PLACE, data, BYTES, MPI_CHAR, MPI_SUM, world);
}

static int broadcast(void)
{
    return MPI_Bcast(data, BYTES, MPI_CHAR, 2, world);
}

static int start_barrier(void)
{
    MPI_Request request;
    const int begun = MPI_Ibarrier(world, &request);
    return begun != MPI_SUCCESS ? begun : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Between the leaders of two groups; rank 3 is the other one. */
static int join(void)
{
    MPI_Comm both;
    return MPI_Intercomm_create(half, 0, world, 3, 0, &both);
}

/* By slots, which are there. */
static int small(void)
{
    return MPI_Bcast(data, 1, MPI_CHAR, 3, world);
}

static const struct {
    const char *name;
    int (*call)(void);
} calls[] = {{"dup", duplicate},       {"idup", start_duplicate},  {"split", split}, {"sum", sum},
             {"broadcast", broadcast}, {"barrier", start_barrier}, {"join", join},   {"small", small}};

static void begin(int in_session)
{
    MPI_Session session;
    MPI_Group group;
    if (!in_session) {
        MPI_Init(NULL, NULL);
        world = MPI_COMM_WORLD;
        return;
    }
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "absent", MPI_INFO_NULL, MPI_ERRORS_RETURN, &world);
    MPI_Group_free(&group);
}

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
    begin(argc > 2 && strcmp(argv[2], "session") == 0);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    if (call == join || call == small) {
        MPI_Comm_split(world, rank % 2, rank, &half);
        MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
        MPI_Bcast(data, 1, MPI_CHAR, 0, world);
    }
    if (rank == 1) {
        MPI_Recv(data, 1, MPI_CHAR, 3, 0, world, MPI_STATUS_IGNORE);
        raise(SIGKILL);
    }
    if (rank == 3) {
        MPI_Send(data, 1, MPI_CHAR, 1, 0, world);
        for (;;)
            MPI_Iprobe(rank, 1, world, &flag, MPI_STATUS_IGNORE);
    }
    const int rc = call();
    printf("rank %d: %s\n", rank, rc == MPI_SUCCESS ? "well" : "an error");
    fflush(stdout);
    for (;;) /* mpiexec is ended from outside */
        MPI_Iprobe(rank, 1, world, &flag, MPI_STATUS_IGNORE);
}
