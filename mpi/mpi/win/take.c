/* SPDX-License-Identifier: Apache-2.0
 * take.c - taking the lock of a target's memory: a question, whose answer is the lock.
 */
#include "win/take.h"

#include "err/err.h"
#include "win/answer.h"

typedef struct question {
    win_answer_t answer;
    int rc; /* -1: no answer yet */
} question_t;

static void answered(win_answer_t *answer, int error, const void *data, size_t length)
{
    (void)data, (void)length;
    ((question_t *)answer)->rc = error;
    rt.events++;
}

static int take(mpi_win_t *win, int rank, win_lock_t lock, int promised)
{
    question_t question = {.answer = {.done = answered, .win = win, .rank = rank}, .rc = -1};
    win_header_t header = {.kind = WIN_LOCK_ASK, .at = (uint64_t)lock, .op = (uint8_t)promised};
    win_target_t *target = win_target(win, rank);
    rt_wait_t wait = RT_WAIT;
    header.token = target == NULL ? 0 : win_answer_expect(&question.answer);
    if (header.token == 0)
        return err_set(MPI_ERR_NO_MEM, "lock of rank %d: no memory left", rank);
    int rc = win_say(win, rank, WIN_AM_CALL, &header, NULL, 0);
    if (rc != MPI_SUCCESS) {
        (void)win_answer_withdraw(header.token);
        return rc;
    }
    while (question.rc < 0 && (rc = win_check_alive(win, rank, "lock")) == MPI_SUCCESS)
        rt_wait_step(&wait);
    if (rc == MPI_SUCCESS && question.rc != MPI_SUCCESS)
        rc = err_set(question.rc, "rank %d could not keep the request of its lock", rank);
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
