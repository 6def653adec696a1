/* SPDX-License-Identifier: Apache-2.0
 * win_units.c - displacement units that an int cannot hold, in the large forms (12.2.1 to 12.2.3, 12.2.6).
 * ranks: 1 2 tcp nodes
 */
#include "win.h"

#define UNIT (((MPI_Aint)1 << 32) + 8)

/* Only displacement 0 is inside; the product of the other ones is more than the window, or than an address. */
static void accesses(MPI_Win win)
{
    const int next = (rank + 1) % size, out = 70 + rank;
    int in = -1;
    MPI_Win_fence(0, win);
    CHECK(MPI_Put(&out, 1, MPI_INT, next, 0, 1, MPI_INT, win) == MPI_SUCCESS);
    CHECK(MPI_Put(&out, 1, MPI_INT, next, 1, 1, MPI_INT, win) == MPI_ERR_RMA_RANGE);
    CHECK(MPI_Put(&out, 1, MPI_INT, next, (MPI_Aint)1 << 31, 1, MPI_INT, win) == MPI_ERR_RMA_RANGE);
    CHECK(MPI_Accumulate(&out, 1, MPI_INT, next, 1, 1, MPI_INT, MPI_SUM, win) == MPI_ERR_RMA_RANGE);
    MPI_Win_fence(0, win);
    CHECK(MPI_Get(&in, 1, MPI_INT, next, 0, 1, MPI_INT, win) == MPI_SUCCESS);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(in == out);
}

static void end(MPI_Win win, const void *base)
{
    MPI_Aint bytes, unit = 0;
    void *found;
    int *number, flag, small = 0;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    accesses(win);
    CHECK(MPI_Win_shared_query_c(win, rank, &bytes, &unit, &found) == MPI_SUCCESS);
    CHECK(bytes == 64 && unit == UNIT && found == base);
    CHECK(MPI_Win_shared_query(win, rank, &bytes, &small, &found) == MPI_SUCCESS && small == MPI_UNDEFINED);
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &number, &flag);
    CHECK(flag && *number == MPI_UNDEFINED);
    MPI_Win_free(&win);
}

static void test(void)
{
    const int shares = win_kinds_shared();
    static char memory[64];
    void *base;
    MPI_Win win;
    CHECK(MPI_Win_create_c(memory, 64, UNIT, MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS);
    end(win, memory);
    CHECK(MPI_Win_allocate_c(64, UNIT, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win) == MPI_SUCCESS);
    end(win, base);
    if (shares) {
        CHECK(MPI_Win_allocate_shared_c(64, UNIT, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win) == MPI_SUCCESS);
        end(win, base);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Win_create_c(memory, 64, -UNIT, MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_ERR_DISP);
    CHECK(MPI_Win_allocate_c(64, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win) == MPI_ERR_DISP);
}
