/* SPDX-License-Identifier: Apache-2.0
 * win_queue.c - locks that wait, and epochs of MPI_Win_lock_all that begin, fail to begin, or get an address meanwhile (12.5.3).
 * Sleeps only order the requests as they are hardest; the program is right in every order.
 * ranks: 5 tcp nodes
 */
#include <unistd.h>

#include "win.h"

enum { A, B, PROMISED, READER, WRITER }; /* ranks; memory of A and B is locked */

#define STEP 60000 /* us between requests */

static const long one = 1;

static void add_to(MPI_Win win, int target)
{
    MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win);
}

/* B has A's lock; a reader, a writer and a promised reader wait for it. The reader wants B's lock then, of which the promised one
 * has a share: it must not stay behind the writer. */
static void joins_readers(void)
{
    long *mine;
    MPI_Win win;
    MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    *mine = 0;
    if (rank == B)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, A, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == B) {
        usleep(4 * STEP);
        MPI_Win_unlock(A, win);
    } else if (rank == PROMISED) {
        MPI_Win_lock_all(0, win);
        add_to(win, B);
        MPI_Win_flush(B, win);
        usleep(3 * STEP);
        add_to(win, A);
        MPI_Win_unlock_all(win);
    } else if (rank == READER) {
        usleep(STEP);
        MPI_Win_lock(MPI_LOCK_SHARED, A, 0, win);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, B, 0, win);
        add_to(win, B);
        MPI_Win_unlock(B, win);
        MPI_Win_unlock(A, win);
    } else if (rank == WRITER) {
        usleep(2 * STEP);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, A, 0, win);
        add_to(win, A);
        MPI_Win_unlock(A, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(*mine == (rank == A ? 1 + (size > WRITER) : rank == B ? 2 : 0));
    MPI_Win_free(&win);
}

/* What a lock_all has taken before it is refused is given back. */
static void leaves_nothing(int kind)
{
    const int exposed = B, origin = PROMISED;
    MPI_Aint at[64];
    MPI_Group world, origins, targets;
    long *mine;
    MPI_Win win = win_make(kind, sizeof(long), 1, (void **)&mine, at);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &origin, &origins);
    MPI_Group_incl(world, 1, &exposed, &targets);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    if (rank == exposed)
        MPI_Win_post(origins, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == A && kind == 2)
        CHECK(class_of(MPI_Win_lock_all(0, win)) == MPI_ERR_RMA_SYNC);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == origin) {
        MPI_Win_start(targets, 0, win);
        MPI_Win_complete(win);
    }
    if (rank == exposed)
        MPI_Win_wait(win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, A, 0, win) == MPI_SUCCESS && MPI_Win_unlock(A, win) == MPI_SUCCESS);
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
    MPI_Group_free(&world);
    win_end(kind, &win, mine);
}

/* An address that is given within the epoch is one of memory that the rank has locked. */
static void locks_what_it_lends(void)
{
    volatile long *mine;
    volatile long *theirs = NULL;
    MPI_Aint bytes;
    int unit;
    MPI_Win win;
    MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    mine[0] = mine[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == B) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, B, 0, win);
        mine[0] = 1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == B) {
        usleep(STEP);
        mine[1] = 1;
        MPI_Win_unlock(B, win);
    } else {
        MPI_Win_lock_all(0, win);
        MPI_Win_shared_query(win, B, &bytes, &unit, &theirs);
        CHECK(theirs == NULL || (theirs[0] == 1 && theirs[1] == 1));
        MPI_Win_unlock_all(win);
    }
    MPI_Win_free(&win);
}

static void test(void)
{
    joins_readers();
    win_each_kind(leaves_nothing);
    locks_what_it_lends();
}
