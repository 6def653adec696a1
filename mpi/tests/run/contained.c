/* SPDX-License-Identifier: Apache-2.0
 * contained.c - not a rule: windows of ranks in a control group, for containers.py. usage: contained MIB
 * A window of MIB at each rank fits, a second one does not: it is MPI_ERR_NO_MEM at all ranks and made at none, and nobody is
 * killed. What a freed window had is there for the next one.
 */
#define RULE_OWN_MAIN
#include "rule.h"

#define ROUNDS 2

typedef int maker_t(MPI_Aint bytes, char **base_p, MPI_Win *win_p);

static int allocate(MPI_Aint bytes, char **base_p, MPI_Win *win_p)
{
    return MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, base_p, win_p);
}

static int allocate_shared(MPI_Aint bytes, char **base_p, MPI_Win *win_p)
{
    return MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, base_p, win_p);
}

static void refuse(maker_t *make, MPI_Aint bytes)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    char *base;
    MPI_Win win = MPI_WIN_NULL;
    const int code = make(bytes, &base, &win);
    MPI_Error_string(code, text, &length);
    if (class_of(code) != MPI_ERR_NO_MEM)
        fprintf(stderr, "rank %d: %s\n", rank, text);
    CHECK(class_of(code) == MPI_ERR_NO_MEM && win == MPI_WIN_NULL);
    CHECK(strstr(text, "memory") != NULL);
}

static void in_turn(maker_t *make, MPI_Aint bytes)
{
    char *base;
    MPI_Win win;
    CHECK(make(bytes, &base, &win) == MPI_SUCCESS);
    memset(base, rank + 1, (size_t)bytes);
    refuse(make, bytes);
    refuse(make, rank == 0 ? 0 : 2 * bytes); /* for rank 0 alone there is memory */
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(base[0] == rank + 1 && base[bytes - 1] == rank + 1);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD); /* behind it all ranks have given their memory back */
}

int main(int argc, char **argv)
{
    const MPI_Aint bytes = argc == 2 ? (MPI_Aint)atoi(argv[1]) << 20 : 0;
    if (bytes <= 0)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < ROUNDS; i++) {
        in_turn(allocate, bytes);
        in_turn(allocate_shared, bytes);
    }
    MPI_Finalize();
    return 0;
}
