/* SPDX-License-Identifier: Apache-2.0
 * win_shared.c - shared windows are one piece of memory, also with ranks of size 0, and are reached by loads and stores (12.2.3,
 * 12.7). Trap 1.
 * ranks: 1 2 3 4
 */
#include "win.h"

static char *query(MPI_Win win, int target, MPI_Aint expected)
{
    MPI_Aint bytes;
    char *base;
    int unit;
    MPI_Win_shared_query(win, target, &bytes, &unit, &base);
    CHECK(bytes == expected && unit == 1);
    return base;
}

static void some_empty(void)
{
    MPI_Win win;
    char *mine, *end = NULL;
    const MPI_Aint bytes = rank % 2 == 0 ? 64 : 0;
    MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    CHECK(query(win, rank, bytes) == mine && query(win, MPI_PROC_NULL, 64) == query(win, 0, 64));
    for (int i = 0; i < size; i++) {
        char *start = query(win, i, i % 2 == 0 ? 64 : 0);
        CHECK(start != NULL && (end == NULL || start == end));
        end = start + (i % 2 == 0 ? 64 : 0);
    }
    MPI_Win_free(&win);
    MPI_Win_allocate_shared(0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    MPI_Win_free(&win);
}

static void loads_and_stores(const char *apart)
{
    MPI_Info info;
    MPI_Win win;
    int *mine;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", apart);
    MPI_Win_allocate_shared(4, 1, info, MPI_COMM_WORLD, &mine, &win);
    MPI_Info_free(&info);
    MPI_Win_fence(0, win);
    *mine = 40 + rank;
    MPI_Win_fence(0, win);
    for (int i = 0; i < size; i++)
        CHECK(*(const int *)(void *)query(win, i, 4) == 40 + i);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_free(&win);
}

/* Of other windows: allocated memory of this host is mapped, the program's is not; dynamic windows have none. */
static void others(void)
{
    static int word;
    MPI_Win win;
    MPI_Aint bytes;
    int unit;
    int *base, *mine;
    MPI_Win_allocate(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    *mine = rank;
    MPI_Win_fence(0, win);
    MPI_Win_shared_query(win, (rank + 1) % size, &bytes, &unit, &base);
    CHECK(bytes == 4 && unit == 4 && *base == (rank + 1) % size);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_free(&win);
    MPI_Win_create(&word, 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_shared_query(win, rank, &bytes, &unit, &base);
    CHECK(bytes == 4 && base == &word);
    MPI_Win_shared_query(win, (rank + 1) % size, &bytes, &unit, &base);
    CHECK(size == 1 || (bytes == 0 && base == NULL));
    MPI_Win_free(&win);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK(MPI_Win_shared_query(win, rank, &bytes, &unit, &base) == MPI_ERR_RMA_FLAVOR);
    MPI_Win_free(&win);
}

static void test(void)
{
    some_empty();
    loads_and_stores("false");
    loads_and_stores("true");
    others();
}
