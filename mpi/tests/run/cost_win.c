/* SPDX-License-Identifier: Apache-2.0
 * cost_win.c - operations on the memory of another rank, for a tool that counts instructions (costs.py): all that comes before the
 * first cost_round() is warm. Usage: cost_win NAME, a name of `kinds`, with two ranks; rank 0 prints "operations N".
 */
#define RULE_OWN_MAIN
#include "rule.h"

#include <stdint.h>

#define ROUNDS 20
#define OPERATIONS 100 /* of a round */
#define TARGET 1

typedef void (*operation_fn)(MPI_Win win);

typedef struct kind {
    const char *name;
    operation_fn call;
} kind_t;

static int64_t value = 7;
static int64_t expected = 5;
static int64_t result;
static MPI_Win unlocked;

static void put(MPI_Win win)
{
    MPI_Put(&value, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, win);
}

static void get(MPI_Win win)
{
    MPI_Get(&result, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, win);
}

static void fetch_and_op(MPI_Win win)
{
    MPI_Fetch_and_op(&value, &result, MPI_INT64_T, TARGET, 1, MPI_SUM, win);
}

static void accumulate(MPI_Win win)
{
    MPI_Accumulate(&value, 1, MPI_INT64_T, TARGET, 1, 1, MPI_INT64_T, MPI_SUM, win);
}

static void swap(MPI_Win win)
{
    MPI_Compare_and_swap(&value, &expected, &result, MPI_INT64_T, TARGET, 1, win);
}

static void flush(MPI_Win win)
{
    MPI_Win_flush(TARGET, win);
}

/* Of another window: this one is locked. */
static void lock(MPI_Win win)
{
    (void)win;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, unlocked);
    MPI_Win_unlock(TARGET, unlocked);
}

static const kind_t kinds[] = {{"put", put},
                               {"get", get},
                               {"fetch_and_op", fetch_and_op},
                               {"accumulate", accumulate},
                               {"compare_and_swap", swap},
                               {"flush", flush},
                               {"lock", lock}};

void cost_round(operation_fn call, MPI_Win win); /* not static: callgrind finds it by name */

__attribute__((noinline)) void cost_round(operation_fn call, MPI_Win win)
{
    for (int i = 0; i < OPERATIONS; i++)
        call(win);
}

static operation_fn find(const char *name)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].call;
    return NULL;
}

int main(int argc, char **argv)
{
    int64_t *base;
    void *none;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const operation_fn call = argc == 2 ? find(argv[1]) : NULL;
    CHECK(size == 2 && call != NULL);
    MPI_Win_allocate(2 * sizeof(int64_t), sizeof(int64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    base[0] = base[1] = 0;
    MPI_Win_allocate(0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &none, &unlocked);
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t i = 0; rank == 0 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        kinds[i].call(win); /* makes the connection and the mapping */
    for (int i = 0; rank == 0 && i < ROUNDS; i++)
        cost_round(call, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank == 0 || base[0] == value);
    if (rank == 0)
        printf("operations %d\n", ROUNDS * OPERATIONS);
    MPI_Win_free(&unlocked);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
