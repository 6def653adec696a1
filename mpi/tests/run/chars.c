/* SPDX-License-Identifier: Apache-2.0
 * chars.c - operations on integers take MPI_CHAR as signed char, whatever char is to the compiler, in each reduction and form.
 * ranks: 1 3 tcp
 */
#include "rule.h"

#define MANY 1000

static signed char mine[4 * MANY];
static signed char wanted[4 * MANY];
static char got[4 * MANY];

static void same(int count)
{
    CHECK(memcmp(wanted, got, (size_t)count) == 0);
    memset(got, 0, sizeof(got));
}

#define BOTH(call, ...)                                                                                                \
    do {                                                                                                               \
        CHECK(MPI_##call(mine, wanted, __VA_ARGS__, MPI_SIGNED_CHAR, op, MPI_COMM_WORLD) == MPI_SUCCESS);              \
        CHECK(MPI_##call(mine, got, __VA_ARGS__, MPI_CHAR, op, MPI_COMM_WORLD) == MPI_SUCCESS);                        \
        same(MANY);                                                                                                    \
    } while (0)

static void each_reduction(MPI_Op op)
{
    int counts[4];
    MPI_Count large[4];
    for (int i = 0; i < size; i++)
        large[i] = counts[i] = MANY;
    BOTH(Allreduce, MANY);
    BOTH(Allreduce_c, MANY);
    BOTH(Scan, MANY);
    BOTH(Scan_c, MANY);
    BOTH(Reduce_scatter, counts);
    BOTH(Reduce_scatter_c, large);
    BOTH(Reduce_scatter_block, MANY);
    memset(wanted, 0, sizeof(wanted)); /* the first rank's result is undefined */
    BOTH(Exscan, MANY);
}

static void local_and_rooted(MPI_Op op)
{
    MPI_Request request;
    memset(wanted, 3, sizeof(wanted));
    memset(got, 3, sizeof(got));
    MPI_Reduce_local(mine, wanted, MANY, MPI_SIGNED_CHAR, op);
    MPI_Reduce_local(mine, got, MANY, MPI_CHAR, op);
    same(4 * MANY);
    memset(wanted, 3, sizeof(wanted));
    memset(got, 3, sizeof(got));
    MPI_Reduce_local_c(mine, wanted, MANY, MPI_SIGNED_CHAR, op);
    MPI_Reduce_local_c(mine, got, MANY, MPI_CHAR, op);
    same(4 * MANY);
    MPI_Ireduce(mine, wanted, MANY, MPI_SIGNED_CHAR, op, size - 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Ireduce(mine, got, MANY, MPI_CHAR, op, size - 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == size - 1)
        same(MANY);
}

static void test(void)
{
    const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN,  MPI_MAX, MPI_BAND,
                          MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR};
    const char below = -1;
    char least = 0;
    for (int i = 0; i < 4 * MANY; i++)
        mine[i] = (signed char)(i % 251 - 125 + 7 * rank);
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        each_reduction(ops[i]);
        local_and_rooted(ops[i]);
    }
    MPI_Reduce_local(&below, &least, 1, MPI_CHAR, MPI_MIN); /* -1, also where char is unsigned */
    CHECK(least == below);
}
