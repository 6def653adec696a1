/* SPDX-License-Identifier: Apache-2.0
 * last_words.c - not a rule: rank 1 of 4 sends two messages to each other rank and is killed, which mpiexec does not see; for
 * deaths.py. What had arrived of it can still be probed for and received by its rank, whoever of both has opened the connection.
 * Each of the others says so; it goes on then.
 */
#define RULE_OWN_MAIN
#include "rule.h"
#include "stand_in.h"

#include <signal.h>
#include <unistd.h>

enum { FIRST = 1, SECOND, HEARD, DIALS, NEVER };

static void speak(void)
{
    const int words[2] = {11, 22};
    int other;
    MPI_Recv(&other, 1, MPI_INT, 2, DIALS, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE); /* rank 2 opens the connection to this one */
    for (other = 0; other < 4; other++)
        if (other != 1) {
            MPI_Send(&words[0], 1, MPI_INT, other, FIRST, MPI_COMM_WORLD);
            MPI_Send(&words[1], 1, MPI_INT, other, SECOND, MPI_COMM_WORLD);
        }
    for (int i = 0; i < 3; i++)
        MPI_Recv(&other, 1, MPI_INT, MPI_ANY_SOURCE, HEARD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    raise(SIGKILL);
}

/* The second message has come, and the first one before it. */
static void hear(void)
{
    int word;
    if (rank == 2)
        MPI_Send(&rank, 1, MPI_INT, 1, DIALS, MPI_COMM_WORLD);
    MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, SECOND, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE); /* to name it is to dial it */
    CHECK(word == 22);
    MPI_Send(&rank, 1, MPI_INT, 1, HEARD, MPI_COMM_WORLD);
    CHECK(MPI_Recv(&word, 1, MPI_INT, 1, NEVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS); /* it is lost */
}

static void look_and_receive(void)
{
    MPI_Status status;
    int word = 0;
    int flag = 0;
    CHECK(MPI_Iprobe(1, NEVER, MPI_COMM_WORLD, &flag, &status) != MPI_SUCCESS);
    CHECK(MPI_Iprobe(1, FIRST, MPI_COMM_WORLD, &flag, &status) == MPI_SUCCESS && flag);
    CHECK(MPI_Recv(&word, 1, MPI_INT, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    CHECK(word == 11 && status.MPI_SOURCE == 1 && status.MPI_TAG == FIRST);
    CHECK(MPI_Recv(&word, 1, MPI_INT, 1, FIRST, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_Send(&word, 1, MPI_INT, 1, FIRST, MPI_COMM_WORLD) != MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    stand_in();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 4);
    if (rank == 1)
        speak();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    hear();
    look_and_receive();
    printf("rank %d: an error\n", rank);
    fflush(stdout);
    for (;;)
        pause();
}
