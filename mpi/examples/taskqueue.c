/* SPDX-License-Identifier: Apache-2.0
 * taskqueue.c - a queue of tasks in a window: each rank takes the next task by one atomic addition, so ranks with short tasks take
 * more of them. No rank hands out tasks, and rank 0, which owns the window, computes like all others.
 *
 *     mpicc -O2 taskqueue.c -o taskqueue && mpiexec -n 4 ./taskqueue [QUEENS]
 *
 * The tasks: in how many ways so many queens stand on a board without attacking each other. A task has the places of the first
 * two queens, and takes between no time and a few milliseconds.
 */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define QUEENS_MOST 16

enum { NEXT, FOUND, WORDS }; /* words of the window: the next task, the solutions so far */

/* Solutions with the remaining queens; bits: columns and diagonals that queens above this row attack. */
static int64_t solve(int queens, unsigned columns, unsigned left, unsigned right)
{
    const unsigned all = (1u << queens) - 1;
    int64_t found = 0;
    if (columns == all)
        return 1;
    for (unsigned open = all & ~(columns | left | right); open != 0; open &= open - 1) {
        const unsigned bit = open & -open;
        found += solve(queens, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return found;
}

/* Places: the columns of the first two queens. */
static int64_t run_task(int queens, int64_t task)
{
    const unsigned first = 1u << (task / queens);
    const unsigned second = 1u << (task % queens);
    if (first == second || second == first << 1 || second == first >> 1)
        return 0;
    return solve(queens, first | second, ((first << 1) | second) << 1, ((first >> 1) | second) >> 1);
}

/* The number of the next task that no rank has taken; this call takes it. */
static int64_t take(MPI_Win queue)
{
    const int64_t one = 1;
    int64_t task;
    MPI_Fetch_and_op(&one, &task, MPI_INT64_T, 0, NEXT, MPI_SUM, queue);
    MPI_Win_flush(0, queue);
    return task;
}

/* Takes tasks until there are no more; gives how many this rank had. */
static int work(int queens, MPI_Win queue)
{
    const int64_t tasks = (int64_t)queens * queens;
    int64_t found = 0;
    int had = 0;
    MPI_Win_lock_all(0, queue);
    for (int64_t task = take(queue); task < tasks; task = take(queue), had++)
        found += run_task(queens, task);
    MPI_Accumulate(&found, 1, MPI_INT64_T, 0, FOUND, 1, MPI_INT64_T, MPI_SUM, queue);
    MPI_Win_unlock_all(queue);
    return had;
}

int main(int argc, char **argv)
{
    int rank;
    int64_t *words;
    MPI_Win queue;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int queens = argc > 1 ? atoi(argv[1]) : 10;
    if (queens < 2 || queens > QUEENS_MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Win_allocate(rank == 0 ? WORDS * sizeof(*words) : 0, sizeof(*words), MPI_INFO_NULL, MPI_COMM_WORLD, &words,
                     &queue);
    for (int i = 0; rank == 0 && i < WORDS; i++)
        words[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    int had = work(queens, queue);
    int most;
    MPI_Reduce(&had, &most, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD); /* all ranks have ended their access */
    const double took = MPI_Wtime() - start;
    if (rank == 0)
        printf("taskqueue: %d queens, %d tasks, checksum %" PRId64
               " solutions\nseconds %.6f\nmost tasks of a rank: %d\n",
               queens, queens * queens, words[FOUND], took, most);
    MPI_Win_free(&queue);
    MPI_Finalize();
    return 0;
}
