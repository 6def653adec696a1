/* SPDX-License-Identifier: Apache-2.0
 * group.c - handles of groups; what is asked of them.
 */
#include "group/group.h"

#include <stdlib.h>

#include "err/err.h"
#include "mpi_impl.h"

static rt_group_t empty = {.refs = 1, .rank = -1, .stride = 1};

int group_find(MPI_Group handle, const char *name, rt_group_t **ranks_p)
{
    *ranks_p = &empty;
    if (handle == MPI_GROUP_EMPTY)
        return MPI_SUCCESS;
    if (!obj_is(handle, OBJ_GROUP))
        return err_set(MPI_ERR_GROUP, "%s is not a group (MPI_GROUP_NULL, or freed)", name);
    *ranks_p = ((mpi_group_t *)handle)->ranks;
    return MPI_SUCCESS;
}

mpi_session_t *group_session(MPI_Group handle)
{
    return obj_is(handle, OBJ_GROUP) ? ((const mpi_group_t *)handle)->session : NULL;
}

int group_make(rt_group_t *ranks, mpi_session_t *session, MPI_Group *handle_p)
{
    mpi_group_t *group = ranks == NULL || ranks->size == 0 ? NULL : calloc(1, sizeof(*group));
    if (ranks != NULL && ranks->size == 0) {
        rt_group_release(ranks);
        *handle_p = MPI_GROUP_EMPTY;
        return MPI_SUCCESS;
    }
    if (group == NULL) {
        rt_group_release(ranks);
        return err_set(MPI_ERR_NO_MEM, "group: no memory left");
    }
    group->obj.kind = OBJ_GROUP;
    group->obj.refs = 1;
    group->ranks = ranks;
    group->session = session_keep(session);
    *handle_p = (MPI_Group)group;
    return MPI_SUCCESS;
}

int mpi_Group_free(MPI_Group *group)
{
    rt_group_t *ranks;
    const int rc = group_find(*group, "group", &ranks);
    if (rc == MPI_SUCCESS && *group != MPI_GROUP_EMPTY) {
        rt_group_release(ranks);
        session_release(group_session(*group));
        obj_end(&((mpi_group_t *)*group)->obj);
        free(*group);
    }
    if (rc == MPI_SUCCESS)
        *group = MPI_GROUP_NULL;
    return rc;
}

int mpi_Group_size(MPI_Group group, int *size)
{
    rt_group_t *ranks;
    const int rc = group_find(group, "group", &ranks);
    if (rc == MPI_SUCCESS)
        *size = ranks->size;
    return rc;
}

int mpi_Group_rank(MPI_Group group, int *rank)
{
    rt_group_t *ranks;
    const int rc = group_find(group, "group", &ranks);
    if (rc == MPI_SUCCESS)
        *rank = ranks->rank < 0 ? MPI_UNDEFINED : ranks->rank;
    return rc;
}

int group_compare(const rt_group_t *a, const rt_group_t *b)
{
    int same_order = 1;
    if (a->size != b->size)
        return MPI_UNEQUAL;
    for (int i = 0; i < a->size; i++) {
        const int place = rt_group_find(b, rt_group_world(a, i));
        if (place < 0)
            return MPI_UNEQUAL;
        same_order = same_order && place == i;
    }
    return same_order ? MPI_IDENT : MPI_SIMILAR;
}

int mpi_Group_compare(MPI_Group group1, MPI_Group group2, int *result)
{
    rt_group_t *a;
    rt_group_t *b;
    int rc = group_find(group1, "group1", &a);
    if (rc == MPI_SUCCESS)
        rc = group_find(group2, "group2", &b);
    if (rc == MPI_SUCCESS)
        *result = group_compare(a, b);
    return rc;
}

int mpi_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[], MPI_Group group2, int ranks2[])
{
    rt_group_t *a;
    rt_group_t *b;
    int rc = group_find(group1, "group1", &a);
    if (rc == MPI_SUCCESS)
        rc = group_find(group2, "group2", &b);
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        if (ranks1[i] == MPI_PROC_NULL) {
            ranks2[i] = MPI_PROC_NULL;
        } else if (ranks1[i] < 0 || ranks1[i] >= a->size) {
            rc = err_set(MPI_ERR_RANK, "ranks1[%d] is %d, but group1 has %d ranks", i, ranks1[i], a->size);
        } else {
            const int place = rt_group_find(b, rt_group_world(a, ranks1[i]));
            ranks2[i] = place < 0 ? MPI_UNDEFINED : place;
        }
    }
    return rc;
}
