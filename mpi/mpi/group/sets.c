/* SPDX-License-Identifier: Apache-2.0
 * sets.c - groups out of groups: union, intersection, difference, inclusion and exclusion by lists and ranges.
 */
#include <stdlib.h>
#include <string.h>

#include "err/err.h"
#include "group/group.h"
#include "mpi_impl.h"

typedef struct list {
    int *ranks; /* of the job */
    int count;
    mpi_session_t *session; /* of the group that they are derived of */
} list_t;

static int list_open(list_t *list, int room, MPI_Group from)
{
    *list = (list_t){.session = group_session(from), .ranks = malloc((size_t)(room > 0 ? room : 1) * sizeof(int))};
    return list->ranks != NULL ? MPI_SUCCESS : err_set(MPI_ERR_NO_MEM, "group of %d ranks: no memory left", room);
}

static int list_close(list_t *list, MPI_Group *newgroup)
{
    const int rc = group_make(rt_group_create(list->ranks, list->count), list->session, newgroup);
    free(list->ranks);
    return rc;
}

/* Ranks of a that are in b (wanted 1) or not (0), in the order of a. */
static void add_filtered(list_t *list, const rt_group_t *a, const rt_group_t *b, int wanted)
{
    for (int i = 0; i < a->size; i++) {
        const int world = rt_group_world(a, i);
        if ((rt_group_find(b, world) >= 0) == wanted)
            list->ranks[list->count++] = world;
    }
}

static void add_all(list_t *list, const rt_group_t *a)
{
    for (int i = 0; i < a->size; i++)
        list->ranks[list->count++] = rt_group_world(a, i);
}

typedef enum set { SET_UNION, SET_INTERSECTION, SET_DIFFERENCE } set_t;

static int combine(MPI_Group group1, MPI_Group group2, set_t set, MPI_Group *newgroup)
{
    rt_group_t *a;
    rt_group_t *b;
    list_t list;
    int rc = group_find(group1, "group1", &a);
    if (rc == MPI_SUCCESS)
        rc = group_find(group2, "group2", &b);
    if (rc == MPI_SUCCESS)
        rc = list_open(&list, a->size + b->size, group1);
    if (rc != MPI_SUCCESS)
        return rc;
    if (set == SET_UNION) {
        add_all(&list, a);
        add_filtered(&list, b, a, 0);
    } else {
        add_filtered(&list, a, b, set == SET_INTERSECTION);
    }
    return list_close(&list, newgroup);
}

int mpi_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return combine(group1, group2, SET_UNION, newgroup);
}

int mpi_Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return combine(group1, group2, SET_INTERSECTION, newgroup);
}

int mpi_Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return combine(group1, group2, SET_DIFFERENCE, newgroup);
}

/* Marks each rank of the list with its place there + 1; no rank may come twice. */
static int mark(const rt_group_t *ranks, const int *list, int count, int *marks)
{
    for (int i = 0; i < count; i++) {
        if (list[i] < 0 || list[i] >= ranks->size)
            return err_set(MPI_ERR_RANK, "rank %d is none of the group's 0 to %d", list[i], ranks->size - 1);
        if (marks[list[i]] != 0)
            return err_set(MPI_ERR_RANK, "rank %d comes twice", list[i]);
        marks[list[i]] = i + 1;
    }
    return MPI_SUCCESS;
}

/* The ranks of the list in its order, or the others in the order of the group. */
static int choose(MPI_Group group, const int *chosen, int count, int included, MPI_Group *newgroup)
{
    rt_group_t *ranks;
    list_t list;
    int rc = group_find(group, "group", &ranks);
    if (rc != MPI_SUCCESS)
        return rc;
    int *marks = calloc((size_t)ranks->size + 1, sizeof(*marks));
    rc = marks == NULL ? err_set(MPI_ERR_NO_MEM, "group: no memory left") : mark(ranks, chosen, count, marks);
    if (rc == MPI_SUCCESS)
        rc = list_open(&list, ranks->size, group);
    if (rc == MPI_SUCCESS) {
        for (int i = 0; included && i < count; i++)
            list.ranks[list.count++] = rt_group_world(ranks, chosen[i]);
        for (int i = 0; !included && i < ranks->size; i++)
            if (marks[i] == 0)
                list.ranks[list.count++] = rt_group_world(ranks, i);
        rc = list_close(&list, newgroup);
    }
    free(marks);
    return rc;
}

int mpi_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
    return choose(group, ranks, n, 1, newgroup);
}

int mpi_Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
    return choose(group, ranks, n, 0, newgroup);
}

/* The ranks of all triplets (first, last, stride), one after the other; more than the group has is an error. */
static int expand(const rt_group_t *ranks, int n, int ranges[][3], list_t *list)
{
    for (int i = 0; i < n; i++) {
        const int stride = ranges[i][2];
        if (stride == 0)
            return err_set(MPI_ERR_ARG, "ranges[%d] has the stride 0", i);
        for (long at = ranges[i][0]; stride > 0 ? at <= ranges[i][1] : at >= ranges[i][1]; at += stride) {
            if (at < 0 || at >= ranks->size || list->count == ranks->size)
                return err_set(MPI_ERR_RANK, "ranges[%d] names rank %ld, which the group has not or which came before",
                               i, at);
            list->ranks[list->count++] = (int)at;
        }
    }
    return MPI_SUCCESS;
}

static int choose_ranges(MPI_Group group, int n, int ranges[][3], int included, MPI_Group *newgroup)
{
    rt_group_t *ranks;
    list_t list;
    int rc = group_find(group, "group", &ranks);
    if (rc != MPI_SUCCESS || (rc = list_open(&list, ranks->size, group)) != MPI_SUCCESS)
        return rc;
    rc = expand(ranks, n, ranges, &list);
    if (rc == MPI_SUCCESS)
        rc = choose(group, list.ranks, list.count, included, newgroup);
    free(list.ranks);
    return rc;
}

int mpi_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    return choose_ranges(group, n, ranges, 1, newgroup);
}

int mpi_Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    return choose_ranges(group, n, ranges, 0, newgroup);
}
