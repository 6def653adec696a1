/* SPDX-License-Identifier: Apache-2.0
 * win_moves.c - put and get between windows of every kind: elements with gaps at either side, units and sizes of the target, large
 * messages, requests; what is not inside (12.3.1, 12.3.2, 12.3.5). Traps 7 and 9.
 * ranks: 1 2 3 tcp nodes
 */
#include "win.h"

#define WORDS 40000

static int right;
static int left;

static void contiguous(MPI_Win win, int *mine, const MPI_Aint *origin, int unit, int count)
{
    int *out = malloc((size_t)count * sizeof(int));
    int *in = calloc((size_t)count, sizeof(int));
    CHECK(out != NULL && in != NULL);
    for (int i = 0; i < count; i++)
        out[i] = rank * 1000 + i;
    MPI_Win_fence(0, win);
    MPI_Put(out, count, MPI_INT, right, origin[right] + 8 / unit, count, MPI_INT, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < count; i++)
        CHECK(mine[2 + i] == left * 1000 + i);
    CHECK(mine[0] == 0 && mine[1] == 0 && mine[2 + count] == 0);
    MPI_Get(in, count, MPI_INT, left, origin[left] + 8 / unit, count, MPI_INT, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < count; i++)
        CHECK(in[i] == (left + size - 1) % size * 1000 + i);
    memset(mine + 2, 0, (size_t)count * sizeof(int));
    free(out);
    free(in);
}

/* Every second double of 16, backwards at the origin, and blocks of two at the target. */
static void gaps(MPI_Win win, double *mine, const MPI_Aint *origin, int unit)
{
    MPI_Datatype backwards, blocks;
    double out[16], in[16];
    for (int i = 0; i < 16; i++) {
        out[i] = rank * 100 + i;
        in[i] = -1;
    }
    MPI_Type_vector(8, 1, -2, MPI_DOUBLE, &backwards);
    MPI_Type_vector(4, 2, 5, MPI_DOUBLE, &blocks);
    MPI_Type_commit(&backwards);
    MPI_Type_commit(&blocks);
    MPI_Win_fence(0, win);
    MPI_Put(out + 15, 1, backwards, right, origin[right] + 16 / unit, 1, blocks, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 8; i++)
        CHECK(mine[2 + i / 2 * 5 + i % 2] == left * 100 + 15 - 2 * i);
    CHECK(mine[4] == 0 && mine[5] == 0 && mine[6] == 0);
    MPI_Get(in + 15, 1, backwards, rank, origin[rank] + 16 / unit, 1, blocks, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 8; i++)
        CHECK(in[15 - 2 * i] == left * 100 + 15 - 2 * i && in[14 - 2 * i] == -1);
    memset(mine, 0, 32 * sizeof(double));
    MPI_Type_free(&backwards);
    MPI_Type_free(&blocks);
}

/* Trap 9: forms with a request and elements with gaps. */
static void requests(MPI_Win win, double *mine, const MPI_Aint *origin, int unit)
{
    MPI_Datatype type;
    MPI_Request request[2];
    double out[64], in[64];
    for (int i = 0; i < 64; i++) {
        out[i] = rank + i * 0.5;
        in[i] = -1;
    }
    MPI_Type_vector(16, 2, 4, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Win_lock_all(0, win);
    MPI_Rput(out, 1, type, right, origin[right] / 1, 1, type, win, &request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Win_flush(right, win);
    MPI_Rget(in, 1, type, right, origin[right], 1, type, win, &request[0]);
    MPI_Rget(in + 2, 0, type, right, origin[right], 0, type, win, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 64; i++)
        CHECK(in[i] == (i % 4 < 2 ? out[i] : -1));
    MPI_Rput(out, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, 1, MPI_DOUBLE, win, &request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(mine[1] == left + 0.5 && mine[2] == 0);
    memset(mine, 0, 64 * sizeof(double));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&type);
    (void)unit;
}

static void of_kind(int kind, int unit)
{
    MPI_Aint origin[64];
    void *base;
    MPI_Win win = win_make(kind, WORDS * (MPI_Aint)sizeof(int), unit, &base, origin);
    const int units = kind == 3 ? 1 : unit;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    contiguous(win, base, origin, units, 1);
    contiguous(win, base, origin, units, 1000);
    contiguous(win, base, origin, units, WORDS - 3);
    gaps(win, base, origin, units);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    requests(win, base, origin, units);
    win_end(kind, &win, base);
}

/* Trap 7: 64 bytes of unit 4 at rank 0; none, of unit 1, at the others. */
static void unequal(void)
{
    int memory[16] = {0};
    const int mine = 10 + rank;
    MPI_Win win;
    MPI_Win_create(rank == 0 ? memory : NULL, rank == 0 ? 64 : 0, rank == 0 ? 4 : 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, win);
    if (rank == size - 1) {
        CHECK(MPI_Put(&mine, 1, MPI_INT, 0, 3, 1, MPI_INT, win) == MPI_SUCCESS);
        CHECK(MPI_Put(&mine, 1, MPI_INT, 0, 15, 1, MPI_INT, win) == MPI_SUCCESS);
        CHECK(MPI_Put(&mine, 1, MPI_INT, 0, 16, 1, MPI_INT, win) == MPI_ERR_RMA_RANGE);
        CHECK(MPI_Put(&mine, 1, MPI_INT, 0, -1, 1, MPI_INT, win) == MPI_ERR_DISP);
        CHECK(MPI_Put(&mine, 1, MPI_INT, 0, (MPI_Aint)1 << 62, 1, MPI_INT, win) == MPI_ERR_RMA_RANGE);
        CHECK(MPI_Put(&mine, 0, MPI_INT, 0, 0, 1, MPI_INT, win) == MPI_ERR_TRUNCATE);
        CHECK(MPI_Put(&mine, 1, MPI_INT, MPI_PROC_NULL, 99, 1, MPI_INT, win) == MPI_SUCCESS);
    }
    if (rank > 0)
        CHECK(MPI_Put(&mine, 1, MPI_BYTE, rank, 0, 1, MPI_BYTE, win) == MPI_ERR_RMA_RANGE);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (rank == 0)
        CHECK(memory[3] == 10 + size - 1 && memory[15] == 10 + size - 1 && memory[0] == 0);
    MPI_Win_free(&win);
}

static void test(void)
{
    const int shares = win_kinds_shared();
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (int kind = 0; kind < WIN_KINDS; kind++)
        for (int unit = 1; unit <= 4 && (kind != 2 || shares); unit += 3)
            of_kind(kind, unit);
    unequal();
}
