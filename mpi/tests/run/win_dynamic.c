/* SPDX-License-Identifier: Apache-2.0
 * win_dynamic.c - memory that is attached and detached: several regions of a page, many regions, accesses outside of them (12.2.4).
 * Trap 12.
 * ranks: 1 2 3 tcp
 */
#include "win.h"

#define REGIONS 200

static MPI_Win win;
static MPI_Aint addresses[REGIONS];

static int put(int target, MPI_Aint at, int value)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Put(&value, 1, MPI_INT, target, at, 1, MPI_INT, win);
    return MPI_Win_unlock(target, win);
}

static int get(int target, MPI_Aint at, int *value)
{
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    const int now = MPI_Get(value, 1, MPI_INT, target, at, 1, MPI_INT, win);
    const int later = MPI_Win_unlock(target, win);
    return now != MPI_SUCCESS ? now : later;
}

static void one_page(void)
{
    char *page = malloc(4096);
    MPI_Aint at;
    int value = 0;
    CHECK(page != NULL);
    memset(page, 0, 4096);
    MPI_Win_attach(win, page, 64);
    MPI_Win_attach(win, page + 64, 64);
    CHECK(MPI_Win_attach(win, page + 100, 100) == MPI_ERR_RMA_ATTACH);
    MPI_Win_detach(win, page);
    CHECK(MPI_Win_detach(win, page) == MPI_ERR_RMA_ATTACH);
    MPI_Get_address(page + 64, &at);
    MPI_Bcast(&at, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    if (rank == size - 1) {
        CHECK(put(0, at, 17) == MPI_SUCCESS);
        CHECK(get(0, at, &value) == MPI_SUCCESS && value == 17);
        CHECK(put(0, at - 64, 18) == MPI_ERR_RMA_RANGE);     /* detached */
        CHECK(put(0, at + 62, 18) == MPI_ERR_RMA_RANGE);     /* half outside */
        CHECK(get(0, at - 64, &value) == MPI_ERR_RMA_RANGE); /* and reading */
        CHECK(get(0, at, &value) == MPI_SUCCESS && value == 17);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank > 0 || (page[0] == 0 && page[64] == 17 && page[126] == 0 && page[128] == 0));
    MPI_Win_detach(win, page + 64);
    free(page);
}

static void many(void)
{
    static int memory[2 * REGIONS];
    for (int i = 0; i < REGIONS; i++) {
        MPI_Win_attach(win, &memory[2 * i], sizeof(int));
        MPI_Get_address(&memory[2 * i], &addresses[i]);
    }
    MPI_Bcast(addresses, REGIONS, MPI_AINT, 0, MPI_COMM_WORLD);
    if (rank == size - 1)
        for (int i = 0; i < REGIONS; i++)
            CHECK(put(0, addresses[i], i + 1) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < REGIONS; i++)
        CHECK(rank > 0 || (memory[2 * i] == i + 1 && memory[2 * i + 1] == 0));
    for (int i = 0; i < REGIONS; i++)
        MPI_Win_detach(win, &memory[2 * i]);
}

static void test(void)
{
    MPI_Win created;
    int word;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK(MPI_Win_attach(win, &word, -1) == MPI_ERR_SIZE && MPI_Win_attach(win, NULL, 1) == MPI_ERR_BASE);
    one_page();
    many();
    MPI_Win_free(&win);
    MPI_Win_create(&word, sizeof(word), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &created);
    MPI_Win_set_errhandler(created, MPI_ERRORS_RETURN);
    CHECK(MPI_Win_attach(created, &word, 4) == MPI_ERR_RMA_FLAVOR &&
          MPI_Win_detach(created, &word) == MPI_ERR_RMA_FLAVOR);
    MPI_Win_free(&created);
}
