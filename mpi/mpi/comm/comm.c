/* SPDX-License-Identifier: Apache-2.0
 * comm.c - making and ending communicators; what is asked of them without a message.
 */
#include "comm/topo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err/err.h"
#include "err/handler.h"
#include "group/group.h"
#include "grp/watch.h"
#include "info/info.h"
#include "mpi_impl.h"

mpi_comm_t comm_world;
mpi_comm_t comm_self;
void (*comm_buffer_end)(struct comm_buffer *buffer);

#define NO_CONTEXT UINT32_MAX /* not yet */

static void watch(mpi_comm_t *comm, uint32_t birth)
{
    watch_set(&comm->grp, birth);
    if (comm_is_inter(comm))
        watch_set(&comm->between, birth);
}

void comm_give_context(mpi_comm_t *comm, comm_id_t id)
{
    comm->context = id.context;
    comm->grp = (grp_t){.ranks = comm->ranks, .base = comm_tag(comm, COMM_TAG_COLL, 0), .slots = 1};
    comm->between = (grp_t){.ranks = comm->peers, .base = comm_tag(comm, COMM_TAG_CONTROL, 0)};
    if (id.context != NO_CONTEXT)
        watch(comm, id.birth);
}

static void set_up(mpi_comm_t *comm, rt_group_t *ranks, rt_group_t *peers, comm_id_t id, const char *name)
{
    comm->obj.kind = OBJ_COMM;
    comm->obj.refs = 1;
    comm->obj.handler = MPI_ERRORS_ARE_FATAL;
    comm->ranks = ranks;
    comm->peers = peers;
    comm->attrs = NULL;
    comm->info = MPI_INFO_NULL;
    comm->buffer = NULL;
    comm->session = NULL;
    comm->topo = NULL;
    comm->win = MPI_WIN_NULL;
    comm_give_context(comm, id);
    snprintf(comm->name, sizeof(comm->name), "%s", name);
}

static obj_t *object_of(MPI_Comm comm)
{
    mpi_comm_t *found = comm_of(comm);
    return found == NULL ? NULL : &found->obj;
}

static MPI_Win win_of_object(MPI_Comm comm)
{
    const mpi_comm_t *found = comm_of(comm);
    return found == NULL ? MPI_WIN_NULL : found->win;
}

static void release_object(obj_t *object)
{
    comm_release((mpi_comm_t *)object);
}

int comm_open(void)
{
    rt_group_t *world = rt_group_range(0, 1, rt.size);
    rt_group_t *self = rt_group_range(rt.rank, 1, 1);
    watch_open();
    if (world == NULL || self == NULL)
        return err_set(MPI_ERR_NO_MEM, "MPI_COMM_WORLD: no memory left");
    set_up(&comm_world, world, world, (comm_id_t){.context = 0, .birth = 1}, "MPI_COMM_WORLD");
    set_up(&comm_self, self, self, (comm_id_t){.context = 1, .birth = 1}, "MPI_COMM_SELF");
    err_comm_object = object_of;
    err_comm_release = release_object;
    err_comm_win = win_of_object;
    return MPI_SUCCESS;
}

static void end(mpi_comm_t *comm)
{
    watch_forget(&comm->grp);
    watch_forget(&comm->between);
    grp_end(&comm->grp);
    err_handler_release(comm->obj.handler);
    if (comm_is_inter(comm))
        rt_group_release(comm->peers);
    rt_group_release(comm->ranks);
    if (comm->info != MPI_INFO_NULL)
        info_destroy((mpi_info_t *)comm->info);
    if (comm->buffer != NULL)
        comm_buffer_end(comm->buffer);
    topo_release(comm->topo);
    session_release(comm->session);
    obj_end(&comm->obj);
}

void comm_close(void)
{
    watch_close();
    end(&comm_world);
    end(&comm_self);
}

void comm_release(mpi_comm_t *comm)
{
    if (--comm->obj.refs > 0)
        return;
    if (comm->context != NO_CONTEXT)
        comm_context_give(comm->context);
    end(comm);
    free(comm);
}

int comm_create(const mpi_comm_t *parent, grp_t *grp, rt_group_t *ranks, MPI_Comm *comm_p)
{
    const comm_bridge_t bridge = {.local = grp};
    return comm_create_over(parent, &bridge, ranks, ranks, comm_p);
}

int comm_create_once(const mpi_comm_t *parent, grp_t *grp, rt_group_t *ranks, MPI_Comm *comm_p)
{
    watch_call(grp);
    const int rc = comm_create(parent, grp, ranks, comm_p);
    watch_call_end(grp, rc != MPI_SUCCESS && rc != MPI_ERR_NO_MEM);
    return rc;
}

static void inherit(mpi_comm_t *comm, const mpi_comm_t *parent)
{
    comm->obj.handler = parent->obj.handler;
    err_handler_keep(comm->obj.handler);
    comm->session = session_keep(parent->session);
}

static void let_go(rt_group_t *ranks, rt_group_t *peers)
{
    if (peers != ranks)
        rt_group_release(peers);
    rt_group_release(ranks);
}

int comm_create_over(const mpi_comm_t *parent, const comm_bridge_t *bridge, rt_group_t *ranks, rt_group_t *peers,
                     MPI_Comm *comm_p)
{
    comm_id_t id;
    mpi_comm_t *comm = calloc(1, sizeof(*comm));
    int rc = comm_context_take(bridge, &id);
    *comm_p = MPI_COMM_NULL;
    if (rc == MPI_SUCCESS && (comm == NULL || ranks == NULL || peers == NULL))
        rc = err_set(MPI_ERR_NO_MEM, "communicator: no memory left");
    if (rc != MPI_SUCCESS || ranks->rank < 0 || peers->size == 0) {
        if (rc == MPI_SUCCESS)
            comm_context_give(id.context);
        let_go(ranks, peers);
        free(comm);
        return rc;
    }
    set_up(comm, ranks, peers, id, "");
    inherit(comm, parent);
    *comm_p = (MPI_Comm)comm;
    return MPI_SUCCESS;
}

int comm_prepare(mpi_comm_t *parent, rt_group_t *ranks, rt_group_t *peers, mpi_comm_t **comm_p)
{
    mpi_comm_t *comm = calloc(1, sizeof(*comm));
    if (comm == NULL) {
        let_go(ranks, peers);
        return err_set(MPI_ERR_NO_MEM, "communicator: no memory left");
    }
    set_up(comm, ranks, peers, (comm_id_t){.context = NO_CONTEXT}, "");
    inherit(comm, parent);
    *comm_p = comm;
    return MPI_SUCCESS;
}

int mpi_Comm_rank(MPI_Comm comm, int *rank)
{
    *rank = comm_of(comm)->ranks->rank;
    return MPI_SUCCESS;
}

int mpi_Comm_size(MPI_Comm comm, int *size)
{
    *size = comm_of(comm)->ranks->size;
    return MPI_SUCCESS;
}

int mpi_Comm_test_inter(MPI_Comm comm, int *flag)
{
    *flag = comm_is_inter(comm_of(comm));
    return MPI_SUCCESS;
}

int mpi_Comm_remote_size(MPI_Comm comm, int *size)
{
    if (!comm_is_inter(comm_of(comm)))
        return err_set(MPI_ERR_COMM, "comm is an intracommunicator: it has no remote group");
    *size = comm_of(comm)->peers->size;
    return MPI_SUCCESS;
}

int mpi_Comm_get_parent(MPI_Comm *parent)
{
    *parent = MPI_COMM_NULL; /* nobody is spawned yet */
    return MPI_SUCCESS;
}

int mpi_Comm_get_name(MPI_Comm comm, char *comm_name, int *resultlen)
{
    const char *name = comm == MPI_COMM_NULL ? "MPI_COMM_NULL" : comm_of(comm)->name;
    *resultlen = snprintf(comm_name, MPI_MAX_OBJECT_NAME, "%s", name);
    return MPI_SUCCESS;
}

int mpi_Comm_set_name(MPI_Comm comm, const char *comm_name)
{
    if (comm_name == NULL)
        return err_set(MPI_ERR_ARG, "comm_name is NULL");
    (void)snprintf(comm_of(comm)->name, MPI_MAX_OBJECT_NAME, "%s", comm_name); /* the rest is cut off (7.8) */
    return MPI_SUCCESS;
}

int mpi_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler)
{
    return err_handler_set(&comm_of(comm)->obj, OBJ_COMM, errhandler);
}

int mpi_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *errhandler)
{
    return err_handler_get(&comm_of(comm)->obj, errhandler);
}

int mpi_Comm_call_errhandler(MPI_Comm comm, int errorcode)
{
    (void)err_raise(comm, "MPI_Comm_call_errhandler", errorcode);
    return MPI_SUCCESS;
}

int mpi_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int *result)
{
    const mpi_comm_t *a = comm_of(comm1);
    const mpi_comm_t *b = comm_of(comm2);
    const int locals = group_compare(a->ranks, b->ranks);
    const int remotes = group_compare(a->peers, b->peers);
    const int groups = locals == MPI_UNEQUAL || (locals == MPI_SIMILAR && remotes != MPI_UNEQUAL) ? locals : remotes;
    *result = a == b                                 ? MPI_IDENT
              : comm_is_inter(a) != comm_is_inter(b) ? MPI_UNEQUAL
              : groups == MPI_IDENT                  ? MPI_CONGRUENT
                                                     : groups;
    return MPI_SUCCESS;
}

int mpi_Comm_set_info(MPI_Comm comm, MPI_Info info)
{
    mpi_comm_t *found = comm_of(comm);
    MPI_Info copy;
    const int rc = info_copy(info, &copy);
    if (rc != MPI_SUCCESS)
        return rc;
    if (found->info != MPI_INFO_NULL)
        info_destroy((mpi_info_t *)found->info);
    found->info = copy;
    return MPI_SUCCESS;
}

int mpi_Comm_get_info(MPI_Comm comm, MPI_Info *info_used)
{
    return info_copy(comm_of(comm)->info, info_used);
}
