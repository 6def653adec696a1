/* SPDX-License-Identifier: Apache-2.0
 * sleeps.c - a rank that waits for long sleeps, and where ranks are more than processors it does so after few tries (run.py runs it
 * on one processor). usage: sleeps MOST; MOST: times that the waiting rank may give its processor away before it sleeps.
 */
#define RULE_OWN_MAIN
#include "rule.h"

#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAITS 20

static _Atomic int yields, sleeps;

#define IN_FRONT __attribute__((visibility("default"))) /* of libc's function of this name, for the library */

IN_FRONT int sched_yield(void)
{
    yields++;
    return (int)syscall(SYS_sched_yield);
}

IN_FRONT int poll(struct pollfd *entries, nfds_t count, int ms)
{
    const struct timespec most = {ms / 1000, ms % 1000 * 1000000L};
    sleeps++;
    return (int)syscall(SYS_ppoll, entries, count, ms < 0 ? NULL : &most, NULL, 0);
}

/* Until the kernel says that the process sleeps; it does nothing but wait for this rank. */
static void await_sleep(int process)
{
    char path[64], state = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", process);
    while (state != 'S') {
        FILE *stat = fopen(path, "r");
        CHECK(stat != NULL && fscanf(stat, "%*d (%*[^)]) %c", &state) == 1);
        fclose(stat);
        sched_yield();
    }
}

/* What rank 1 does between the counts may sleep at any place. */
static void wait_for_long(int most)
{
    int process = (int)getpid(), one = 0;
    yields = sleeps = 0;
    MPI_Send(&process, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Recv(&one, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(one == 1);
    CHECK(sleeps > 0);
    CHECK(yields <= most);
}

static void be_late(void)
{
    int process;
    const int one = 1;
    MPI_Recv(&process, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    await_sleep(process);
    MPI_Send(&one, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < WAITS; i++) {
        if (rank == 1)
            wait_for_long(atoi(argv[1]));
        else
            be_late();
    }
    MPI_Finalize();
    return 0;
}
