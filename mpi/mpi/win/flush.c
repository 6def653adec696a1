/* SPDX-License-Identifier: Apache-2.0
 * flush.c - waiting for the end of calls, here and at the target (MPI 5.0, 12.5.4). Puts and gets end at the target before they end
 * here. For calls without an answer (W6) the target answers a question that it reads after them.
 */
#include "win/flush.h"

#include <stdatomic.h>

#include "err/err.h"
#include "mpi_impl.h"
#include "win/ask.h"

#define FLUSHES_A_LOOK 16 /* flushes that find nothing to wait for */

/* The first error of calls to the target, which is told once. */
static int take_error(win_target_t *target, int rank, int rc)
{
    const int failed = target->failed;
    target->failed = MPI_SUCCESS;
    if (rc != MPI_SUCCESS || failed == MPI_SUCCESS)
        return rc;
    if (failed == MPI_ERR_ACCESS)
        return err_set(failed, "an access changes memory of rank %d that its process may not write", rank);
    return failed == MPI_ERR_RMA_RANGE
               ? err_set(failed, "an access to memory of rank %d that is not attached, or has been freed", rank)
               : err_set(failed, "an operation on the window of rank %d failed", rank);
}

static int prove(mpi_win_t *win, int rank, win_target_t *target)
{
    win_question_t question = {0};
    win_header_t header = {.kind = WIN_FLUSH};
    const unsigned sent = target->sent; /* other threads send more meanwhile, and prove some */
    const int rc = win_ask(win, rank, &header, &question, "flush");
    if (rc == MPI_SUCCESS && (int)(sent - target->proved) > 0)
        target->proved = sent;
    if (rc == MPI_SUCCESS && question.rc != MPI_SUCCESS && target->failed == MPI_SUCCESS)
        target->failed = question.rc;
    return rc;
}

/* A program that waits in a loop of operations on mapped memory makes no other progress, and lets no other rank run. */
static void look_at_times(void)
{
    static unsigned flushes;
    if (++flushes % FLUSHES_A_LOOK == 0)
        rt_look();
}

int win_flush(mpi_win_t *win, int rank, int remote)
{
    win_target_t *target = win_target_known(win, rank);
    rt_wait_t wait = RT_WAIT;
    int rc = MPI_SUCCESS;
    if (target == NULL)
        return MPI_SUCCESS;
    atomic_thread_fence(
        memory_order_seq_cst); /* stores to mapped memory come before what tells the target of the end */
    if (target->pending == 0 && target->sent == target->proved)
        look_at_times();
    while (target->pending > 0 && (rc = win_check_alive(win, rank, "flush")) == MPI_SUCCESS)
        rt_wait_step(&wait);
    if (rc == MPI_SUCCESS && remote && target->sent != target->proved)
        rc = prove(win, rank, target);
    return take_error(target, rank, rc);
}

int win_flush_all(mpi_win_t *win, int remote)
{
    const int size = win->comm->ranks->size;
    int first = MPI_SUCCESS;
    for (int rank = 0; win->pages != NULL && rank < size; rank++) {
        const int rc = win_flush(win, rank, remote);
        first = first == MPI_SUCCESS ? rc : first;
    }
    return first;
}

/* ---- the calls */

static int check_passive(const mpi_win_t *win)
{
    return win->epoch == WIN_LOCK || win->epoch == WIN_LOCK_ALL
               ? MPI_SUCCESS
               : err_set(MPI_ERR_RMA_SYNC, "a flush outside of MPI_Win_lock and MPI_Win_lock_all");
}

static int check_target(mpi_win_t *win, int rank)
{
    const win_target_t *target;
    int rc = check_passive(win);
    rc = rc == MPI_SUCCESS ? win_check_rank(win, rank) : rc;
    if (rc != MPI_SUCCESS || win->epoch == WIN_LOCK_ALL)
        return rc;
    target = win_target_known(win, rank);
    return target != NULL && target->lock != WIN_UNLOCKED
               ? MPI_SUCCESS
               : err_set(MPI_ERR_RMA_SYNC, "rank %d is not locked: MPI_Win_lock comes first", rank);
}

static int flush_one(MPI_Win win, int rank, int remote)
{
    const int rc = check_target(win_of(win), rank);
    return rc != MPI_SUCCESS ? rc : win_flush(win_of(win), rank, remote);
}

static int flush_each(MPI_Win win, int remote)
{
    const int rc = check_passive(win_of(win));
    return rc != MPI_SUCCESS ? rc : win_flush_all(win_of(win), remote);
}

int mpi_Win_flush(int rank, MPI_Win win)
{
    return flush_one(win, rank, 1);
}

int mpi_Win_flush_local(int rank, MPI_Win win)
{
    return flush_one(win, rank, 0);
}

int mpi_Win_flush_all(MPI_Win win)
{
    return flush_each(win, 1);
}

int mpi_Win_flush_local_all(MPI_Win win)
{
    return flush_each(win, 0);
}

/* Public and private copy are one (MPI_WIN_UNIFIED). What others have written is seen by loads after this, and messages that have
 * arrived are carried out: programs call it in loops that wait for a word. */
int mpi_Win_sync(MPI_Win win)
{
    (void)win;
    rt_look();
    atomic_thread_fence(memory_order_seq_cst);
    return MPI_SUCCESS;
}
