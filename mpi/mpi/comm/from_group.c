/* SPDX-License-Identifier: Apache-2.0
 * from_group.c - communicators of groups alone, without a communicator that they come of. Calls that are under way at a
 * time are told apart by their string tags.
 */
#include <string.h>

#include "comm/inter.h"
#include "err/err.h"
#include "err/handler.h"
#include "group/group.h"
#include "info/info.h"
#include "mpi_impl.h"

#define TAG_STRING_MOST 1024 /* MPI_MAX_STRINGTAG_LEN, its end included */

/* What both calls take besides their groups. */
typedef struct wishes {
    const char *tag;
    MPI_Info info;
    MPI_Errhandler handler;
} wishes_t;

static int check(const wishes_t *wishes)
{
    const int rc = err_handler_check(wishes->handler, OBJ_COMM);
    if (rc == MPI_SUCCESS && (wishes->tag == NULL || strnlen(wishes->tag, TAG_STRING_MOST) == TAG_STRING_MOST))
        return err_set(MPI_ERR_ARG, "stringtag is NULL or longer than %d bytes", TAG_STRING_MOST - 1);
    return rc;
}

/* FNV-1a, folded to the 60 bits that a message's tag has besides its kind. */
static uint64_t hash_of(const char *tag)
{
    uint64_t hash = 14695981039346656037u;
    for (const char *at = tag; *at != 0; at++)
        hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    return (hash ^ hash >> 60) & ((1ull << 60) - 1);
}

/* Messages of the group, apart from those of all communicators, and of calls with another string tag (G4). */
static grp_t messages(rt_group_t *ranks, const wishes_t *wishes)
{
    return (grp_t){.ranks = ranks, .base = (uint64_t)COMM_TAG_GROUPS << 60 | hash_of(wishes->tag), .one_tag = 1};
}

static int give(const wishes_t *wishes, MPI_Comm made)
{
    return wishes->info == MPI_INFO_NULL ? MPI_SUCCESS : mpi_Comm_set_info(made, wishes->info);
}

/* What the new communicator inherits. */
static mpi_comm_t parent_of(const wishes_t *wishes, MPI_Group group)
{
    return (mpi_comm_t){.obj.handler = wishes->handler, .session = group_session(group)};
}

/* Processes of a session may begin at any time: whoever is named here is waited for. */
static int await(const rt_group_t *ranks)
{
    return rt_await(ranks) == 0 ? MPI_SUCCESS : err_set(MPI_ERR_PROC_ABORTED, "%s", rt.error);
}

/* The group behind a handle, counted once more; this process is in it. */
static int own_group(MPI_Group group, const char *name, rt_group_t **ranks_p)
{
    const int rc = group_find(group, name, ranks_p);
    if (rc != MPI_SUCCESS)
        return rc;
    if ((*ranks_p)->size > 0 && (*ranks_p)->rank < 0)
        return err_set(MPI_ERR_GROUP, "%s does not hold this process", name);
    (*ranks_p)->refs++;
    return MPI_SUCCESS;
}

int mpi_Comm_create_from_group(MPI_Group group, const char *stringtag, MPI_Info info, MPI_Errhandler errhandler,
                               MPI_Comm *newcomm)
{
    const wishes_t wishes = {.tag = stringtag, .info = info, .handler = errhandler};
    rt_group_t *ranks;
    int rc = check(&wishes);
    if (rc == MPI_SUCCESS)
        rc = own_group(group, "group", &ranks);
    if (rc != MPI_SUCCESS)
        return rc;
    *newcomm = MPI_COMM_NULL;
    if (ranks->size == 0) {
        rt_group_release(ranks);
        return MPI_SUCCESS;
    }
    grp_t grp = messages(ranks, &wishes);
    grp.call.name = "MPI_Comm_create_from_group";
    const mpi_comm_t parent = parent_of(&wishes, group);
    if ((rc = await(ranks)) != MPI_SUCCESS) {
        rt_group_release(ranks);
        return rc;
    }
    rc = comm_create_once(&parent, &grp, ranks, newcomm);
    return rc != MPI_SUCCESS ? rc : give(&wishes, *newcomm);
}

static int check_leader(int leader, const rt_group_t *ranks, const char *name)
{
    return leader >= 0 && leader < ranks->size
               ? MPI_SUCCESS
               : err_set(MPI_ERR_RANK, "%s is %d, but its group has %d ranks", name, leader, ranks->size);
}

int mpi_Intercomm_create_from_groups(MPI_Group local_group, int local_leader, MPI_Group remote_group, int remote_leader,
                                     const char *stringtag, MPI_Info info, MPI_Errhandler errhandler,
                                     MPI_Comm *newintercomm)
{
    const wishes_t wishes = {.tag = stringtag, .info = info, .handler = errhandler};
    rt_group_t *ranks;
    rt_group_t *peers;
    int rc = check(&wishes);
    if (rc == MPI_SUCCESS)
        rc = group_find(remote_group, "remote_group", &peers);
    if (rc == MPI_SUCCESS)
        rc = check_leader(remote_leader, peers, "remote_leader");
    if (rc == MPI_SUCCESS)
        rc = own_group(local_group, "local_group", &ranks);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = check_leader(local_leader, ranks, "local_leader");
    if (rc == MPI_SUCCESS && (rc = await(ranks)) == MPI_SUCCESS)
        rc = await(peers);
    if (rc != MPI_SUCCESS) {
        rt_group_release(ranks);
        return rc;
    }
    grp_t local = messages(ranks, &wishes);
    grp_t between = messages(peers, &wishes);
    const comm_bridge_t bridge = {
        .local = &local, .between = &between, .leader = local_leader, .remote_leader = remote_leader};
    const mpi_comm_t parent = parent_of(&wishes, local_group);
    rc = inter_create_over(&parent, &bridge, ranks, newintercomm);
    return rc != MPI_SUCCESS ? rc : give(&wishes, *newintercomm);
}
