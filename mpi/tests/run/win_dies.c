/* SPDX-License-Identifier: Apache-2.0
 * win_dies.c - not a rule: a job of which rank 1 is killed in a synchronisation of windows, or while windows and communicators are
 * made, used and freed, for deaths.py. usage: win_dies WAY CALL
 * WAY: inside, or unseen: mpiexec does not see the end, and each of the others says so when its call has ended with an error.
 * once: unseen, and a rank whose call has failed makes no further one.
 */
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "stand_in.h"

static MPI_Win win;
static MPI_Group one, others, turned;
static int rank;
static int memory[4];

static void kill_itself(int number)
{
    (void)number;
    raise(SIGKILL);
}

static int fence(void)
{
    const int first = MPI_Win_fence(0, win);
    const int put = MPI_Put(&rank, 1, MPI_INT, 1, rank, 1, MPI_INT, win);
    return first != MPI_SUCCESS ? first : put;
}

/* The others access rank 1. */
static int start(void)
{
    if (rank == 1) {
        MPI_Win_post(others, 0, win);
        return MPI_Win_wait(win);
    }
    const int first = MPI_Win_start(one, 0, win);
    if (first != MPI_SUCCESS)
        return first;
    MPI_Put(&rank, 1, MPI_INT, 1, rank, 1, MPI_INT, win);
    return MPI_Win_complete(win);
}

/* Rank 1 accesses the others. */
static int wait_for_origin(void)
{
    if (rank != 1) {
        MPI_Win_post(one, 0, win);
        return MPI_Win_wait(win);
    }
    MPI_Win_start(others, 0, win);
    return MPI_Win_complete(win);
}

static int lock(void)
{
    const int first = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    if (first != MPI_SUCCESS)
        return first;
    MPI_Put(&rank, 1, MPI_INT, 1, rank, 1, MPI_INT, win);
    return MPI_Win_unlock(1, win);
}

static int flush(void)
{
    int before;
    const int call = MPI_Get_accumulate(&rank, 1, MPI_INT, &before, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win);
    const int end = MPI_Win_flush(1, win);
    return call != MPI_SUCCESS ? call : end;
}

static int free_made(int made, MPI_Win more)
{
    if (made != MPI_SUCCESS)
        return made;
    MPI_Win_set_errhandler(more, MPI_ERRORS_RETURN);
    return MPI_Win_free(&more);
}

static int create_and_free(void)
{
    MPI_Win more = MPI_WIN_NULL;
    const int made = MPI_Win_create(memory, sizeof(memory), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &more);
    return free_made(made, more);
}

static int allocate_and_free(void)
{
    MPI_Win more = MPI_WIN_NULL;
    void *base;
    const int made = MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &more);
    return free_made(made, more);
}

static int use_made(int made, MPI_Comm more)
{
    if (made != MPI_SUCCESS)
        return made;
    const int used = MPI_Barrier(more);
    MPI_Comm_free(&more);
    return used;
}

static int duplicate(void)
{
    MPI_Comm more = MPI_COMM_NULL;
    const int made = MPI_Comm_dup(MPI_COMM_WORLD, &more);
    return use_made(made, more);
}

/* Only the ranks of the group call: here all of them, in another order. Nothing but these calls shows that one has failed. */
static int create_group(void)
{
    MPI_Comm more = MPI_COMM_NULL;
    const int made = MPI_Comm_create_group(MPI_COMM_WORLD, turned, 7, &more);
    if (made == MPI_SUCCESS)
        MPI_Comm_free(&more);
    return made;
}

static int start_duplicate(void)
{
    MPI_Comm more = MPI_COMM_NULL;
    MPI_Request request;
    int made = MPI_Comm_idup(MPI_COMM_WORLD, &more, &request);
    if (made == MPI_SUCCESS)
        made = MPI_Wait(&request, MPI_STATUS_IGNORE);
    return use_made(made, more);
}

static int split(void)
{
    MPI_Comm more = MPI_COMM_NULL;
    const int made = MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &more);
    return use_made(made, more);
}

static const struct {
    const char *name;
    int (*call)(void);
} calls[] = {{"fence", fence},          {"start", start},
             {"wait", wait_for_origin}, {"lock", lock},
             {"flush", flush},          {"free", create_and_free},
             {"idup", start_duplicate}, {"dup", duplicate},
             {"split", split},          {"allocate", allocate_and_free},
             {"group", create_group}};

static void say(void)
{
    static int said;
    if (!said)
        printf("rank %d: an error\n", rank);
    fflush(stdout);
    said = 1;
}

int main(int argc, char **argv)
{
    const struct itimerval soon = {.it_value.tv_usec = 3000};
    MPI_Group all;
    int size;
    int (*call)(void) = NULL;
    if (argc != 3)
        return 2;
    if (strcmp(argv[1], "inside") != 0)
        stand_in();
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        call = strcmp(argv[2], calls[i].name) == 0 ? calls[i].call : call;
    if (call == NULL)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &(int){1}, &one);
    MPI_Group_excl(all, 1, &(int){1}, &others);
    MPI_Group_range_incl(all, 1, (int[1][3]){{size - 1, 0, -1}}, &turned);
    MPI_Win_create(memory, sizeof(memory), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (call == flush)
        MPI_Win_lock_all(0, win);
    for (int i = 0; i < 20; i++)
        call();
    if (rank == 1) {
        signal(SIGALRM, kill_itself);
        setitimer(ITIMER_REAL, &soon, NULL);
    }
    for (;;) /* on, after an error too: other ranks may still wait for a message of this one */
        if (call() != MPI_SUCCESS) {
            say();
            while (strcmp(argv[1], "once") == 0)
                MPI_Iprobe(0, 0, MPI_COMM_SELF, &size, MPI_STATUS_IGNORE);
        }
}
