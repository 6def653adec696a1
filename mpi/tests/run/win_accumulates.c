/* SPDX-License-Identifier: Apache-2.0
 * win_accumulates.c - the accumulate family is atomic for each element, whatever calls are mixed, and takes elements of every shape
 * (12.3.4, 12.7.1). Traps 2 to 6.
 * ranks: 2 4 tcp nodes
 */
#include <complex.h>

#include "win.h"

#define ROUNDS 60

static int right;
static int left;

/* Trap 3: two calls on one element by two neighbours. */
static void mixed(int kind)
{
    enum { COUNT = 1024 };
    static int ones[COUNT];
    MPI_Aint origin[64];
    const int one = 1;
    int before;
    int *mine;
    MPI_Win win = win_make(kind, COUNT * 4, 1, (void **)&mine, origin);
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Accumulate(ones, COUNT, MPI_INT, left, origin[left], COUNT, MPI_INT, MPI_SUM, win);
        MPI_Fetch_and_op(&one, &before, MPI_INT, right, origin[right], MPI_SUM, win);
        MPI_Win_flush_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    CHECK(mine[0] == 2 * ROUNDS);
    for (int i = 1; i < COUNT; i++)
        CHECK(mine[i] == ROUNDS);
    MPI_Barrier(MPI_COMM_WORLD);
    win_end(kind, &win, mine);
}

/* Trap 2: MPI_NO_OP reads as one step, and looks at no argument of the origin. */
static void no_op(int kind)
{
    MPI_Aint origin[64];
    double complex *mine;
    const double complex one = 1 + 1 * I;
    MPI_Win win = win_make(kind, sizeof(*mine), 1, (void **)&mine, origin);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 100; i++) {
        double complex seen = -1;
        if (rank % 2 == 1)
            MPI_Accumulate(&one, 1, MPI_C_DOUBLE_COMPLEX, 0, origin[0], 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, win);
        MPI_Get_accumulate(NULL, 0, MPI_BYTE, &seen, 1, MPI_C_DOUBLE_COMPLEX, 0, origin[0], 1, MPI_C_DOUBLE_COMPLEX,
                           MPI_NO_OP, win);
        MPI_Win_flush(0, win);
        CHECK(creal(seen) == cimag(seen) && creal(seen) >= 0);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        CHECK(creal(*mine) == 100 * (size / 2));
    win_end(kind, &win, mine);
}

/* Trap 4: the lower bound of the origin's type counts; MPI_BOTTOM with an address. */
static void derived(int kind)
{
    MPI_Aint origin[64], at, four = 4;
    MPI_Datatype type, absolute;
    const int length = 1;
    int *mine, loc[2] = {-2, rank}, result[2] = {-3, -3};
    MPI_Win win = win_make(kind, 64, 1, (void **)&mine, origin);
    MPI_Type_create_hindexed(1, &length, &four, MPI_INT, &type);
    MPI_Get_address(&loc[1], &at);
    MPI_Type_create_hindexed(1, &length, &at, MPI_INT, &absolute);
    MPI_Type_commit(&type);
    MPI_Type_commit(&absolute);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Accumulate(loc, 1, type, right, origin[right], 1, MPI_INT, MPI_REPLACE, win);
    MPI_Accumulate(MPI_BOTTOM, 1, absolute, right, origin[right] + 8, 1, MPI_INT, MPI_REPLACE, win);
    MPI_Get_accumulate(loc, 1, type, result, 1, type, right, origin[right], 1, MPI_INT, MPI_SUM, win);
    MPI_Win_flush(right, win);
    CHECK(result[0] == -3 && result[1] == rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    CHECK(mine[0] == 2 * left && mine[1] == 0 && mine[2] == left);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&type);
    MPI_Type_free(&absolute);
    win_end(kind, &win, mine);
}

/* Trap 5: pairs have holes. */
typedef struct short_int {
    short value;
    int index;
} short_int_t;

static void pairs(int kind)
{
    enum { COUNT = 100 };
    MPI_Aint origin[64];
    MPI_Datatype spread;
    short_int_t *mine, out[2 * COUNT];
    MPI_Win win = win_make(kind, COUNT * (MPI_Aint)sizeof(*mine), 1, (void **)&mine, origin);
    memset(out, 0xee, sizeof(out));
    for (int i = 0; i < COUNT; i++) {
        mine[i] = (short_int_t){50, 0};
        out[2 * i] = (short_int_t){(short)i, 1};
    }
    MPI_Type_vector(COUNT, 1, 2, MPI_SHORT_INT, &spread);
    MPI_Type_commit(&spread);
    MPI_Win_fence(0, win);
    MPI_Accumulate(out, 1, spread, right, origin[right], COUNT, MPI_SHORT_INT, MPI_MAXLOC, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    for (int i = 0; i < COUNT; i++)
        CHECK(mine[i].value == (i <= 50 ? 50 : i) && mine[i].index == (i <= 50 ? 0 : 1));
    MPI_Type_free(&spread);
    win_end(kind, &win, mine);
}

/* Trap 6: every width, at the very end of the window. */
static void widths(int kind)
{
    const MPI_Datatype types[] = {MPI_BYTE,    MPI_INT8_T, MPI_INT16_T, MPI_INT32_T,
                                  MPI_INT64_T, MPI_C_BOOL, MPI_UINT64_T};
    MPI_Aint origin[64];
    unsigned char *mine;
    MPI_Win win = win_make(kind, 64, 1, (void **)&mine, origin);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]) && rank == 0; i++) {
        int width;
        uint64_t zero = 0, one = 1, before = 0;
        MPI_Type_size(types[i], &width);
        const MPI_Aint last = origin[1] + 64 - width;
        MPI_Compare_and_swap(&one, &zero, &before, types[i], 1, last, win);
        MPI_Win_flush(1, win);
        CHECK(before == 0);
        MPI_Compare_and_swap(&zero, &zero, &before, types[i], 1, last, win);
        MPI_Win_flush(1, win);
        CHECK(before == 1);
        MPI_Compare_and_swap(&zero, &one, &before, types[i], 1, last, win);
        MPI_Win_flush(1, win);
        CHECK(before == 1);
        if (kind != 3)
            CHECK(MPI_Compare_and_swap(&one, &zero, &before, types[i], 1, last + 1, win) == MPI_ERR_RMA_RANGE);
    }
    if (rank == 0) {
        long double part = 2.5L, before = -1;
        CHECK(MPI_Fetch_and_op(&part, &before, MPI_LONG_DOUBLE, 1, origin[1] + 16, MPI_SUM, win) == MPI_SUCCESS);
        CHECK(MPI_Fetch_and_op(&part, &part, MPI_DOUBLE_INT, 1, origin[1], MPI_SUM, win) == MPI_ERR_OP);
        CHECK(MPI_Compare_and_swap(&part, &part, &part, MPI_DOUBLE, 1, origin[1], win) == MPI_ERR_TYPE);
        MPI_Win_flush(1, win);
        CHECK(before == 0);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        CHECK(*(long double *)(void *)(mine + 16) == 2.5L);
    win_end(kind, &win, mine);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

/* Not by functions of the program: of many handles, since some look like predefined ones in their last byte. */
static void own_operations(MPI_Win win, const int *mine)
{
    MPI_Op ops[64];
    for (int i = 0; i < 64; i++) {
        MPI_Op_create(add, 1, &ops[i]);
        CHECK(MPI_Accumulate(mine, 1, MPI_INT, right, 0, 1, MPI_INT, ops[i], win) == MPI_ERR_OP);
    }
    for (int i = 0; i < 64; i++)
        MPI_Op_free(&ops[i]);
}

/* MPI_NO_OP ignores address, count and datatype of the origin, whatever they are; other operations do not. Only calls that return
 * elements take it (12.3.4). */
static void ignored_arguments(MPI_Win win, int *mine)
{
    void *const nowhere = (void *)1;
    const MPI_Datatype none = (MPI_Datatype)(uintptr_t)0xdead0;
    MPI_Request request;
    int seen;
    *mine = 40 + rank;
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int count = -1; count < 2; count++) {
        seen = -1;
        CHECK(MPI_Get_accumulate(nowhere, count, none, &seen, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_NO_OP, win) ==
              MPI_SUCCESS);
        MPI_Win_flush(right, win);
        CHECK(seen == 40 + right);
        seen = -1;
        CHECK(MPI_Rget_accumulate_c(nowhere, count * ((MPI_Count)1 << 40), none, &seen, 1, MPI_INT, right, 0, 1,
                                    MPI_INT, MPI_NO_OP, win, &request) == MPI_SUCCESS);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(seen == 40 + right);
    }
    seen = -1;
    CHECK(MPI_Fetch_and_op(nowhere, &seen, MPI_INT, right, 0, MPI_NO_OP, win) == MPI_SUCCESS);
    MPI_Win_flush(right, win);
    CHECK(seen == 40 + right);
    CHECK(MPI_Get_accumulate(mine, -1, MPI_INT, &seen, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, win) ==
          MPI_ERR_COUNT);
    CHECK(MPI_Accumulate(mine, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_NO_OP, win) == MPI_ERR_OP);
    CHECK(MPI_Raccumulate(mine, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_NO_OP, win, &request) == MPI_ERR_OP);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
}

/* Nor on elements of several types. */
static void refused(void)
{
    int seen;
    MPI_Aint origin[64];
    MPI_Datatype both, old[2] = {MPI_INT, MPI_DOUBLE};
    MPI_Aint at[2] = {0, 8};
    const int lengths[2] = {1, 1};
    int *mine;
    MPI_Win win = win_make(1, 64, 1, (void **)&mine, origin);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Type_create_struct(2, lengths, at, old, &both);
    MPI_Type_commit(&both);
    MPI_Win_fence(0, win);
    CHECK(MPI_Accumulate(mine, 1, both, right, 0, 1, both, MPI_SUM, win) == MPI_ERR_TYPE);
    CHECK(MPI_Accumulate(mine, 1, MPI_DOUBLE, right, 0, 1, MPI_INT64_T, MPI_SUM, win) == MPI_ERR_TYPE);
    CHECK(MPI_Accumulate(mine, 2, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, win) == MPI_ERR_TRUNCATE);
    CHECK(MPI_Accumulate(mine, 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE, MPI_BAND, win) == MPI_ERR_OP);
    CHECK(MPI_Get_accumulate(mine, 1, MPI_DATATYPE_NULL, &seen, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, win) ==
          MPI_ERR_TYPE);
    own_operations(win, mine);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    ignored_arguments(win, mine);
    MPI_Type_free(&both);
    win_end(1, &win, mine);
}

static void of_kind(int kind)
{
    mixed(kind);
    no_op(kind);
    derived(kind);
    pairs(kind);
    widths(kind);
}

static void test(void)
{
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    win_each_kind(of_kind);
    refused();
}
