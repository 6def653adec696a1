/* SPDX-License-Identifier: Apache-2.0
 * groups.c - groups by lists, ranges and sets; a communicator of a group.
 * ranks: 1 3 4
 */
#include "rule.h"

static int count_of(MPI_Group group)
{
    int count;
    MPI_Group_size(group, &count);
    return count;
}

static void sets(MPI_Group world)
{
    MPI_Group even;
    MPI_Group rest;
    MPI_Group both;
    MPI_Group none;
    int result;
    int ranges[1][3] = {{0, size - 1, 2}};
    MPI_Group_range_incl(world, 1, ranges, &even);
    CHECK(count_of(even) == (size + 1) / 2);
    MPI_Group_range_excl(world, 1, ranges, &rest);
    MPI_Group_difference(world, even, &both);
    MPI_Group_compare(rest, both, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_free(&both);
    MPI_Group_union(even, rest, &both);
    MPI_Group_compare(both, world, &result);
    CHECK(result == (size < 3 ? MPI_IDENT : MPI_SIMILAR));
    MPI_Group_intersection(even, rest, &none);
    CHECK(none == MPI_GROUP_EMPTY && count_of(none) == 0);
    int place;
    MPI_Group_translate_ranks(world, 1, &rank, even, &place);
    CHECK(place == (rank % 2 == 0 ? rank / 2 : MPI_UNDEFINED));
    MPI_Group_rank(rest, &place);
    CHECK(place == (rank % 2 == 1 ? rank / 2 : MPI_UNDEFINED));
    MPI_Group_free(&even);
    if (rest != MPI_GROUP_EMPTY)
        MPI_Group_free(&rest);
    MPI_Group_free(&both);
    CHECK(both == MPI_GROUP_NULL);
}

static void communicator(MPI_Group world)
{
    int backwards[64];
    int place;
    MPI_Group group;
    MPI_Group again;
    MPI_Comm comm;
    for (int i = 0; i < size; i++)
        backwards[i] = size - 1 - i;
    MPI_Group_incl(world, size, backwards, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
    MPI_Comm_rank(comm, &place);
    CHECK(place == size - 1 - rank);
    MPI_Comm_group(comm, &again);
    int result;
    MPI_Group_compare(again, group, &result);
    CHECK(result == MPI_IDENT);
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
    CHECK(result == (size == 1 ? MPI_CONGRUENT : MPI_SIMILAR));
    MPI_Group_free(&again);
    MPI_Comm_free(&comm);
    MPI_Group_excl(group, 1, backwards, &again); /* without its first rank in the group: rank number size - 1 of it */
    MPI_Comm_create(MPI_COMM_WORLD, again, &comm);
    CHECK((comm == MPI_COMM_NULL) == (size - 1 - rank == size - 1));
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
    if (again != MPI_GROUP_EMPTY)
        MPI_Group_free(&again);
    MPI_Group_free(&group);
}

/* Only the members call; by node all ranks of mpiexec are together. */
static void members_only(MPI_Group world)
{
    int ranges[1][3] = {{0, size - 1, 2}};
    int sum = -1;
    MPI_Group even;
    MPI_Comm comm;
    MPI_Group_range_incl(world, 1, ranges, &even);
    if (rank % 2 == 0) {
        MPI_Comm_create_group(MPI_COMM_WORLD, even, 0x7fffffff, &comm);
        const int one = 1;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == (size + 1) / 2);
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&even);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    MPI_Comm_size(comm, &sum);
    CHECK(sum == size);
    MPI_Comm_free(&comm);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &comm);
    CHECK(comm == MPI_COMM_NULL);
}

static void test(void)
{
    MPI_Group world;
    int twice[2] = {0, 0};
    MPI_Group group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    CHECK(count_of(world) == size);
    sets(world);
    communicator(world);
    members_only(world);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Group_incl(world, 2, twice, &group)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Group_size(MPI_GROUP_NULL, twice)) == MPI_ERR_GROUP);
    int huge[1][3] = {{0, 0x7fffffff, 1}};
    CHECK(class_of(MPI_Group_range_incl(world, 1, huge, &group)) == MPI_ERR_RANK);
    MPI_Group_free(&world);
}
