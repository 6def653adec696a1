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

/* Three regions that touch are as good as one; what lies between the elements of a type need not be attached (12.2.4). */
static void adjacent(void)
{
    static int memory[12];
    const int out[4] = {1, 2, 3, 4};
    int in[4] = {0};
    MPI_Aint at;
    MPI_Datatype apart;
    memset(memory, 0, sizeof(memory));
    MPI_Win_attach(win, &memory[3], 4);
    MPI_Win_attach(win, &memory[0], 8);
    MPI_Win_attach(win, &memory[2], 4);
    MPI_Win_attach(win, &memory[8], 4);
    MPI_Get_address(memory, &at);
    MPI_Bcast(&at, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    MPI_Type_vector(2, 1, 5, MPI_INT, &apart);
    MPI_Type_commit(&apart);
    if (rank == size - 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(out, 4, MPI_INT, 0, at, 4, MPI_INT, win);
        CHECK(MPI_Win_flush(0, win) == MPI_SUCCESS);
        MPI_Accumulate(out, 4, MPI_INT, 0, at, 4, MPI_INT, MPI_SUM, win);
        CHECK(MPI_Win_flush(0, win) == MPI_SUCCESS);
        MPI_Get(in, 4, MPI_INT, 0, at, 4, MPI_INT, win);
        CHECK(MPI_Win_flush(0, win) == MPI_SUCCESS && in[0] == 2 && in[1] == 4 && in[2] == 6 && in[3] == 8);
        MPI_Accumulate(out, 2, MPI_INT, 0, at + 12, 1, apart, MPI_SUM, win);
        CHECK(MPI_Win_flush(0, win) == MPI_SUCCESS);
        MPI_Put(out, 2, MPI_INT, 0, at + 12, 1, apart, win);
        CHECK(MPI_Win_flush(0, win) == MPI_SUCCESS);
        MPI_Put(out, 4, MPI_INT, 0, at + 4, 4, MPI_INT, win); /* the last one is not attached */
        CHECK(MPI_Win_flush(0, win) == MPI_ERR_RMA_RANGE);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank > 0 || (memory[1] == 4 && memory[3] == 1 && memory[4] == 0 && memory[8] == 2));
    MPI_Type_free(&apart);
    for (int i = 0; i < 4; i++)
        MPI_Win_detach(win, &memory[(const int[]){0, 2, 3, 8}[i]]);
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
    adjacent();
    many();
    MPI_Win_free(&win);
    MPI_Win_create(&word, sizeof(word), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &created);
    MPI_Win_set_errhandler(created, MPI_ERRORS_RETURN);
    CHECK(MPI_Win_attach(created, &word, 4) == MPI_ERR_RMA_FLAVOR &&
          MPI_Win_detach(created, &word) == MPI_ERR_RMA_FLAVOR);
    MPI_Win_free(&created);
}
