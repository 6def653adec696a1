/* SPDX-License-Identifier: Apache-2.0
 * create.c - making and ending windows (MPI 5.0, 12.2). All of it is collective over the communicator.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "err/err.h"
#include "err/handler.h"
#include "info/info.h"
#include "mpi_impl.h"
#include "win/arrive.h"
#include "win/attr.h"
#include "win/epoch.h"
#include "win/hints.h"
#include "win/memory.h"
#include "win/shared.h"
#include "win/table.h"

static void destroy(mpi_win_t *win)
{
    while (win->waiters != NULL) {
        win_waiter_t *next = win->waiters->next;
        free(win->waiters);
        win->waiters = next;
    }
    while (win->regions != NULL) {
        win_region_t *next = win->regions->next;
        free(win->regions);
        win->regions = next;
    }
    win_targets_free(win);
    rt_group_release(win->start);
    rt_group_release(win->post);
    win_memory_end(win);
    if (win->comm != NULL &&
        win->comm->win != MPI_WIN_NULL) { /* requests that the program has not waited for keep it */
        win->comm->win = MPI_WIN_NULL;
        (void)err_handler_set(&win->comm->obj, OBJ_WIN, MPI_ERRORS_RETURN);
    }
    err_handler_release(win->obj.handler);
    if (win->info != MPI_INFO_NULL)
        info_destroy((mpi_info_t *)win->info);
    if (win->comm != NULL)
        comm_release(win->comm);
    obj_end(&win->obj);
    free(win);
}

static void set_up(mpi_win_t *win, int flavour, void *base, MPI_Aint size, MPI_Aint unit)
{
    win->obj.kind = OBJ_WIN;
    win->obj.refs = 1;
    win->obj.handler = MPI_ERRORS_ARE_FATAL;
    win->flavour = flavour;
    win->model = MPI_WIN_UNIFIED;
    win->base = base;
    win->size = size;
    win->exposed = size < 0 ? 0 : (size_t)size;
    win->unit = unit;
    win->small_unit = unit > INT_MAX ? MPI_UNDEFINED : (int)unit;
    win->waiters_end = &win->waiters;
    win->info = MPI_INFO_NULL;
}

/* All ranks fail alike: a rank that fails says so to the others, and whether memory was the cause. */
enum { FAILED = 1, NO_MEMORY = 2 };

static void or_of(const grp_reduce_t *reduce, const void *in, void *inout, size_t count)
{
    (void)reduce, (void)count;
    *(int *)inout |= *(const int *)in;
}

static int agree(mpi_comm_t *comm, int rc)
{
    const grp_reduce_t reduce = {.apply = or_of, .element = sizeof(int), .commutes = 1};
    int failed = rc == MPI_SUCCESS ? 0 : rc == MPI_ERR_NO_MEM ? NO_MEMORY : FAILED;
    const int status = grp_allreduce(&comm->grp, &failed, 1, &reduce);
    if (rc != MPI_SUCCESS)
        return rc;
    if (status < 0)
        return err_core((vbn_status_t)status, "window", grp_error());
    return failed == 0 ? MPI_SUCCESS
                       : err_set(failed == NO_MEMORY ? MPI_ERR_NO_MEM : MPI_ERR_OTHER,
                                 "another rank of comm could not make its part of the window%s",
                                 failed == NO_MEMORY ? ": it has no memory left" : "");
}

static int own_comm(mpi_comm_t *parent, mpi_comm_t **comm_p)
{
    MPI_Comm made;
    parent->ranks->refs++;
    const int rc = comm_create(parent, &parent->grp, parent->ranks, &made);
    if (rc != MPI_SUCCESS)
        return rc;
    *comm_p = comm_of(made);
    return err_handler_set(&(*comm_p)->obj, OBJ_COMM, MPI_ERRORS_ARE_FATAL); /* as the window's own: object.c */
}

/* All collectives are the parent's: a rank that has not got a communicator of the window takes part in them, too. The agreement at
 * the end also tells that every rank answers messages of the window. */
static int make(mpi_win_t *draft, MPI_Info info, MPI_Comm comm, int rc, MPI_Win *win_p)
{
    mpi_win_t *win = malloc(sizeof(*win));
    mpi_comm_t *parent = comm_of(comm);
    mpi_comm_t *own = NULL;
    const int made = own_comm(parent, &own);
    *win_p = MPI_WIN_NULL;
    rc = rc != MPI_SUCCESS ? rc : made;
    if (draft->flavour == MPI_WIN_FLAVOR_SHARED)
        rc = win_share(draft, parent, info, rc);
    if (rc == MPI_SUCCESS && win == NULL)
        rc = err_set(MPI_ERR_NO_MEM, "window: no memory left");
    if (rc == MPI_SUCCESS) {
        *win = *draft;
        win->comm = own;
        win->waiters_end = &win->waiters;
        if (win->gate == NULL)
            win->gate = &win->own_gate;
        rc = win_messages_open();
        rc = rc == MPI_SUCCESS ? win_hints_take(win, info) : rc;
        rc = rc == MPI_SUCCESS ? win_memory_register(win) : rc;
        win_enlist(win);
    } else {
        win_memory_end(draft);
        free(win);
        win = NULL;
    }
    rc = agree(parent, rc);
    if (rc == MPI_SUCCESS) {
        *win_p = (MPI_Win)win;
        own->win = *win_p;
        return MPI_SUCCESS;
    }
    if (win == NULL) {
        if (own != NULL)
            comm_release(own);
        return rc;
    }
    win_strike_off(win);
    destroy(win);
    return rc;
}

static int check_size(MPI_Aint size, MPI_Aint unit)
{
    if (size < 0)
        return err_set(MPI_ERR_SIZE, "size is %lld, which is negative", (long long)size);
    if (unit <= 0)
        return err_set(MPI_ERR_DISP, "disp_unit is %lld; units have 1 byte or more", (long long)unit);
    return MPI_SUCCESS;
}

int mpi_Win_create(void *base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    mpi_win_t draft = {0};
    int rc = check_size(size, disp_unit);
    if (rc == MPI_SUCCESS && base == NULL && size > 0)
        rc = err_set(MPI_ERR_BASE, "base is NULL, but size is %lld", (long long)size);
    set_up(&draft, MPI_WIN_FLAVOR_CREATE, base, size, disp_unit);
    return make(&draft, info, comm, rc, win);
}

int mpi_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    mpi_win_t draft = {0};
    set_up(&draft, MPI_WIN_FLAVOR_DYNAMIC, NULL, 0, 1); /* MPI_BOTTOM, 0, 1: 12.2.4 */
    return make(&draft, info, comm, MPI_SUCCESS, win);
}

int mpi_Win_allocate(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win)
{
    mpi_win_t draft = {0};
    int rc = check_size(size, disp_unit);
    if (rc == MPI_SUCCESS && baseptr == NULL)
        rc = err_set(MPI_ERR_ARG, "baseptr is NULL");
    set_up(&draft, MPI_WIN_FLAVOR_ALLOCATE, NULL, size, disp_unit);
    draft.alignment = info_alignment(info);
    rc = rc == MPI_SUCCESS ? win_memory_allocate(&draft) : rc;
    rc = make(&draft, info, comm, rc, win);
    if (rc == MPI_SUCCESS)
        memcpy(baseptr, &win_of(*win)->base, sizeof(void *));
    return rc;
}

int mpi_Win_allocate_shared(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
                            MPI_Win *win)
{
    mpi_win_t draft = {0};
    int rc = check_size(size, disp_unit);
    if (rc == MPI_SUCCESS && baseptr == NULL)
        rc = err_set(MPI_ERR_ARG, "baseptr is NULL");
    set_up(&draft, MPI_WIN_FLAVOR_SHARED, NULL, size, disp_unit);
    rc = make(&draft, info, comm, rc, win);
    if (rc == MPI_SUCCESS)
        memcpy(baseptr, &win_of(*win)->base, sizeof(void *));
    return rc;
}

/* Nobody accesses the window once all ranks are here: each has ended its calls. */
int mpi_Win_free(MPI_Win *win)
{
    mpi_win_t *found = win_of(*win);
    if (found == NULL)
        return err_set(MPI_ERR_WIN, "win is not a window (MPI_WIN_NULL, or freed)");
    int rc = win_epoch_check_free(found);
    if (rc == MPI_SUCCESS)
        rc = win_attr_delete_all(found);
    if (rc != MPI_SUCCESS)
        return rc;
    coll_enter(comm_handle(found->comm), "MPI_Win_free");
    const int status = grp_barrier(&found->comm->grp);
    coll_leave(comm_handle(found->comm));
    if (status < 0)
        return err_core((vbn_status_t)status, "MPI_Win_free", grp_error());
    win_strike_off(found);
    destroy(found);
    *win = MPI_WIN_NULL;
    return MPI_SUCCESS;
}
