/* SPDX-License-Identifier: Apache-2.0
 * aborts.c - MPI_Abort with the code of the argument; "handler": an error with MPI_ERRORS_ABORT; "locked": while another thread has
 * locked a stream (deaths.py).
 */
#include <mpi.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *lock_for_ever(void *arg)
{
    flockfile(stdout);
    (void)sem_post(arg);
    for (;;)
        pause();
}

static void lock_stdout(void)
{
    pthread_t thread;
    sem_t locked;
    (void)sem_init(&locked, 0, 0);
    if (pthread_create(&thread, NULL, lock_for_ever, &locked) == 0)
        (void)sem_wait(&locked);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc == 2 && strcmp(argv[1], "handler") == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
        MPI_Send(NULL, 0, MPI_INT, 99, 0, MPI_COMM_WORLD);
    }
    if (argc == 2 && strcmp(argv[1], "locked") == 0) {
        lock_stdout();
        MPI_Abort(MPI_COMM_WORLD, 5);
    }
    MPI_Abort(MPI_COMM_WORLD, argc == 2 ? atoi(argv[1]) : 1);
}
