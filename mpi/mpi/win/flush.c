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

/* What a target is asked, and how much of what it has been sent the answer proves. */
typedef struct proof {
    win_question_t question;
    win_target_t *target;
    unsigned sent;
} proof_t;

static void heard(win_question_t *question)
{
    const proof_t *proof = (const proof_t *)question;
    win_target_t *target = proof->target;
    if (question->rc == MPI_ERR_PROC_ABORTED)
        return;
    if ((int)(proof->sent - target->proved) > 0) /* of several threads' proofs the last one counts */
        target->proved = proof->sent;
    if (question->rc != MPI_SUCCESS && target->failed == MPI_SUCCESS)
        target->failed = question->rc;
}

static int begin_proof(mpi_win_t *win, int rank, win_target_t *target, proof_t *proof)
{
    win_header_t header = {.kind = WIN_FLUSH};
    *proof = (proof_t){.question.heard = heard, .target = target, .sent = target->sent};
    return win_ask_begin(win, rank, &header, &proof->question, "flush");
}

static int end_proof(const mpi_win_t *win, int rank, const proof_t *proof)
{
    return win_ask_end(win, rank, &proof->question, "flush");
}

/* Of calls here. */
static int await_end(const mpi_win_t *win, int rank, const win_target_t *target)
{
    rt_wait_t wait = RT_WAIT;
    int rc = MPI_SUCCESS;
    while (target->pending > 0 && (rc = win_check_alive(win, rank, "flush")) == MPI_SUCCESS)
        rt_wait_step(&wait);
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
    proof_t proof;
    if (target == NULL)
        return MPI_SUCCESS;
    atomic_thread_fence(
        memory_order_seq_cst); /* stores to mapped memory come before what tells the target of the end */
    if (target->pending == 0 && target->sent == target->proved)
        look_at_times();
    int rc = await_end(win, rank, target);
    if (rc == MPI_SUCCESS && remote && target->sent != target->proved) {
        rc = begin_proof(win, rank, target, &proof);
        rc = rc == MPI_SUCCESS ? end_proof(win, rank, &proof) : rc;
    }
    return take_error(target, rank, rc);
}

/* All targets of a page of the table are asked before one answer is waited for. */
static int flush_page(mpi_win_t *win, int first, int count, int remote)
{
    proof_t proofs[WIN_PAGE];
    int rcs[WIN_PAGE];
    int asked[WIN_PAGE];
    win_target_t *page = win_target_known(win, first);
    int told = MPI_SUCCESS;
    for (int i = 0; i < count; i++)
        rcs[i] = await_end(win, first + i, &page[i]);
    for (int i = 0; i < count; i++) {
        asked[i] = rcs[i] == MPI_SUCCESS && remote && page[i].sent != page[i].proved;
        if (asked[i])
            rcs[i] = begin_proof(win, first + i, &page[i], &proofs[i]);
    }
    for (int i = 0; i < count; i++) {
        if (asked[i] && rcs[i] == MPI_SUCCESS)
            rcs[i] = end_proof(win, first + i, &proofs[i]);
        rcs[i] = take_error(&page[i], first + i, rcs[i]);
        told = told == MPI_SUCCESS ? rcs[i] : told;
    }
    return told;
}

int win_flush_all(mpi_win_t *win, int remote)
{
    const int size = win->comm->ranks->size;
    int told = MPI_SUCCESS;
    atomic_thread_fence(memory_order_seq_cst); /* as in win_flush */
    look_at_times();
    for (int first = 0; first < size; first += WIN_PAGE) {
        const int count = size - first < WIN_PAGE ? size - first : WIN_PAGE;
        const int rc = win_target_known(win, first) == NULL ? MPI_SUCCESS : flush_page(win, first, count, remote);
        told = told == MPI_SUCCESS ? rc : told;
    }
    return told;
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
