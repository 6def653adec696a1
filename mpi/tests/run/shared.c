/* SPDX-License-Identifier: Apache-2.0
 * shared.c - says which ranks share a host with this one, by MPI_COMM_TYPE_SHARED: of MPI_COMM_WORLD, and of an intercommunicator
 * of its halves (nobody where a half has none). Started by launchers.py.
 */
#include "rule.h"

/* "0 2 " of a group. */
static void list(char *text, MPI_Group group)
{
    MPI_Group world;
    int n;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(group, &n);
    for (int i = 0; i < n; i++) {
        int found;
        MPI_Group_translate_ranks(group, 1, &i, world, &found);
        text += sprintf(text, "%d ", found);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&group);
}

static void of_halves(char *text)
{
    const int is_upper = rank >= size / 2;
    MPI_Comm half;
    MPI_Comm inter;
    MPI_Comm shared;
    MPI_Group group;
    MPI_Comm_split(MPI_COMM_WORLD, is_upper, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_upper ? 0 : size / 2, 0, &inter);
    MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
    if (shared != MPI_COMM_NULL) {
        MPI_Comm_remote_group(shared, &group);
        list(text, group);
        MPI_Comm_free(&shared);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void test(void)
{
    char near[256] = "";
    char across[256] = "";
    MPI_Comm shared;
    MPI_Group group;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
    MPI_Comm_group(shared, &group);
    list(near, group);
    MPI_Comm_free(&shared);
    MPI_Comm_split_type(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
    CHECK((shared == MPI_COMM_NULL) == (rank == 0));
    if (shared != MPI_COMM_NULL)
        MPI_Comm_free(&shared);
    of_halves(across);
    printf("rank %d: shares with %sacross with %s\n", rank, near, across);
}
