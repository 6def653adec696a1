/* SPDX-License-Identifier: Apache-2.0
 * pscw.c - active target synchronisation of groups (MPI 5.0, 12.5.2): post, start, complete, wait. A target tells each origin of a
 * post; an origin tells each target when its calls have ended there. Each side counts these messages, which may come an epoch
 * ahead.
 */
#include "err/err.h"
#include "group/group.h"
#include "mpi_impl.h"
#include "win/epoch.h"
#include "win/flush.h"
#include "win/message.h"

/* The ranks of the group, all of which are in the window, counted once more. An empty group is one, too. */
static int members(const mpi_win_t *win, MPI_Group group, rt_group_t **ranks_p)
{
    const int rc = group_find(group, "group", ranks_p);
    if (rc != MPI_SUCCESS)
        return rc;
    for (int i = 0; i < (*ranks_p)->size; i++)
        if (rt_group_find(win->comm->ranks, rt_group_world(*ranks_p, i)) < 0)
            return err_set(MPI_ERR_GROUP, "rank %d of the group is not in the window", i);
    (*ranks_p)->refs++;
    return MPI_SUCCESS;
}

static int rank_of(const mpi_win_t *win, const rt_group_t *group, int i)
{
    return rt_group_find(win->comm->ranks, rt_group_world(group, i));
}

static int tell(mpi_win_t *win, const rt_group_t *group, win_kind_t kind)
{
    int first = MPI_SUCCESS;
    for (int i = 0; i < group->size; i++) {
        win_header_t header = {.kind = (uint8_t)kind};
        const int rc = win_say(win, rank_of(win, group, i), WIN_AM_CALL, &header, NULL, 0);
        first = first == MPI_SUCCESS ? rc : first;
    }
    return first;
}

static int check_assert(int assert, int known, const char *what)
{
    return (assert & ~known) == 0
               ? MPI_SUCCESS
               : err_set(MPI_ERR_ASSERT, "assert is 0x%x, which %s does not know", (unsigned)assert, what);
}

/* A window is not locked and exposed at the same time; locks of other ranks' memory may be held (12.5.3). */
static int locks_itself(const mpi_win_t *win)
{
    const win_target_t *own = win_target_known(win, win->comm->ranks->rank);
    return win->epoch == WIN_LOCK_ALL || (win->epoch == WIN_LOCK && own != NULL && own->lock != WIN_UNLOCKED);
}

int mpi_Win_post(MPI_Group group, int assert, MPI_Win win)
{
    mpi_win_t *found = win_of(win);
    rt_group_t *ranks;
    int rc = check_assert(assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT, "MPI_Win_post");
    if (rc == MPI_SUCCESS && found->post != NULL)
        rc = err_set(MPI_ERR_RMA_SYNC, "an epoch of exposure is open: MPI_Win_wait comes first");
    if (rc == MPI_SUCCESS && locks_itself(found))
        rc = win_epoch_check_begin(found, "MPI_Win_post");
    rc = rc == MPI_SUCCESS ? members(found, group, &ranks) : rc;
    if (rc != MPI_SUCCESS)
        return rc;
    found->post = ranks;
    win_gate_expose(found->gate, 1);
    return tell(found, ranks, WIN_POST);
}

/* Waits for one count of each rank of the group, and takes it. */
static int await(mpi_win_t *win, const rt_group_t *group, size_t counter, const char *what)
{
    rt_wait_t wait = RT_WAIT;
    int rc = MPI_SUCCESS;
    for (int i = 0; i < group->size && rc == MPI_SUCCESS; i++) {
        const int rank = rank_of(win, group, i);
        win_target_t *target = win_target(win, rank);
        unsigned *count = target == NULL ? NULL : (unsigned *)(void *)((char *)target + counter);
        rc = count == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
        while (rc == MPI_SUCCESS && *count == 0 && (rc = win_check_alive(win, rank, what)) == MPI_SUCCESS)
            rt_wait_step(&wait);
        if (rc == MPI_SUCCESS)
            --*count;
    }
    return rc;
}

int mpi_Win_start(MPI_Group group, int assert, MPI_Win win)
{
    mpi_win_t *found = win_of(win);
    rt_group_t *ranks;
    int rc = check_assert(assert, MPI_MODE_NOCHECK, "MPI_Win_start");
    rc = rc == MPI_SUCCESS ? win_epoch_check_begin(found, "MPI_Win_start") : rc;
    rc = rc == MPI_SUCCESS ? members(found, group, &ranks) : rc;
    if (rc != MPI_SUCCESS)
        return rc;
    found->start = ranks;
    found->epoch = WIN_START;
    rc = await(found, ranks, offsetof(win_target_t, posts), "MPI_Win_start");
    if (rc == MPI_SUCCESS)
        return MPI_SUCCESS;
    found->start = NULL;
    found->epoch = WIN_NO_EPOCH;
    rt_group_release(ranks);
    return rc;
}

int mpi_Win_complete(MPI_Win win)
{
    mpi_win_t *found = win_of(win);
    rt_group_t *ranks = found->start;
    if (found->epoch != WIN_START)
        return err_set(MPI_ERR_RMA_SYNC, "no epoch of MPI_Win_start is open");
    const int flushed = win_flush_all(found, 1);
    const int told = tell(found, ranks, WIN_COMPLETE);
    found->start = NULL;
    found->epoch = WIN_NO_EPOCH;
    rt_group_release(ranks);
    return flushed != MPI_SUCCESS ? flushed : told;
}

static int end_exposure(mpi_win_t *win)
{
    rt_group_t *ranks = win->post;
    const int rc = await(win, ranks, offsetof(win_target_t, completes), "MPI_Win_wait");
    win->post = NULL;
    win_gate_expose(win->gate, 0);
    rt_group_release(ranks);
    return rc;
}

static int check_posted(const mpi_win_t *win)
{
    return win->post != NULL ? MPI_SUCCESS : err_set(MPI_ERR_RMA_SYNC, "no epoch of MPI_Win_post is open");
}

int mpi_Win_wait(MPI_Win win)
{
    const int rc = check_posted(win_of(win));
    return rc != MPI_SUCCESS ? rc : end_exposure(win_of(win));
}

static int all_complete(const mpi_win_t *win)
{
    for (int i = 0; i < win->post->size; i++) {
        const win_target_t *target = win_target_known(win, rank_of(win, win->post, i));
        if (target == NULL || target->completes == 0)
            return 0;
    }
    return 1;
}

int mpi_Win_test(MPI_Win win, int *flag)
{
    mpi_win_t *found = win_of(win);
    const int rc = check_posted(found);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!all_complete(found))
        rt_look();
    *flag = all_complete(found);
    for (int i = 0, alive = MPI_SUCCESS; !*flag && i < found->post->size; i++)
        if ((alive = win_check_alive(found, rank_of(found, found->post, i), "MPI_Win_test")) != MPI_SUCCESS)
            return alive;
    return *flag ? end_exposure(found) : MPI_SUCCESS;
}
