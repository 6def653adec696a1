/* SPDX-License-Identifier: Apache-2.0
 * from_groups.c - communicators of groups, made without a communicator; string tags tell two of them apart.
 * ranks: 1 2 4 5
 */
#include "rule.h"

static void whole(MPI_Group world)
{
    MPI_Comm comms[2];
    MPI_Errhandler handler;
    int result;
    MPI_Comm_create_from_group(world, "one", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comms[0]);
    MPI_Comm_create_from_group(world, "another", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comms[1]);
    MPI_Comm_compare(comms[0], MPI_COMM_WORLD, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_get_errhandler(comms[0], &handler);
    CHECK(handler == MPI_ERRORS_RETURN);
    MPI_Barrier(comms[0]);
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
}

/* Only the members call. */
static void odd_ones(MPI_Group world)
{
    int range[1][3] = {{1, size - 1, 2}};
    MPI_Group odd;
    MPI_Comm comm;
    int n;
    if (rank % 2 == 0)
        return;
    MPI_Group_range_incl(world, 1, range, &odd);
    MPI_Comm_create_from_group(odd, "odd", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Allreduce(&(int){1}, &n, 1, MPI_INT, MPI_SUM, comm);
    CHECK(n == size / 2);
    MPI_Group_free(&odd);
    MPI_Comm_free(&comm);
}

static void halves(MPI_Group world)
{
    int lower[1][3] = {{0, size / 2 - 1, 1}};
    int upper[1][3] = {{size / 2, size - 1, 1}};
    MPI_Group group[2];
    MPI_Comm inter;
    int n;
    const int side = rank >= size / 2;
    MPI_Group_range_incl(world, 1, lower, &group[0]);
    MPI_Group_range_incl(world, 1, upper, &group[1]);
    const int leader[2] = {0, size - size / 2 - 1};
    MPI_Intercomm_create_from_groups(group[side], leader[side], group[!side], leader[!side], "halves", MPI_INFO_NULL,
                                     MPI_ERRORS_ARE_FATAL, &inter);
    MPI_Comm_remote_size(inter, &n);
    CHECK(n == (side == 0 ? size - size / 2 : size / 2));
    MPI_Allreduce(&(int){1}, &n, 1, MPI_INT, MPI_SUM, inter);
    CHECK(n == (side == 0 ? size - size / 2 : size / 2));
    MPI_Comm_free(&inter);
    MPI_Group_free(&group[0]);
    MPI_Group_free(&group[1]);
}

static void test(void)
{
    MPI_Group world;
    MPI_Comm comm;
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    whole(world);
    odd_ones(world);
    if (size > 1)
        halves(world);
    MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "none", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    CHECK(comm == MPI_COMM_NULL);
    MPI_Comm_get_name(MPI_COMM_NULL, name, &length);
    CHECK(strcmp(name, "MPI_COMM_NULL") == 0);
    MPI_Group_free(&world);
}
