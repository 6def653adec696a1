/* SPDX-License-Identifier: Apache-2.0
 * take.c - taking the lock of a target's memory: a question, whose answer is the lock.
 */
#include "win/take.h"

#include "err/err.h"
#include "win/ask.h"

static int take(mpi_win_t *win, int rank, win_lock_t lock, int promised)
{
    win_question_t question = {0};
    win_header_t header = {.kind = WIN_LOCK_ASK, .at = (uint64_t)lock, .op = (uint8_t)promised};
    win_target_t *target = win_target(win, rank);
    int rc = target == NULL ? MPI_ERR_NO_MEM : win_ask(win, rank, &header, &question, "lock");
    if (rc == MPI_SUCCESS && question.rc != MPI_SUCCESS)
        rc = err_set(question.rc,
                     question.rc == MPI_ERR_RMA_SYNC
                         ? "the memory of rank %d is exposed by MPI_Win_post: it is not locked before MPI_Win_wait"
                         : "rank %d could not keep the request of its lock",
                     rank);
    if (rc == MPI_SUCCESS)
        target->lock = lock;
    return rc;
}

int win_lock_take(mpi_win_t *win, int rank, win_lock_t lock)
{
    return take(win, rank, lock, 0);
}

/* Of several threads one asks, the others wait for it. */
int win_lock_promised(mpi_win_t *win, int rank)
{
    win_target_t *target = win_target(win, rank);
    rt_wait_t wait = RT_WAIT;
    int rc = target == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    while (rc == MPI_SUCCESS && target->asking && (rc = win_check_alive(win, rank, "lock")) == MPI_SUCCESS)
        rt_wait_step(&wait);
    if (rc != MPI_SUCCESS || target->lock != WIN_UNLOCKED)
        return rc;
    target->asking = 1;
    target->lock_checked = 1;
    rc = take(win, rank, WIN_SHARED, 1);
    target->asking = 0;
    rt.events++;
    return rc;
}
