/* SPDX-License-Identifier: Apache-2.0
 * take.c - taking the lock of a target's memory: by its word where that is mapped and free, else by a question, whose answer is the
 * lock.
 */
#include "win/take.h"

#include "err/err.h"
#include "win/ask.h"

static int refused(int rank, int error)
{
    return err_set(error,
                   error == MPI_ERR_RMA_SYNC
                       ? "the memory of rank %d is exposed by MPI_Win_post: it is not locked before MPI_Win_wait"
                       : "rank %d could not keep the request of its lock",
                   rank);
}

static int ask(mpi_win_t *win, int rank, win_lock_t lock, int promised, int maps)
{
    win_question_t question = {0};
    win_header_t header = {
        .kind = WIN_LOCK_ASK, .at = (uint64_t)lock, .op = (uint8_t)promised, .count = (uint32_t)maps};
    const int rc = win_ask(win, rank, &header, &question, "lock");
    return rc != MPI_SUCCESS || question.rc == MPI_SUCCESS ? rc : refused(rank, question.rc);
}

/* The word is known once the rank has described its memory; ranks of other hosts have none here. */
static int find_gate(mpi_win_t *win, int rank, win_gate_t **gate_p)
{
    win_target_t *target = win_target(win, rank);
    int rc = target == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    if (rc == MPI_SUCCESS && target->gate == NULL && !target->known &&
        (rank == win->comm->ranks->rank || win->shared != NULL || win_shares_node(win, rank)))
        rc = win_describe(win, rank, &target);
    *gate_p = rc == MPI_SUCCESS ? target->gate : NULL;
    return rc;
}

static int take(mpi_win_t *win, int rank, win_lock_t lock, int promised)
{
    win_gate_t *gate;
    int rc = find_gate(win, rank, &gate);
    const win_pass_t pass = gate == NULL ? WIN_PASS_WAIT : win_gate_enter(gate, lock == WIN_EXCLUSIVE, promised);
    if (rc != MPI_SUCCESS)
        return rc;
    if (pass == WIN_PASS_EXPOSED)
        return refused(rank, MPI_ERR_RMA_SYNC);
    if (pass == WIN_PASS_WAIT)
        rc = ask(win, rank, lock, promised, gate != NULL);
    if (rc != MPI_SUCCESS)
        return rc;
    win_target_known(win, rank)->lock = lock;
    win_target_known(win, rank)->held = gate;
    return MPI_SUCCESS;
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

int win_lock_return(mpi_win_t *win, int rank, win_lock_t lock)
{
    win_gate_t *gate = win_target_known(win, rank)->held;
    win_header_t header = {.kind = WIN_UNLOCK, .op = gate != NULL};
    return gate == NULL || win_gate_leave(gate, lock == WIN_EXCLUSIVE)
               ? win_say(win, rank, WIN_AM_CALL, &header, NULL, 0)
               : MPI_SUCCESS;
}
