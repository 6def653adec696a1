/* SPDX-License-Identifier: Apache-2.0
 * win.h - what the programs of windows share: windows of every kind with the same bytes.
 */
#ifndef WIN_H
#define WIN_H

#include "rule.h"

#define WIN_KINDS 4

/* A window of `bytes` bytes with this unit at each rank, all bytes 0. kind: 0 created, 1 allocated, 2 shared, 3 dynamic.
 * *base_p: this rank's memory. *origin_p: what a displacement of 0 is at each rank: 0, or the address of a dynamic window's
 * memory in units. */
__attribute__((unused)) static MPI_Win win_make(int kind, MPI_Aint bytes, int unit, void **base_p, MPI_Aint *origin)
{
    MPI_Win win;
    MPI_Aint mine = 0;
    if (kind == 0 || kind == 3) {
        *base_p = malloc((size_t)bytes + 1);
        CHECK(*base_p != NULL);
    }
    if (kind == 0)
        MPI_Win_create(*base_p, bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    else if (kind == 1)
        MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, base_p, &win);
    else if (kind == 2)
        MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, base_p, &win);
    else
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (kind == 3) {
        MPI_Win_attach(win, *base_p, bytes);
        MPI_Get_address(*base_p, &mine);
    }
    if (bytes > 0)
        memset(*base_p, 0, (size_t)bytes);
    MPI_Allgather(&mine, 1, MPI_AINT, origin, 1, MPI_AINT, MPI_COMM_WORLD);
    return win;
}

__attribute__((unused)) static void win_end(int kind, MPI_Win *win, void *base)
{
    if (kind == 3)
        MPI_Win_detach(*win, base);
    MPI_Win_free(win);
    if (kind == 0 || kind == 3)
        free(base);
}

/* Whether the ranks can map each other's memory, so that there are windows of kind 2: not of several hosts, nor over TCP alone. */
__attribute__((unused)) static int win_kinds_shared(void)
{
    MPI_Win win;
    void *base;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int code = MPI_Win_allocate_shared(4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    CHECK(code == MPI_SUCCESS || code == MPI_ERR_RMA_SHARED || code == MPI_ERR_OTHER);
    if (code == MPI_SUCCESS)
        MPI_Win_free(&win);
    return code == MPI_SUCCESS;
}

/* Calls it for each kind of window that there is. */
__attribute__((unused)) static void win_each_kind(void (*of_kind)(int kind))
{
    const int shares = win_kinds_shared();
    for (int kind = 0; kind < WIN_KINDS; kind++)
        if (kind != 2 || shares)
            of_kind(kind);
}

#endif
