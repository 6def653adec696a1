/* SPDX-License-Identifier: Apache-2.0
 * win_flush_all.c - MPI_Win_flush_all asks all targets before it waits for one (12.5.4): the last rank answers while rank 1, which
 * makes no progress, does not, and another thread is told its error. Then everything is done at all targets.
 * ranks: 3 4 tcp
 */
#define RULE_THREADS MPI_THREAD_MULTIPLE
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "rule.h"

static MPI_Win win;
static MPI_Aint words[64]; /* of each rank, in its memory */
static long memory[2];

/* Before MPI_Init: so a rank that waits outside of MPI answers nobody. Only its own thread takes the signal. */
__attribute__((constructor)) static void hold(void)
{
    sigset_t signals;
    setenv("VBN_MPI_KEEPER", "0", 1);
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

static void *flush_all(void *unused)
{
    (void)unused;
    CHECK(MPI_Win_flush_all(win) == MPI_SUCCESS); /* the error was told by the other thread */
    return NULL;
}

/* To an address that is not attached, which the target finds out. */
static void add(int target, MPI_Aint at)
{
    const long one = 1;
    CHECK(MPI_Accumulate(&one, 1, MPI_LONG, target, at, 1, MPI_LONG, MPI_SUM, win) == MPI_SUCCESS);
}

static void flush_while_one_sleeps(pid_t sleeper)
{
    pthread_t thread;
    int code = MPI_SUCCESS;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int target = 1; target < size; target++)
        add(target, words[target]);
    add(size - 1, words[size - 1] + (MPI_Aint)sizeof(memory));
    CHECK(pthread_create(&thread, NULL, flush_all, NULL) == 0);
    while (code == MPI_SUCCESS) { /* asks nobody */
        MPI_Win_sync(win);
        code = MPI_Win_flush_local(size - 1, win);
    }
    CHECK(code == MPI_ERR_RMA_RANGE);
    CHECK(kill(sleeper, SIGUSR1) == 0);
    pthread_join(thread, NULL);
}

static void sleep_until_told(void)
{
    sigset_t signals;
    int signal;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    CHECK(sigwait(&signals, &signal) == 0);
}

static void test(void)
{
    MPI_Aint mine;
    int ids[64];
    int id = (int)getpid();
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, memory, sizeof(memory));
    MPI_Get_address(memory, &mine);
    MPI_Allgather(&mine, 1, MPI_AINT, words, 1, MPI_AINT, MPI_COMM_WORLD);
    MPI_Allgather(&id, 1, MPI_INT, ids, 1, MPI_INT, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Win_lock_all(0, win);
    for (int target = 1; rank == 0 && target < size; target++) { /* takes its lock */
        add(target, words[target]);
        MPI_Win_flush(target, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        flush_while_one_sleeps(ids[1]);
    if (rank == 1)
        sleep_until_told();
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(memory[0] == (rank == 0 ? 0 : 2));
    if (rank == 0)
        MPI_Win_unlock_all(win);
    MPI_Win_detach(win, memory);
    MPI_Win_free(&win);
}
