/* SPDX-License-Identifier: Apache-2.0
 * query.c - where other ranks' memory is mapped here (MPI 5.0, 12.2.3).
 */
#include <string.h>

#include "err/err.h"
#include "mpi_impl.h"
#include "win/take.h"

/* The rank itself; of MPI_PROC_NULL the first one with memory (12.2.3). NULL: none has memory. */
static int find(mpi_win_t *win, int *rank_p, win_target_t **target_p)
{
    if (*rank_p != MPI_PROC_NULL)
        return win_describe(win, *rank_p, target_p);
    for (int i = 0; i < win->comm->ranks->size; i++) {
        const int rc = win_describe(win, i, target_p);
        *rank_p = i;
        if (rc != MPI_SUCCESS || (*target_p)->size > 0)
            return rc;
    }
    *target_p = NULL;
    return MPI_SUCCESS;
}

/* E2: the program may load and store there from now on. */
static int lend(mpi_win_t *win, int rank, win_target_t *target)
{
    target->lent = 1;
    return win->epoch == WIN_LOCK_ALL && !win->nocheck ? win_lock_promised(win, rank) : MPI_SUCCESS;
}

/* Of memory that is not mapped here size and address are 0. */
int mpi_Win_shared_query(MPI_Win win, int rank, MPI_Aint *size, MPI_Aint *disp_unit, void *baseptr)
{
    mpi_win_t *found = win_of(win);
    win_target_t *target;
    if (found->flavour == MPI_WIN_FLAVOR_DYNAMIC)
        return err_set(MPI_ERR_RMA_FLAVOR,
                       "win was made by MPI_Win_create_dynamic: no rank has memory that others map");
    if (baseptr == NULL)
        return err_set(MPI_ERR_ARG, "baseptr is NULL");
    int rc = rank == MPI_PROC_NULL ? MPI_SUCCESS : win_check_rank(found, rank);
    rc = rc == MPI_SUCCESS ? find(found, &rank, &target) : rc;
    if (rc != MPI_SUCCESS)
        return rc;
    void *base = target == NULL ? NULL : target->near;
    if (base != NULL && (rc = lend(found, rank, target)) != MPI_SUCCESS)
        return rc;
    *size = base == NULL ? 0 : (MPI_Aint)target->size;
    *disp_unit = target == NULL ? 1 : (MPI_Aint)target->unit;
    memcpy(baseptr, &base, sizeof(base));
    return MPI_SUCCESS;
}
