/* SPDX-License-Identifier: Apache-2.0
 * reduce_scatters.c - reduce_scatter with operations of the program, of which one does not commute; in place; parts of different
 * lengths, some of none; elements side by side and with gaps; few and many; each form, and counts of both kinds.
 * ranks: 1 2 3 6 8 9 tcp nodes
 */
#include "rule.h"

#define MOST 8000 /* matrices in all */

/* 2x2 matrices, whose product depends on the order. `step` longs from one to the next. */
static int step;
static MPI_Datatype type;
static MPI_Op op;
static long mine[MOST * 5];
static long result[MOST * 5];
static long expected[MOST][4];
static int counts[16];
static MPI_Count large[16];
static int first; /* matrix of this rank */

static void product(const long *a, long *b)
{
    const long both[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                          a[2] * b[1] + a[3] * b[3]};
    memcpy(b, both, sizeof(both));
}

static void multiply(void *in, void *inout, int *length, MPI_Datatype *of)
{
    CHECK(*of == type);
    for (int i = 0; i < *length; i++)
        product((const long *)in + i * step, (long *)inout + i * step);
}

static void sum(void *in, void *inout, int *length, MPI_Datatype *of)
{
    CHECK(*of == type);
    for (int i = 0; i < *length; i++)
        for (int k = 0; k < 4; k++)
            ((long *)inout)[i * step + k] += ((const long *)in)[i * step + k];
}

static long entry(int of, int i, int k)
{
    return k == 0 ? 1 : (of * 7 + i * 3 + k) % 5;
}

static void set(long *matrices, int count)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 4; k++)
            matrices[i * step + k] = entry(rank, i, k);
}

static void expect(int count, int commutes)
{
    for (int i = 0; i < count; i++) {
        for (int of = 0; of < size; of++) {
            long next[4];
            for (int k = 0; k < 4; k++)
                next[k] = entry(of, i, k) + (of > 0 && commutes ? expected[i][k] : 0);
            if (of > 0 && !commutes)
                product(expected[i], next);
            memcpy(expected[i], next, sizeof(next));
        }
    }
}

/* The result, and not a long behind it, nor in its gaps. */
static void check(const long *got, int count)
{
    for (int i = 0; i < count; i++) {
        CHECK(memcmp(got + i * step, expected[first + i], sizeof(expected[0])) == 0);
        CHECK(step == 4 || i + 1 == count || got[i * step + 4] == 17);
    }
}

static void clear(void)
{
    for (size_t i = 0; i < sizeof(result) / sizeof(result[0]); i++)
        result[i] = 17;
}

static void wait_for(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void each_form(int total)
{
    const int own = counts[rank];
    MPI_Request request;
    set(mine, total);
    clear();
    MPI_Reduce_scatter(mine, result, counts, type, op, MPI_COMM_WORLD);
    check(result, own);
    CHECK(result[own * step] == 17);
    clear();
    MPI_Ireduce_scatter_c(mine, result, large, type, op, MPI_COMM_WORLD, &request);
    wait_for(&request);
    check(result, own);
    CHECK(result[own * step] == 17);
    MPI_Reduce_scatter_init(MPI_IN_PLACE, result, counts, type, op, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int start = 0; start < 2; start++) {
        clear();
        set(result, total);
        MPI_Start(&request);
        wait_for(&request);
        check(result, own);
    }
    MPI_Request_free(&request);
}

static void blocks(int each)
{
    MPI_Request request;
    first = each * rank;
    set(mine, each * size);
    clear();
    MPI_Reduce_scatter_block(mine, result, each, type, op, MPI_COMM_WORLD);
    check(result, each);
    clear();
    MPI_Ireduce_scatter_block_c(mine, result, each, type, op, MPI_COMM_WORLD, &request);
    wait_for(&request);
    check(result, each);
}

/* Rank i gets (i + turn) % 3 parts of so many. */
static void lengths(int unit, int turn)
{
    int total = 0;
    for (int i = 0; i < size; i++) {
        counts[i] = (i + turn) % 3 * unit;
        large[i] = counts[i];
        first = i == rank ? total : first;
        total += counts[i];
    }
    each_form(total);
}

static void with(MPI_Op made, int commutes)
{
    static const int units[] = {1, 7, MOST / 18};
    op = made;
    expect(MOST, commutes);
    for (int i = 0; i < 3; i++) {
        for (int turn = 0; turn < 3; turn++)
            lengths(units[i], turn);
        blocks(units[i]);
    }
    MPI_Op_free(&made);
}

static void test(void)
{
    MPI_Datatype matrix;
    MPI_Op made;
    MPI_Type_contiguous(4, MPI_LONG, &matrix);
    for (step = 4; step <= 5; step++) {
        MPI_Type_create_resized(matrix, 0, step * (MPI_Aint)sizeof(long), &type);
        MPI_Type_commit(&type);
        MPI_Op_create(multiply, 0, &made);
        with(made, 0);
        MPI_Op_create(sum, 1, &made);
        with(made, 1);
        MPI_Type_free(&type);
    }
    MPI_Type_free(&matrix);
}
