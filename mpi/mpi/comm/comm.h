/* SPDX-License-Identifier: Apache-2.0
 * comm.h - communicators: a group of ranks and a context id. An intercommunicator has a second group, the remote one:
 * its messages go there, and both groups use the same context id.
 *
 * Tag of a message: 4 bits kind, 24 bits context id, 4 bits zero, 32 bits MPI tag (or number and step of a collective).
 */
#ifndef VERBENA_MPI_COMM_H
#define VERBENA_MPI_COMM_H

#include "group/session.h"
#include "grp/grp.h"

#define COMM_TAG_P2P 1u
#define COMM_TAG_COLL 2u
#define COMM_TAG_CONTROL 3u
#define COMM_TAG_GROUPS 4u /* of groups without a communicator: 60 bits of the string tag's hash follow */
#define COMM_TAG_CREATE 5u /* MPI_Comm_create_group: the call's tag follows, as in messages of users */
#define COMM_TAG_JOIN 6u   /* MPI_Intercomm_create: the same of the leaders */
#define COMM_ANY_TAG_MASK 0xffffffff00000000u

/* birth: drawn by one rank, so that two communicators of the same id are told apart (grp/watch.h). */
typedef struct comm_id {
    uint32_t context;
    uint32_t birth;
} comm_id_t;

typedef struct mpi_comm {
    obj_t obj;
    uint32_t context;
    rt_group_t *ranks; /* the local group */
    rt_group_t
        *peers;    /* whom ranks of messages name: the remote group; of an intracommunicator `ranks`, counted once */
    grp_t grp;     /* its collectives; of an intercommunicator those of the local group */
    grp_t between; /* of an intercommunicator: what both groups exchange in collectives, by ranks of the remote one */
    char name[MPI_MAX_OBJECT_NAME];
    struct topo *topo;          /* topo.h; NULL: none */
    struct attr *attrs;         /* attr.h */
    MPI_Info info;              /* hints that the program set; MPI_INFO_NULL: none */
    struct comm_buffer *buffer; /* attached for buffered sends (p2p/buffer.c); NULL: none */
    MPI_Win win;                /* whose own it is (win/); its requests meet errors by the window's handler */
    mpi_session_t *session;     /* that it was derived of; NULL: of the world model */
} mpi_comm_t;

/* Set by p2p, which comm does not know: the communicator ends, its buffer lives as long as messages use it. */
extern void (*comm_buffer_end)(struct comm_buffer *buffer);

extern mpi_comm_t comm_world;
extern mpi_comm_t comm_self;

/* NULL: not a communicator. */
static inline mpi_comm_t *comm_of(MPI_Comm comm)
{
    if (comm == MPI_COMM_WORLD)
        return &comm_world;
    if (comm == MPI_COMM_SELF)
        return &comm_self;
    return obj_is(comm, OBJ_COMM) ? (mpi_comm_t *)comm : NULL;
}

static inline int comm_is_inter(const mpi_comm_t *comm)
{
    return comm->peers != comm->ranks;
}

static inline uint64_t comm_tag(const mpi_comm_t *comm, unsigned kind, uint32_t tag)
{
    return (uint64_t)kind << 60 | (uint64_t)comm->context << 36 | tag;
}

static inline MPI_Comm comm_handle(const mpi_comm_t *comm)
{
    return comm == &comm_world ? MPI_COMM_WORLD : comm == &comm_self ? MPI_COMM_SELF : (MPI_Comm)(uintptr_t)comm;
}

/* Makes MPI_COMM_WORLD and MPI_COMM_SELF; ends them. They are there, for what has no communicator, with sessions alone, too; only
 * programs may not use them then. */
int comm_open(void);
void comm_close(void);
/* Keeps the communicator for a request; the last one who lets go ends it. */
void comm_release(mpi_comm_t *comm);
/* Two groups that agree on something; a leader of each speaks with the other. Of one group between is NULL. */
typedef struct comm_bridge {
    grp_t *local;
    grp_t *between;    /* the leaders' messages */
    int leader;        /* in local */
    int remote_leader; /* in between; counts at the leader */
} comm_bridge_t;

/* An intracommunicator of these ranks, which the call takes over also when it fails; its error handler and session are those
 * of parent. Collective over grp. */
int comm_create(const mpi_comm_t *parent, grp_t *grp, rt_group_t *ranks, MPI_Comm *comm_p);
/* The same over a set that lives for this call; grp->call.name is the call's name. */
int comm_create_once(const mpi_comm_t *parent, grp_t *grp, rt_group_t *ranks, MPI_Comm *comm_p);
/* The same, collective over both sides of the bridge; peers, taken over too: the remote group, or ranks again. */
int comm_create_over(const mpi_comm_t *parent, const comm_bridge_t *bridge, rt_group_t *ranks, rt_group_t *peers,
                     MPI_Comm *comm_p);
/* The same without a context id; comm_give_context makes it usable. Takes the groups
 * over; no messages. */
int comm_prepare(mpi_comm_t *parent, rt_group_t *ranks, rt_group_t *peers, mpi_comm_t **comm_p);
void comm_give_context(mpi_comm_t *comm, comm_id_t id);

/* How an id is found in steps, for calls that do not block: ask, OR of the words over all ranks, choose, OR of failed over
 * all ranks, is_ours; if not, again from ask on. */
#define COMM_CONTEXT_WORDS 64u /* of one reduction: the bitmap of 4,096 ids is one message */
typedef struct comm_context {
    uint64_t words[COMM_CONTEXT_WORDS + 1];
    uint64_t failed; /* 0: every rank has reserved it */
    int64_t context; /* -1: none is free in this part of the bitmap */
    uint32_t base;   /* of this part */
    uint32_t attempt;
    uint32_t birth;
    int mine; /* reserved here */
} comm_context_t;
void comm_context_ask(comm_context_t *ask, const grp_t *parent);
void comm_context_choose(comm_context_t *ask);
int comm_context_is_ours(comm_context_t *ask);
/* MPI_SUCCESS, or the error that there are no more. */
int comm_context_are_used_up(const comm_context_t *ask);
void comm_context_or(const grp_reduce_t *reduce, const void *in, void *inout, size_t count);
/* +1 and -1 around calls that do not block: others confirm their ids meanwhile. */
void comm_context_begin(int change);
/* An id that is free at every rank of both sides. */
int comm_context_take(const comm_bridge_t *bridge, comm_id_t *id_p);
void comm_context_give(uint32_t context);
/* A number that is equal at the ranks of both sides that share a host with this one: they ask each other. Collective over comm. */
int comm_host(mpi_comm_t *comm, int *host_p);
/* Every rank of each side gets what the leader of the other side has. */
int comm_exchange(const comm_bridge_t *bridge, const void *mine, size_t length, void *theirs, size_t their_length);

#endif
