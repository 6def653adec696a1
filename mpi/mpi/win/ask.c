/* SPDX-License-Identifier: Apache-2.0
 * ask.c - asking another rank of a window, which may be lost: win_check_alive ends the question, so nobody writes to it afterwards.
 */
#include "win/ask.h"

#include <string.h>

#include "err/err.h"

int win_check_alive(const mpi_win_t *win, int rank, const char *what)
{
    const rt_process_t *process = rt_process_at(rt_group_world(win->comm->ranks, rank));
    if (process == NULL || !process->lost)
        return MPI_SUCCESS;
    win_answers_fail(win, rank);
    return err_set(MPI_ERR_PROC_ABORTED, "%s: rank %d of the window is lost: its process or its connection has ended",
                   what, rank);
}

static void answered(win_answer_t *answer, int error, const void *data, size_t length)
{
    win_question_t *question = (win_question_t *)answer;
    question->rc = error == MPI_SUCCESS && length > question->room ? MPI_ERR_INTERN : error;
    question->length = length;
    if (question->rc == MPI_SUCCESS && length > 0)
        memcpy(question->into, data, length);
    if (question->heard != NULL)
        question->heard(question);
    rt.events++;
}

int win_ask_begin(mpi_win_t *win, int rank, win_header_t *header, win_question_t *question, const char *what)
{
    question->answer = (win_answer_t){.done = answered, .win = win, .rank = rank};
    question->rc = -1;
    header->token = win_answer_expect(&question->answer);
    if (header->token == 0)
        return err_set(MPI_ERR_NO_MEM, "%s of rank %d: no memory left", what, rank);
    const int rc = win_say(win, rank, WIN_AM_CALL, header, NULL, 0);
    if (rc != MPI_SUCCESS)
        (void)win_answer_withdraw(header->token);
    return rc;
}

int win_ask_end(const mpi_win_t *win, int rank, const win_question_t *question, const char *what)
{
    rt_wait_t wait = RT_WAIT;
    int rc = MPI_SUCCESS;
    while (question->rc < 0 && (rc = win_check_alive(win, rank, what)) == MPI_SUCCESS)
        rt_wait_step(&wait);
    return rc;
}

int win_ask(mpi_win_t *win, int rank, win_header_t *header, win_question_t *question, const char *what)
{
    const int rc = win_ask_begin(win, rank, header, question, what);
    return rc != MPI_SUCCESS ? rc : win_ask_end(win, rank, question, what);
}
